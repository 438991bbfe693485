"""What operations are: a table for each dialect, and what is made of its rows.

`rows` reads the tables, `words` knows their words. `classes` makes the classes that the reader and the printer use, with the
syntax of a row as a `program`. The verifier takes signatures from the rows, the documentation its page of operations.
"""

__all__: list[str] = []
