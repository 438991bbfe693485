"""A process that answers questions from its standard input, until that ends: `python -m layoutalg.explorer.worker`.

A question is a line with the number of its bytes, then JSON; an answer is a line of JSON. So a reader knows where each ends,
and a process whose server is gone ends too.

>>> import io
>>> out = io.BytesIO()
>>> answer_all(io.BytesIO(b"2\\n[]"), out)
>>> out.getvalue()[:43]
b'{"error": {"message": "a question is a JSON'
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any, BinaryIO, NoReturn

from layoutalg.core.limits import MOST_WORKER_BYTES
from layoutalg.explorer.answers import answer, failure

__all__ = ["answer_all", "answered"]


def answered(body: bytes) -> dict[str, Any]:
    """The answer to a question as JSON text, whatever it is.

    >>> answered(b"{")["error"]["message"]
    'not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'
    """
    try:
        question = json.loads(body, parse_constant=_refuse)
    except RecursionError:
        return failure("not read: JSON that is nested too deep")
    except ValueError as problem:
        return failure(f"not JSON: {problem}")
    try:
        return answer(question)
    except MemoryError:
        return failure("this question needs more memory than one may have")
    except Exception as problem:  # a fault of ours must not end the process
        return failure(f"not answered, by a fault of layoutalg ({type(problem).__name__}); please report the question")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def answer_all(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer one question after the other."""
    while line := questions.readline():
        answers.write(json.dumps(answered(questions.read(int(line)))).encode() + b"\n")
        answers.flush()


def _main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    with suppress(ImportError, ValueError, OSError):  # no such limits on this system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_WORKER_BYTES, MOST_WORKER_BYTES))
    answer({"kind": "layout", "text": "d0 = 8@reg, d1 = 16@lane"})  # imports what a first picture needs
    with suppress(BrokenPipeError):
        answer_all(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main()
