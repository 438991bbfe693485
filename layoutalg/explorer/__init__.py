"""The explorer: answers about layouts as JSON, and a page on this machine that asks for them (`layoutalg serve`).

>>> answer({"kind": "owner", "text": "d0 = 2@reg, d1 = 16@lane", "at": [1, 5]})
{'owners': [{'sg': 0, 'lane': 5, 'reg': 1}]}

`answers` is a pure function from a question to an answer. Whoever carries the two (`server`, a notebook, a worker in the
browser) knows no layout: `server` asks in processes of their own (`workers`), with a time limit for each question.
"""

from layoutalg.explorer.answers import answer

__all__ = ["answer"]
