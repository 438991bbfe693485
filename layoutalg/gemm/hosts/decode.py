"""The parts of a host that know decode: the lengths and the table that it fills in, and what the result has to be.

The first sequence is full, and the b-th has (7 b mod 11) / 10 of the keys, so some are empty. The pages of the pool are handed
out from its end. Hosts import no class of a plan, because plans import hosts; so a problem of decode is
known by what it has.

>>> problem = la.plan_decode(100, 64, batch=3, page=16, target="bmg").problem
>>> lengths_of(decode_of(problem)), decode_of(la.plan_attention(8, 8, target="bmg").problem)
([100, 70, 30], None)
>>> "scores[100]" in decode_in_c(problem)[0]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.problem import DecodeProblem

__all__ = ["decode_in_c", "decode_in_python", "decode_of", "lengths_of"]


def decode_of(problem: object) -> DecodeProblem | None:
    """The problem, if it has sequences with lengths."""
    return cast("DecodeProblem", problem) if hasattr(problem, "pages_of_sequence") else None


def lengths_of(problem: DecodeProblem | None) -> list[int]:
    """The keys of each sequence that a host makes up."""
    if problem is None:
        return []
    return [problem.keys] + [problem.keys * (7 * number % 11) // 10 for number in range(1, problem.batch)]


def decode_in_c(problem: DecodeProblem, epsilons: tuple[str, str] = ("0", "0")) -> tuple[str, int, str]:
    """`expected`, the operations of an element, and `filled`, which writes lengths and table over what was there.

    `epsilons` are those of the types of Q and of O.
    """
    d, heads, page = problem.d, problem.kv_heads, problem.page
    matrix, row = ("sequence", "j") if not page else ("page", f"j % {page}")
    found = f"    const size_t page = (size_t)load(&matrices[5], data[5], 0, sequence, j / {page});\n" if page else ""
    if problem.order == "hnd":
        place, column = f"{matrix} * {heads} + head, {row}, ", ""
    else:
        place, column = f"{matrix}, {row}, ", f"head * {d} + "
    expected = f"""static double expected(const unsigned char *const *data, size_t z, size_t r, size_t c, double *tolerance) {{
  static double scores[{problem.keys}];
  const size_t sequence = r / {problem.heads * problem.queries};
  const size_t head = r / {problem.queries} % {problem.heads} / {problem.group}; /* of K and V */
  const long long length = (long long)load(&matrices[4], data[4], z, 0, sequence);
  const long long seen = length - {problem.queries - 1} + (long long)(r % {problem.queries});
  double largest = -1e300, sum = 0, x = 0, size = 0;
  for (size_t j = 0; (long long)j < seen; j++) {{
{found}    double score = 0;
    for (size_t i = 0; i < {d}; i++)
      score += load(&matrices[0], data[0], 0, r, i) * load(&matrices[1], data[1], {place}{column}i);
    scores[j] = {problem.scale!r} * score;
    if (scores[j] > largest) largest = scores[j];
  }}
  for (size_t j = 0; (long long)j < seen; j++) {{
{found}    const double weight = exp(scores[j] - largest), value = load(&matrices[2], data[2], {place}{column}c);
    sum += weight;
    x += weight * value;
    size += weight * fabs(value);
  }}
  *tolerance = sum > 0 ? (2 * {epsilons[0]} + {epsilons[1]}) * size / sum : 0;
  return sum > 0 ? x / sum : 0;
}}
"""
    table = f"""
  if (which == 5)
    for (int32_t i = 0; i < {problem.batch * problem.pages_of_sequence}; i++) {{
      const int32_t page = {problem.pages - 1} - i % {problem.pages};
      memcpy(data + 4 * (size_t)i, &page, 4);
    }}"""
    filled = f"""
/* How many keys each sequence has{", and where its pages are" if page else ""}. */
static void filled(int which, unsigned char *data) {{
  if (which == 4)
    for (int64_t i = 0; i < {problem.batch}; i++) {{
      const int32_t length = (int32_t)(i ? {problem.keys} * (7 * i % 11) / 10 : {problem.keys});
      memcpy(data + 4 * i, &length, 4);
    }}{table if page else ""}
}}
"""
    return expected, problem.keys * (d + 8), filled


def decode_in_python(problem: DecodeProblem, each: float) -> tuple[str, str]:
    """`expected`, and the lines of `NUMBERS`: what stands in the matrices of whole numbers."""
    page, hnd = problem.page, problem.order == "hnd"
    lines = [
        "NUMBERS = {",
        f"    'lengths': [int({problem.keys} * (7 * i % 11) // 10) if i else {problem.keys} for i in range({problem.batch})],",
    ]
    if page:
        entries = problem.batch, problem.pages_of_sequence
        shape = f"{problem.kv_heads}, {page}" if hnd else f"{page}, {problem.kv_heads}"
        lines.append(
            f"    'table': {problem.pages - 1} - np.arange({entries[0] * entries[1]}).reshape({entries}) % {problem.pages},"
        )
        taken = f"""    pages = values['table'][0][sequence][:-(-length // {page})].astype(int)
    cells = values[name].reshape(-1, {shape}, {problem.d})[pages]
    return cells{"[:, head]" if hnd else "[:, :, head]"}.reshape(-1, {problem.d})[:length]
"""
    elif hnd:
        taken = f"    return values[name][sequence * {problem.kv_heads} + head][:length]\n"
    else:
        taken = f"    return values[name][sequence].reshape(-1, {problem.kv_heads}, {problem.d})[:length, head]\n"
    expected = f"""def keys_of(values, name, sequence, head, length):
    \"\"\"K or V of one head of a sequence.\"\"\"
{taken}

def expected(values, z, rows):
    \"\"\"These rows of the result, and how far rounding may take it.\"\"\"
    wanted, tolerance = np.zeros((2, len(rows), {problem.d}))
    for place, row in enumerate(rows):
        sequence, head = row // {problem.heads * problem.queries}, row // {problem.queries} % {problem.heads} // {problem.group}
        length = int(values['lengths'][0][0][sequence])
        seen = length - {problem.queries - 1} + row % {problem.queries}
        if seen <= 0:
            continue
        k, v = (keys_of(values, name, sequence, head, length)[:seen] for name in "kv")
        scores = {problem.scale!r} * (k @ values['q'][0][row])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        wanted[place], tolerance[place] = weights @ v, {each!r} * (weights @ abs(v))
    return wanted, tolerance


"""
    return expected, "\n".join([*lines, "}", "", "", ""])
