"""The parts of a host that know attention: what a row of O has to be, by softmax in f64, and where packed sequences begin.

Where sequences are packed, a host looks up which one a row is of. Row 4 of starts (0, 3, 7) is the second one's row 1; its keys
begin where `starts_k` says, and a mask counts from there.

>>> from layoutalg.gemm.attention import plan_attention
>>> problem = plan_attention(7, 9, 64, heads=2, order="bshd", starts_q=(0, 3, 7), starts_k=(0, 9, 9), target="bmg").problem
>>> text, operations = attention_in_c(problem)
>>> "while (starts_q[s + 1] <= (int32_t)r) s++;" in text, operations
(True, 650)
>>> print(starts_in_c(problem).splitlines()[2])
static const int32_t starts_q[3] = {0, 3, 7};
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.gemm.attention import AttentionProblem

__all__ = ["attention_in_c", "attention_in_python", "starts_in_c", "starts_in_python"]


def attention_in_c(problem: AttentionProblem, epsilons: tuple[str, str] = ("0", "0")) -> tuple[str, int]:
    """`expected`, and the operations of an element. `epsilons` are those of the types of Q and of O."""
    packed, d = problem.starts is not None, problem.d
    group = problem.heads // problem.kv_heads
    by_rows = problem.order == "bshd"  # a row has all heads: c says which one
    head = f"c / {d}" if by_rows else "z"
    of_q, of_kv = (f"{d} * head + i", f"{d} * of_keys + i") if by_rows else ("i", "i")
    column, own, other = (f"{d} * of_keys + c % {d}", "z", "z") if by_rows else ("c", "head", "of_keys")
    row, shift, keys = "(long long)r", str(problem.shift), str(problem.keys)
    at, found = "(size_t)j", ""
    if packed:
        row, shift, keys, at = "row", "keys - queries", "keys", "(size_t)(begin + j)"
        found = """  size_t s = 0; /* the row's sequence */
  while (starts_q[s + 1] <= (int32_t)r) s++;
  const long long row = (long long)r - starts_q[s], queries = starts_q[s + 1] - starts_q[s];
  const long long begin = starts_k[s], keys = starts_k[s + 1] - begin;
"""
    last = f"{row} + {shift}" if problem.causal else f"{keys} - 1"
    low = f"{row} + {shift} - {(problem.window or 0) - 1}"
    first = f"{low} > 0 ? {low} : 0" if problem.window is not None else "0"
    unused = "  (void)row, (void)queries; /* every query sees every key */\n" if packed and not problem.causal else ""
    shared = f"head / {group}" if group > 1 else "head"
    text = f"""static double expected(const unsigned char *const *data, size_t z, size_t r, size_t c, double *tolerance) {{
  static double scores[{problem.keys}];
{found}  const long long first = {first}, last = {last};
{unused}  const size_t head = {head}, of_keys = {shared};
  double largest = -1e300, sum = 0, x = 0, size = 0;
  for (long long j = first; j <= last; j++) {{
    double score = 0;
    for (size_t i = 0; i < {d}; i++)
      score += load(&matrices[0], data[0], {own}, r, {of_q}) * load(&matrices[1], data[1], {other}, {at}, {of_kv});
    scores[j] = {problem.scale!r} * score;
    if (scores[j] > largest) largest = scores[j];
  }}
  for (long long j = first; j <= last; j++) {{
    const double weight = exp(scores[j] - largest), value = load(&matrices[2], data[2], {other}, {at}, {column});
    sum += weight;
    x += weight * value;
    size += weight * fabs(value);
  }}
  *tolerance = sum > 0 ? (2 * {epsilons[0]} + {epsilons[1]}) * size / sum : 0;
  return sum > 0 ? x / sum : 0;
}}
"""
    longest = max(1, *(one.keys for one in problem.sequences))
    return text, longest * (d + 8) + (len(problem.sequences) if packed else 0)


def starts_in_c(problem: AttentionProblem) -> str:
    """The numbers where packed sequences begin, and `filled`, which writes them over what was there."""
    tables = "".join(
        fill(
            f"static const int32_t {name}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};",
            120,
            subsequent_indent="  ",
            break_long_words=False,
        )
        + "\n"
        for name, numbers in problem.named_starts.items()
    )
    return f"""
/* Where each sequence begins, in rows of Q and in keys; the last number is where the last one ends. */
{tables}
static void filled(int which, unsigned char *data) {{
  if (strcmp(matrices[which].name, "starts_q") == 0) memcpy(data, starts_q, sizeof starts_q);
  if (strcmp(matrices[which].name, "starts_k") == 0) memcpy(data, starts_k, sizeof starts_k);
}}
"""


def attention_in_python(problem: AttentionProblem, each: float) -> str:
    """`expected`, with the functions it calls; `each` is how far rounding takes an element of size 1."""
    group, d = problem.heads // problem.kv_heads, problem.d
    mask = ""
    if problem.causal:
        mask = "    keys = np.arange(len(k))[None, :]\n    scores[keys > rows[:, None] + shift] = -np.inf\n"
    if problem.window is not None:
        mask += f"    scores[keys <= rows[:, None] + shift - {problem.window}] = -np.inf\n"
    text = f'''def attended(q, k, v, rows, shift):
    """The result of these rows, and how far rounding may take it; shift: how many keys more than queries there are."""
    scores = {problem.scale!r} * (q[rows] @ k.T)
{mask}    largest = scores.max(axis=1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    sums = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(sums > 0, sums, 1)
    return weights @ v, {each!r} * (weights @ abs(v))


'''
    if problem.order == "bhsd":
        return text + _ONE_HEAD.format(group=group, shift=problem.shift)
    columns = f"{d} * head : {d} * head + {d}", f"{d} * (head // {group}) : {d} * (head // {group}) + {d}"
    matrices = ", ".join(f'values["{one}"][z][:, {columns[one != "q"]}]' for one in "qkv")
    of_head = f"    return attended(q, k, v, rows, {problem.shift})\n" if problem.starts is None else _BY_SEQUENCES
    return text + _ALL_HEADS.format(matrices=matrices, of_head=of_head, heads=problem.heads)


def starts_in_python(problem: AttentionProblem) -> str:
    """`NUMBERS`: what stands in the matrices of whole numbers."""
    lines = [
        fill(f"    {name!r}: {list(numbers)},", 120, subsequent_indent="        ")
        for name, numbers in problem.named_starts.items()
    ]
    return "\n".join(["NUMBERS = {", *lines, "}", "", "", ""])


_ONE_HEAD = '''def expected(values, z, rows):
    """These rows of the result, and how far rounding may take it."""
    return attended(values["q"][z], values["k"][z // {group}], values["v"][z // {group}], rows, {shift})


'''
_ALL_HEADS = '''def of_head(values, z, head, rows):
    """These rows of one head."""
    q, k, v = {matrices}
{of_head}

def expected(values, z, rows):
    """These rows of the result, all heads side by side, and how far rounding may take it."""
    parts = [of_head(values, z, head, rows) for head in range({heads})]
    return tuple(np.concatenate(side, axis=1) for side in zip(*parts))


'''
_BY_SEQUENCES = """    wanted, tolerance = np.zeros((2, len(rows), q.shape[1]))
    starts = [list(zip(NUMBERS[name], NUMBERS[name][1:])) for name in ("starts_q", "starts_k")]
    for (begin, end), (first, last) in zip(*starts):
        mine = (rows >= begin) & (rows < end)
        if mine.any() and first < last:
            own = q[begin:end], k[first:last], v[first:last], rows[mine] - begin
            wanted[mine], tolerance[mine] = attended(*own, (last - first) - (end - begin))
    return wanted, tolerance
"""
