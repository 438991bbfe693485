"""`python -m layoutalg.cli`: the command line."""

from layoutalg.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
