"""The part of a host in C that knows the problem: matrices, their first values, and what the result has to be.

C and C++ compile it without a warning. Values are small multiples of 1/8, so that sums of products are exact in f32 for any k
that fits: what is left is the rounding of the result, and a wrong element shows. Padding holds bytes of ones, which are NaN in
every type of floats. Large results are checked in part, evenly spread.

    elements checked = min(all, 2^27 / operations of one element), no less than 64

>>> text = reference_of(la.plan_gemm(40, 80, 48, bias="row"))
>>> print(next(line for line in text.splitlines() if "BIAS" in line))
  x += load(&matrices[3], data[3], 0, 0, r); /* BIAS: one for every row */
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from layoutalg.gemm.expressions import inputs_of, planned, spelled
from layoutalg.gemm.hosts.attention import attention_in_c, starts_in_c
from layoutalg.gemm.hosts.decode import decode_in_c, decode_of
from layoutalg.gemm.hosts.weights import FINITE, weight_in_c
from layoutalg.gemm.launch import InMemory, LaunchArgument
from layoutalg.gemm.problem import Problem

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.weights.problem import WeightsProblem

__all__ = [
    "EPSILONS",
    "READ_FILE",
    "Scratch",
    "kernels_of",
    "matrices_of",
    "numbers_in_c",
    "numbers_of",
    "reference_of",
    "scratch_of",
    "weights_of",
]

EPSILONS = {"f16": "0x1p-10", "bf16": "0x1p-7", "f32": "0x1p-22", "s32": "0x0p0"}
_ACTIVATIONS = {
    "relu": "x < 0 ? 0 : x",
    "silu": "0.5 * x * (1 + tanh(0.5 * x))",
    "gelu": "0.5 * x * (1 + tanh(x * (0.7978845608028654 + 0.035677408136300125 * x * x)))",
}


def matrices_of(plan: Gemm | Attention) -> tuple[tuple[LaunchArgument, InMemory], ...]:
    """The arguments that are pointers to inputs and to the result, with what is there; they come first.

    >>> [one.name for one, _ in matrices_of(la.plan_gemm(64, 64, 4096, split_k=4))]
    ['a', 'b', 'c']
    """
    held = tuple((one, one.memory) for one in plan.launch.arguments if one.memory is not None)
    return tuple((one, memory) for one, memory in held if memory.use not in _OF_KERNELS)


class Scratch(NamedTuple):
    """Memory that kernels alone use: its name, its place among the arguments, its bytes, and whether it begins as zeros."""

    name: str
    place: int
    bytes: int
    zeros: bool


_OF_KERNELS = ("scratch", "zeros")


def scratch_of(plan: Gemm | Attention) -> tuple[Scratch, ...]:
    """Memory that hosts allocate and never read; they fill it with zeros, or not at all.

    >>> plan = la.plan_gemm(64, 64, 4096, tile=(32, 32), subgroups=(1, 1), split_k=4, reduction="last")
    >>> for scratch in scratch_of(plan):
    ...     print(*scratch)
    workspace 3 65536 False
    counters 4 16 True
    """
    held = ((place, one, one.memory) for place, one in enumerate(plan.launch.arguments) if one.memory is not None)
    return tuple(
        Scratch(one.name, place, memory.bytes, memory.use == "zeros")
        for place, one, memory in held
        if memory.use in _OF_KERNELS
    )


def kernels_of(plan: Gemm | Attention, sizes: str) -> str:
    """What a host in C launches, in order: the kernels' names and two tables of sizes, one of them `sizes` of each.

    >>> print(kernels_of(la.plan_gemm(64, 64, 4096, split_k=4, reduction="kernel"), "grid").splitlines()[1])
    static const char *const kernel_names[KERNELS] = {"gemm", "gemm_reduce"};
    """
    kernels = plan.launch.in_order
    tables = {"names": [f'"{one.kernel}"' for one in kernels]}
    for name in (sizes, "workgroup"):
        tables[name] = [f"{{{', '.join(map(str, getattr(one, name)))}}}" for one in kernels]
    text = {name: ", ".join(rows) for name, rows in tables.items()}
    return (
        f"enum {{ KERNELS = {len(kernels)} }}; /* launched in this order, with the same arguments */\n"
        f"static const char *const kernel_names[KERNELS] = {{{text['names']}}};\n"
        f"static const size_t {sizes}[KERNELS][3] = {{{text[sizes]}}}, workgroup[KERNELS][3] = {{{text['workgroup']}}};\n"
    )


def numbers_of(plan: Gemm | Attention) -> tuple[tuple[int, str, str, int], ...]:
    """The arguments that are numbers: place among the arguments, name, kind and value.

    >>> numbers_of(la.plan_gemm(40, 80, 48))[0]
    (3, 'm', 'i32', 40)
    """
    held = enumerate(plan.launch.arguments)
    return tuple((place, one.name, one.kind, one.value) for place, one in held if one.value is not None)


def numbers_in_c(plan: Gemm | Attention, types: dict[str, str]) -> str:
    """The lines of a host in C that set the numbers by its function `set`; `types` has the C type of i32 and of i64.

    >>> numbers_in_c(la.plan_gemm(40, 80, 48), {"i32": "cl_int"}).splitlines()[0]
    '  { const cl_int m = 40; set(kernels, 3, sizeof m, &m); }'
    """
    return "\n".join(
        f"  {{ const {types[kind]} {name} = {value}; set(kernels, {place}, sizeof {name}, &{name}); }}"
        for place, name, kind, value in numbers_of(plan)
    )


def reference_of(plan: Gemm | Attention) -> str:
    """Declarations and functions: `matrices`, `fill`, `check`."""
    held, problem = matrices_of(plan), plan.problem
    rows = [
        f'  {{"{one.name}", {memory.element.upper()}, {memory.rows}, {memory.columns}, {memory.pitch}, {memory.stride}, '
        f"{memory.count}, {memory.bytes}}}"
        for one, memory in held
    ]
    result = next(place for place, (_, memory) in enumerate(held) if memory.use != "in")
    values, filled = _VALUES, ""
    if (decode := decode_of(problem)) is not None:
        expected, operations, filled = decode_in_c(decode, (EPSILONS[decode.type], EPSILONS[decode.out]))
    elif (weights := weights_of(problem)) is not None:
        expected, operations = _of_gemm(weights.product, weights)
        if weights.floats:
            values = values.replace("(whole + 9);", f"(whole + 9) & {FINITE:#x}u;")
    elif isinstance(problem, Problem):
        expected, operations = _of_gemm(problem)
    else:
        expected, operations = attention_in_c(problem, (EPSILONS[problem.type], EPSILONS[problem.out]))
        filled = starts_in_c(problem) if problem.named_starts else ""
    if filled:
        values = values.replace("\nstatic void fill(", filled + "\nstatic void fill(").replace(
            _FILLED, _FILLED + "  filled(which, data);\n"
        )
    limit = f"{max(64, 2**27 // operations)}"
    return (
        _TYPES
        + f"enum {{ MATRICES = {len(held)}, RESULT = {result}, LAUNCHES = 10 }};\n"
        + "static const Matrix matrices[MATRICES] = {\n"
        + ",\n".join(rows)
        + "};\n"
        + values.replace("@STARTS@\n", _starts(problem))
        + expected
        + _CHECK.replace("LIMIT", limit)
    )


def weights_of(problem: object) -> WeightsProblem | None:
    """The problem, if it has words of quantised weights: by what it has, because plans know hosts and hosts no plan's class.

    >>> weights_of(la.plan_weights(8, 64, 128).problem) is None, weights_of(la.plan_gemm(64, 64, 64).problem) is None
    (False, True)
    """
    return cast("WeightsProblem", problem) if hasattr(problem, "words") else None


def _of_gemm(problem: Problem, weights: WeightsProblem | None = None) -> tuple[str, int]:
    a = "k, r" if problem.trans_a else "r, k"
    z = "g" if problem.groups else "z"
    right, second = (
        f"load(&matrices[1], data[1], {z}, {f'{at}, k' if problem.trans_b else f'k, {at}'})"
        for at in ("c", f"c + {problem.n}")
    )
    right = right if weights is None else "weight(data, z, k, c)"
    column = f"g * {problem.n} + c" if problem.groups else "c"
    of_second = (
        f"    const double other = load(&matrices[0], data[0], z, {a}) * {second};",
        "    sum2 += other;",
        "    size2 += fabs(other);",
    )
    lines = [
        *([] if weights is None else [weight_in_c(weights)]),
        *([] if problem.epilogue is None else [_behind(problem.epilogue)]),
        "static double expected(const unsigned char *const *data, size_t z, size_t r, size_t c, double *tolerance) {",
        *_group(problem),
        f"  double sum = 0, size = 0{', sum2 = 0, size2 = 0' if problem.gated else ''};",
        f"  for (size_t k = 0; k < {problem.k}; k++) {{",
        f"    const double product = load(&matrices[0], data[0], z, {a}) * {right};",
        "    sum += product;",
        "    size += fabs(product);",
        *(of_second if problem.gated else ()),
        "  }",
    ]
    if problem.epilogue is not None:
        lines += [*_of_epilogue(problem), "}", ""]
        return "\n".join(lines), problem.k
    lines += [f"  double x = {problem.alpha!r} * sum;", f"  size *= {abs(problem.alpha)!r};"]
    for place, side in enumerate(problem.scaled, 4 if problem.bias else 3):
        index = "r" if side == "row" else column
        lines += [
            f"  x *= load(&matrices[{place}], data[{place}], 0, 0, {index}); /* one for every {side} */",
            f"  size *= fabs(load(&matrices[{place}], data[{place}], 0, 0, {index}));",
        ]
    if problem.bias:
        place = "r" if problem.bias == "row" else column
        lines += [
            f"  x += load(&matrices[3], data[3], 0, 0, {place}); /* BIAS: one for every {problem.bias} */",
            f"  size += fabs(load(&matrices[3], data[3], 0, 0, {place}));",
        ]
    if problem.beta:
        lines += [
            f"  x += {problem.beta!r} * load(&matrices[2], data[2], z, r, c);",
            f"  size += fabs({problem.beta!r} * load(&matrices[2], data[2], z, r, c));",
        ]
    if problem.activation:
        lines.append(f"  x = {_ACTIVATIONS[problem.activation]};")
    narrow = problem.acc in ("f16", "bf16")
    sums = f" + {EPSILONS[problem.acc]} * {max(1.0, (problem.k / 2) ** 0.5):.1f}" if narrow else ""
    lines += [
        f"  *tolerance = ({EPSILONS[problem.c]}{sums}) * size;"
        + (" /* sums are rounded to the accumulators' type */" if narrow else ""),
        "  return x;",
        "}",
        "",
    ]
    return "\n".join(lines), problem.k


_FORMS = {"exp": "exp({})", "tanh": "tanh({})", "min": "({0} > {1} ? {1} : {0})", "max": "({0} < {1} ? {1} : {0})"}


def _behind(epilogue: str) -> str:
    """A function that computes an epilogue, as its expression says."""
    steps = planned(epilogue)
    names = sorted(inputs_of(steps))
    parameters = ", ".join(f"double {name}" for name in names)
    body = spelled(steps, dict(zip(names, names, strict=True)), _FORMS)
    return f"/* {epilogue} */\nstatic double behind({parameters}) {{\n  return {body};\n}}\n"


def _of_epilogue(problem: Problem) -> list[str]:
    """What is expected of an expression, and how far it may be: as far as the rounding of the sums moves it, and its own."""
    names = sorted(inputs_of(planned(problem.epilogue or "acc")))
    places = {"residual": "&matrices[2], data[2], z, r, c"}
    indices = {"row": "r", "column": f"g * {problem.n} + c" if problem.groups else "c"}
    if problem.bias:
        places[f"{problem.bias}_bias"] = f"&matrices[3], data[3], 0, 0, {indices[problem.bias]}"
    for place, side in enumerate(problem.scaled, 4 if problem.bias else 3):
        places[f"{side}_scale"] = f"&matrices[{place}], data[{place}], 0, 0, {indices[side]}"
    others = [name for name in names if name not in ("acc", "acc2")]
    sizes = " + ".join(["1", *(f"fabs({name})" for name in others)])
    sums_of = {"acc": ("sum", "far"), "acc2": ("sum2", "far2")} if problem.gated else {"acc": ("sum", "far")}
    plain = {name: sums_of[name][0] if name in sums_of else name for name in names}

    def behind(**moved: str) -> str:
        return f"behind({', '.join({**plain, **moved}[name] for name in names)})"

    moved = [
        f"fabs({behind(**{name: f'{value} {sign} {far}'})} - x)"
        for name, (value, far) in sums_of.items()
        for sign in "+-"
        if name in names
    ]
    narrow = problem.acc in ("f16", "bf16")
    sums = f" + {EPSILONS[problem.acc]} * {max(1.0, (problem.k / 2) ** 0.5):.1f}" if narrow else ""
    return [
        *(f"  const double {name} = load({places[name]});" for name in others),
        f"  const double far = (0x1p-22{sums}) * size;",
        *([f"  const double far2 = (0x1p-22{sums}) * size2;"] if problem.gated else ()),
        f"  const double x = {behind()};",
        f"  *tolerance = 2 * ({' + '.join(moved)});",
        f"  *tolerance += ({EPSILONS[problem.c]} + 0x1p-18) * fabs(x) + 0x1p-18 * ({sizes});",
        "  return x;",
    ]


def _group(problem: Problem) -> list[str]:
    """Lines that find the group g of row r; a row that no group has stays as it was."""
    if not problem.groups:
        return []
    place = 3 + (problem.bias is not None) + len(problem.scaled)
    start = f"load(&matrices[{place}], data[{place}], 0, 0, g"
    return [
        "  size_t g = 0;",
        f"  while (g < {problem.groups} && !({start}) <= (double)r && (double)r < {start} + 1))) g++;",
        f"  if (g == {problem.groups}) {{ *tolerance = 0; return load(&matrices[2], data[2], 0, r, c); }}",
    ]


def _starts(problem: object) -> str:
    """What fills the starts of groups: sizes grow with the group, and the first ones of many are empty."""
    if not isinstance(problem, Problem) or not problem.groups:  # decode has groups of heads
        return ""
    groups = problem.groups
    return f"""  if (strcmp(matrix->name, "starts") == 0) {{
    for (uint64_t g = 0; g <= {groups}; g++) {{
      const uint32_t start = (uint32_t)(g * g * {problem.m} / {groups * groups});
      memcpy(data + 4 * g, &start, 4);
    }}
    return;
  }}
"""


_TYPES = """#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef enum { F16, BF16, TF32, F32, I8, S8, U8, I32, S32, U32 } Element;
typedef struct {
  const char *name;
  Element element;
  size_t rows, columns, pitch, stride, count, bytes; /* pitch and stride in elements */
} Matrix;

"""
_VALUES = """
static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? (double)NAN : sign * (double)INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double load(const Matrix *matrix, const unsigned char *data, size_t z, size_t r, size_t c) {
  const size_t place = z * matrix->stride + r * matrix->pitch + c;
  uint16_t two;
  uint32_t four;
  switch (matrix->element) {
    case F16: memcpy(&two, data + 2 * place, 2); return half(two);
    case BF16: memcpy(&two, data + 2 * place, 2); return of_bits((uint32_t)two << 16);
    case TF32:
    case F32: memcpy(&four, data + 4 * place, 4); return of_bits(four);
    case I32:
    case S32: memcpy(&four, data + 4 * place, 4); return (int32_t)four;
    case U32: memcpy(&four, data + 4 * place, 4); return four;
    case I8:
    case S8: return (int8_t)data[place];
    case U8: return data[place];
  }
  return NAN;
}

/* A small multiple of 1/8, which every type of floats holds exactly. */
static void store(const Matrix *matrix, unsigned char *data, size_t z, size_t r, size_t c, int eighths) {
  const size_t place = z * matrix->stride + r * matrix->pitch + c;
  const float value = (float)eighths / 8;
  const uint32_t bits = bits_of(value);
  const uint16_t upper = (uint16_t)(bits >> 16);
  const uint16_t narrow = (uint16_t)(value == 0 ? 0 : (bits >> 16 & 0x8000) | (((bits >> 13) - (112u << 10)) & 0x7fff));
  const uint32_t whole = (uint32_t)eighths, mixed = 2654435761u * (whole + 9); /* words of weights: all their bits count */
  switch (matrix->element) {
    case F16: memcpy(data + 2 * place, &narrow, 2); break;
    case BF16: memcpy(data + 2 * place, &upper, 2); break;
    case TF32:
    case F32: memcpy(data + 4 * place, &bits, 4); break;
    case I32:
    case S32: memcpy(data + 4 * place, &whole, 4); break;
    case U32: memcpy(data + 4 * place, &mixed, 4); break;
    case I8:
    case S8: data[place] = (unsigned char)eighths; break;
    case U8: data[place] = (unsigned char)(eighths + 8); break;
  }
}

static void fill(int which, unsigned char *data) {
  const Matrix *matrix = &matrices[which];
  uint32_t seed = 2463534242u + (uint32_t)which;
@STARTS@
  memset(data, 0xff, matrix->bytes);
  for (size_t z = 0; z < matrix->count; z++)
    for (size_t r = 0; r < matrix->rows; r++)
      for (size_t c = 0; c < matrix->columns; c++) {
        seed = seed * 1664525u + 1013904223u;
        store(matrix, data, z, r, c, (int)((seed >> 16) % 17) - 8);
      }
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

"""
_FILLED = """(seed >> 16) % 17) - 8);
      }
"""
"""Where `fill` ends."""
READ_FILE = r"""
/* The bytes of a file, with a 0 after them. */
static unsigned char *file(const char *name, size_t *bytes) {
  FILE *opened = fopen(name, "rb");
  long size = -1;
  unsigned char *data;
  if (opened == NULL || fseek(opened, 0, SEEK_END) != 0 || (size = ftell(opened)) < 4 || fseek(opened, 0, SEEK_SET) != 0) {
    fprintf(stderr, "%s: cannot be read, or is no kernel\n", name);
    exit(2);
  }
  data = (unsigned char *)calloc((size_t)size + 1, 1);
  if (data == NULL || fread(data, 1, (size_t)size, opened) != (size_t)size) {
    fprintf(stderr, "%s: cannot be read\n", name);
    exit(2);
  }
  fclose(opened);
  *bytes = (size_t)size;
  return data;
}
"""
"""A function of hosts in C that reads the kernel, or source."""
_CHECK = """
/* Prints the largest error; 0 where all elements that were looked at are within rounding. `data` is what was there before. */
static int check(const unsigned char *const *data, const unsigned char *result) {
  const Matrix *matrix = &matrices[RESULT];
  const size_t all = matrix->count * matrix->rows * matrix->columns, limit = LIMIT;
  const size_t step = all > limit ? all / limit | 1 : 1;
  size_t checked = 0, wrong = 0;
  double largest = 0, value = 0;
  for (size_t place = 0; place < all; place += step, checked++) {
    const size_t c = place % matrix->columns, r = place / matrix->columns % matrix->rows;
    const size_t z = place / matrix->columns / matrix->rows;
    double tolerance = 0;
    const double wanted = expected(data, z, r, c, &tolerance), found = load(matrix, result, z, r, c);
    const double error = fabs(found - wanted);
    if (fabs(wanted) > value) value = fabs(wanted);
    if (!(error <= tolerance)) {
      if (wrong++ == 0) printf("matrix %zu, row %zu, column %zu: %g, expected %g\\n", z, r, c, found, wanted);
    }
    if (error > largest || error != error) largest = error;
  }
  printf("largest error %.3g (largest element %.3g), %zu of %zu elements checked: ", largest, value, checked, all);
  if (wrong) printf("%zu WRONG\\n", wrong);
  else printf("all right\\n");
  return wrong != 0;
}
"""
