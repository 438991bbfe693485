"""A host in Python, with pyopencl and numpy alone: SPIR-V or a zebin, on the first GPU there is, else on any device.

The reference is numpy's, in f64, for whole rows. A second file on the command line is OpenCL C that is linked to the kernel,
which then runs on a CPU, as in the host in C.

>>> "import pyopencl" in pyopencl(la.plan_gemm(64, 64, 64))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.expressions import inputs_of, planned, spelled
from layoutalg.gemm.hosts.attention import attention_in_python, starts_in_python
from layoutalg.gemm.hosts.decode import decode_in_python, decode_of
from layoutalg.gemm.hosts.reference import EPSILONS, matrices_of, numbers_of, scratch_of, weights_of
from layoutalg.gemm.hosts.weights import FINITE, weights_in_python
from layoutalg.gemm.problem import Problem

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention, AttentionProblem
    from layoutalg.gemm.plan import Gemm

__all__ = ["pyopencl"]


def pyopencl(plan: Gemm | Attention) -> str:
    """The text of the program."""
    launch = plan.launch
    name = launch.kernel
    held, problem = matrices_of(plan), plan.problem
    fields = ("element", "rows", "columns", "pitch", "stride", "count", "bytes")
    matrices = "".join(
        f"    {one.name!r}: ({', '.join(repr(getattr(memory, field)) for field in fields)}),\n" for one, memory in held
    )
    numbers = ", ".join(f"np.{'int32' if kind == 'i32' else 'int64'}({value})" for *_, kind, value in numbers_of(plan))
    scratch = "".join((_ZEROED if one.zeros else _SCRATCH).format(one.bytes) for one in scratch_of(plan))
    kernels = "".join(f"    ({one.kernel!r}, {one.global_size}, {one.workgroup}),\n" for one in launch.in_order)
    result = next(one.name for one, memory in held if memory.use != "in")
    return (
        f'"""{plan.problem}\n\nWritten by layoutalg. Usage: python host.py [{name}.spv or {name}.zebin [builtins.cl]]\n"""\n'
        + _begin(problem).replace("@MATRICES@", matrices).replace("@KERNELS@", kernels)
        + _expected(problem)
        + _PROGRAM.replace("@STARTS@\n", _starts(problem))
        .replace("@FLAGS@", repr(dict(launch.flags)["opencl"].split()))
        .replace("@KERNEL@", launch.kernel)
        .replace("@NUMBERS@", numbers)
        .replace("@RESULT@", repr(result))
        .replace("@SCRATCH@", scratch)
    )


_SCRATCH = "cl.Buffer(context, cl.mem_flags.READ_WRITE, {}), "
_ZEROED = "cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros({}, np.uint8)), "


def _starts(problem: object) -> str:
    """The line that fills the starts of groups: sizes grow with the group, and the first ones of many are empty."""
    if not isinstance(problem, Problem) or not problem.groups:
        return ""
    count = problem.groups
    made = f"np.array([{problem.m} * g * g // {count * count} for g in range({count + 1})], np.int32)"
    return f'    before["starts"] = {made}.view(np.uint8)\n'


def _begin(problem: Problem | AttentionProblem) -> str:
    """The beginning, which knows what stands in the lengths and the table of decode, and in the starts of sequences."""
    if (decode := decode_of(problem)) is not None:
        numbers = decode_in_python(decode, 0.0)[1]
    elif (weights := weights_of(problem)) is not None and weights.floats:
        every = "2**32, cells.shape, np.uint32)"
        return _BEGIN.replace(every, f"{every} & {FINITE:#x}")
    elif weights is None and not isinstance(problem, Problem) and problem.named_starts:
        numbers = starts_in_python(problem)
    else:
        return _BEGIN
    filled = "    if name in NUMBERS:\n        cells[:] = NUMBERS[name]\n    el" + _UNSIGNED.lstrip()
    return _BEGIN.replace(_UNSIGNED, filled) + numbers


def _expected(problem: Problem | AttentionProblem) -> str:
    if (decode := decode_of(problem)) is not None:
        each = 2 * float.fromhex(EPSILONS[decode.type]) + float.fromhex(EPSILONS[decode.out])
        return decode_in_python(decode, each)[0]
    if (weights := weights_of(problem)) is not None:
        return weights_in_python(weights) + _gemm(weights.product, "weights(values, z)")
    if isinstance(problem, Problem):
        return _gemm(problem)
    each = 2 * float.fromhex(EPSILONS[problem.type]) + float.fromhex(EPSILONS[problem.out])
    return attention_in_python(problem, each)


def _gemm(problem: Problem, right: str = "values['b'][z]") -> str:
    a = "a[:, rows].T" if problem.trans_a else "a[rows]"
    b = ".T" if problem.trans_b else ""
    one, of_columns = "expected(values, z, rows)", "None, :"
    if problem.groups:
        one, of_columns = "of_group(values, z, rows)", f"None, z * {problem.n} : (z + 1) * {problem.n}"
    lines = [
        *(_of_groups(problem) if problem.groups else ()),
        f"def {one}:",
        '    """These rows of the result, and how far rounding may take it."""',
        f"    a, b = values['a'][{'0' if problem.groups else 'z'}], {right}",
        f"    left, right = {a}, b{b}",
    ]
    if problem.epilogue is not None:
        return "\n".join([*lines, *_of_epilogue(problem, of_columns), "", "", ""])
    lines.append(
        f"    x, size = {problem.alpha!r} * (left @ right), {abs(problem.alpha)!r} * (abs(left) @ abs(right))",
    )
    for side in problem.scaled:
        place = "rows, None" if side == "row" else of_columns
        lines += [f"    scale = values['{side}_scale'][0][0][{place}]", "    x, size = x * scale, size * abs(scale)"]
    if problem.bias:
        place = "rows, None" if problem.bias == "row" else of_columns
        lines += [f"    bias = values['bias'][0][0][{place}]", "    x, size = x + bias, size + abs(bias)"]
    if problem.beta:
        lines += [
            f"    before = {problem.beta!r} * values['c'][{'0' if problem.groups else 'z'}][rows]",
            "    x, size = x + before, size + abs(before)",
        ]
    end = {
        "relu": "np.maximum(x, 0)",
        "silu": "0.5 * x * (1 + np.tanh(0.5 * x))",
        "gelu": "0.5 * x * (1 + np.tanh(x * (0.7978845608028654 + 0.035677408136300125 * x * x)))",
    }
    if problem.activation:
        lines.append(f"    x = {end[problem.activation]}")
    each = float.fromhex(EPSILONS[problem.c])
    if problem.acc in ("f16", "bf16"):
        each += float.fromhex(EPSILONS[problem.acc]) * max(1.0, (problem.k / 2) ** 0.5)
    return "\n".join([*lines, f"    return x, {each!r} * size", "", "", ""])


_FORMS = {
    "exp": "np.exp({})",
    "tanh": "np.tanh({})",
    "min": "np.where({0} > {1}, {1}, {0})",
    "max": "np.where({0} < {1}, {1}, {0})",
}


def _of_groups(problem: Problem) -> list[str]:
    """What is expected where rows belong to groups; those that no group has stay as they were."""
    return [
        "def expected(values, z, rows):",
        '    """These rows of the result, and how far rounding may take it, group by group."""',
        "    starts = values['starts'][0][0].astype(int)",
        "    x = values['c'][0][rows].copy()",
        "    far = np.zeros_like(x)",
        f"    for group in range({problem.groups}):",
        "        mine = (rows >= starts[group]) & (rows < starts[group + 1])",
        "        if mine.any():",
        "            x[mine], far[mine] = of_group(values, group, rows[mine])",
        "    return x, far",
        "",
        "",
    ]


def _of_epilogue(problem: Problem, of_columns: str) -> list[str]:
    """What is expected of an expression, and how far it may be: as far as the rounding of the sums moves it, and its own."""
    steps = planned(problem.epilogue or "acc")
    names = sorted(inputs_of(steps) - {"acc", "acc2"})
    places = {"residual": f"values['c'][{'0' if problem.groups else 'z'}][rows]"}
    for side, place in (("row", "rows, None"), ("column", of_columns)):
        places |= {
            f"{side}_bias": f"values['bias'][0][0][{place}]",
            f"{side}_scale": f"values['{side}_scale'][0][0][{place}]",
        }
    far = 2.0**-22
    if problem.acc in ("f16", "bf16"):
        far += float.fromhex(EPSILONS[problem.acc]) * max(1.0, (problem.k / 2) ** 0.5)
    each, own = float.fromhex(EPSILONS[problem.c]) + 2.0**-18, 2.0**-18
    others = " + ".join(["1", *(f"abs({name})" for name in names)])
    given = {name: name for name in names} | {"acc": "acc", "acc2": "acc2"}
    body = spelled(steps, given, _FORMS)
    parts = {"acc": "", "acc2": ""}
    if problem.gated:
        parts = {"acc": f"[:, :{problem.n}]", "acc2": f"[:, {problem.n}:]"}
    values = ", ".join(f"sums{part}" for part in parts.values())
    moved: list[str] = []
    for one in parts if problem.gated else ("acc",):
        for sign in "+-":
            given_to = [f"sums{part}" + f" {sign} far{part}" * (name == one) for name, part in parts.items()]
            moved.append(f"abs(behind({', '.join(given_to)}) - x)")
    return [
        *(f"    {name} = {places[name]}" for name in names),
        "    def behind(acc, acc2):",
        f"        return {body}  # {problem.epilogue}",
        "    sums = left @ right",
        f"    far = {far!r} * (abs(left) @ abs(right))",
        '    with np.errstate(over="ignore"):',
        f"        x = behind({values})",
        f"        moved = {' + '.join(moved)}",
        f"    return x, 2 * moved + {each!r} * abs(x) + {own!r} * ({others})",
    ]


_UNSIGNED = """    if MATRICES[name][0] == "u32":"""
_BEGIN = """
import sys
import time
import warnings

import numpy as np
import pyopencl as cl

# element, rows, columns, pitch, stride from matrix to matrix, matrices, bytes
MATRICES = {
@MATRICES@}
TYPES = {"f16": "f2", "bf16": "u2", "tf32": "f4", "f32": "f4", "s8": "i1", "u8": "u1", "s32": "i4", "u32": "u4"}
# in the order of their launches, with the same arguments: name, work-items, work-items of a workgroup
KERNELS = (
@KERNELS@)
LAUNCHES = 10


def shaped(name, memory):
    \"\"\"The matrices [matrix, row, column] in memory, without what pads them.\"\"\"
    element, rows, columns, pitch, stride, count, _ = MATRICES[name]
    each = np.dtype(TYPES[element]).itemsize
    strides = (stride * each, pitch * each, each)
    return np.ndarray((count, rows, columns), TYPES[element], memory.data, 0, strides)


def numbers(name, memory):
    \"\"\"The values in f64.\"\"\"
    found = shaped(name, memory)
    if MATRICES[name][0] == "bf16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return found.astype(np.float64)


def filled(name, random):
    \"\"\"Bytes with small multiples of 1/8 in the matrices, and bytes of ones (NaN) around them.\"\"\"
    memory = np.full(MATRICES[name][-1], 0xFF, np.uint8)
    cells = shaped(name, memory)
    eighths = random.integers(0 if cells.dtype == np.uint8 else -8, 9, cells.shape)
    if MATRICES[name][0] == "u32":
        cells[:] = random.integers(0, 2**32, cells.shape, np.uint32)
    elif MATRICES[name][0] == "bf16":
        cells[:] = ((eighths / 8).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        cells[:] = eighths if cells.dtype.kind in "iu" else eighths / 8
    return memory


"""
_PROGRAM = """def check(before, after):
    \"\"\"Whether the rows that are looked at, at most 64 of a matrix and of 16 matrices, are within rounding.\"\"\"
    values = {name: numbers(name, memory) for name, memory in before.items()}
    found = numbers(@RESULT@, after)
    count, height, width = found.shape
    rows = np.unique(np.linspace(0, height - 1, min(height, 64)).astype(int))
    chosen = np.unique(np.linspace(0, count - 1, min(count, 16)).astype(int))
    largest, value, wrong = 0.0, 0.0, 0
    for z in chosen:
        wanted, tolerance = expected(values, z, rows)
        error = abs(found[z][rows] - wanted)
        wrong += int((~(error <= tolerance)).sum())
        largest, value = float(np.maximum(largest, error.max())), max(value, float(abs(wanted).max()))
    checked = f"{len(chosen) * len(rows) * width} of {found.size} elements checked"
    verdict = f"{wrong} WRONG" if wrong else "all right"
    print(f"largest error {largest:.3g} (largest element {value:.3g}), {checked}: {verdict}")
    return wrong == 0


def device_of(wanted):
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    if not devices:
        sys.exit("no OpenCL device found")
    return next((device for device in devices if device.type & wanted), devices[0])


def program_of(context, device, name, builtins):
    with open(name, "rb") as file:
        binary = file.read()
    if binary[:4] != (0x07230203).to_bytes(4, "little"):
        return cl.Program(context, [device], [binary]).build()
    options = @FLAGS@ if device.type & cl.device_type.GPU else []
    program = cl.Program(context, binary)
    if builtins is None:
        return program.build(options)
    with open(builtins, encoding="utf-8") as file:
        source = cl.Program(context, file.read())
    with warnings.catch_warnings():  # pyopencl says that linked programs are not cached
        warnings.simplefilter("ignore")
        source.compile(["-cl-std=CL1.2"])
        program.compile(options)
        return cl.link_program(context, [program, source])


def launch(queue, kernels):
    for kernel, items, group in kernels:  # the queue keeps the order
        cl.enqueue_nd_range_kernel(queue, kernel, items, group)


def main(name="@KERNEL@.spv", builtins=None):
    device = device_of(cl.device_type.CPU if builtins else cl.device_type.GPU)
    print(device.name)
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = program_of(context, device, name, builtins)
    kernels = [(cl.Kernel(program, kernel), *sizes) for kernel, *sizes in KERNELS]
    random = np.random.default_rng(0)
    before = {name: filled(name, random) for name in MATRICES}
@STARTS@
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = {name: cl.Buffer(context, flags, hostbuf=memory) for name, memory in before.items()}
    arguments = [*buffers.values(), @SCRATCH@@NUMBERS@]
    for kernel, _, _ in kernels:
        kernel.set_args(*arguments)
    launch(queue, kernels)
    after = np.empty_like(before[@RESULT@])
    cl.enqueue_copy(queue, after, buffers[@RESULT@])
    queue.finish()
    right = check(before, after)
    begin = time.perf_counter()
    for _ in range(LAUNCHES):
        launch(queue, kernels)
    queue.finish()
    print(f"{(time.perf_counter() - begin) / LAUNCHES * 1e3:.4f} ms a launch, mean of {LAUNCHES}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
"""
