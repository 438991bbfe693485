"""The program: its commands, and how it ends.

A command returns an exit code or None. What goes wrong is said as `layoutalg.cli.refusals` has it.

>>> main(["show", "d0 = 4@lane", "--json"])
{"input": "d0 = 4@lane", "shape": [4], "layout": "d0 = 4@lane", "axes": {"lane": 4}, "replicas": [],
"fragment_shape": [1], "index": {"d0": "lane"}}
0
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

from layoutalg.cli.refusals import asks_for_json, refuse
from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of, listed

__all__ = ["cli", "main"]

_INTERRUPTED = 130


_OTHERS = {"list": "listing:list_instructions"}
"""Where a command is that is not in the module of its name, as a function of its name."""
_NAMES = (
    "attention", "banks", "check", "conformance", "convert", "cute", "decode", "draw", "gemm", "list", "lower", "lsp",
    "migrate", "propagate", "run", "same", "serve", "show", "sweep", "verify", "weights",
)  # fmt: skip


class _Commands(click.Group):
    """The commands, each imported when it is asked for: `layoutalg show` waits for none of the others."""

    @property
    def commands(self) -> dict[str, click.Command]:
        """All commands by their names."""
        return {name: _command(name) for name in _NAMES}

    @commands.setter
    def commands(self, given: object) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Click's own list, which stays empty."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command(cmd_name) if cmd_name in _NAMES else None


def _command(name: str) -> click.Command:
    module, _, function = _OTHERS.get(name, f"{name}:{name}").partition(":")
    return getattr(import_module(f"layoutalg.cli.{module}"), function)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="layoutalg")
@click.pass_context
def cli(context: click.Context) -> None:
    """Who holds what: exact layouts of tensors on matrix hardware."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    >>> main(["same", "d0 = 2@reg 4@lane", "d0 = 4@lane 2@reg"])
    element (1,) is in lane 1, register 0 in the first and in lane 0, register 1 in the second
    1
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # a stream of a test, or a closed one
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    as_json = False
    try:
        given = sys.argv[1:] if arguments is None else list(listed(arguments, "arguments"))
        for one in given:
            instance_of(one, str, "argument")
        as_json = asks_for_json(given)
        done: object = cli.main(args=given, prog_name="layoutalg", standalone_mode=False)
        if sys.stdout is not None and not sys.stdout.closed:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()  # a language server's is closed when its client has left
        return done if isinstance(done, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        refuse("interrupted")
        return _INTERRUPTED
    except (click.ClickException, LayoutError) as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        _leave_output()
        return 0
    except SystemExit:  # of rich, which closes standard output where nobody reads on: `layoutalg list gfx942 | head`
        return 0
    except OSError as error:
        _leave_output()
        return refuse(f"{error.filename or 'output'}: {error.strerror}", as_json=as_json)
    except UnicodeError as error:
        return refuse(f"text that is not UTF-8: {error}", as_json=as_json)


def _leave_output() -> None:
    """Give up standard output, so that leaving the program does not try to write the rest."""
    with suppress(OSError, ValueError, AttributeError):
        if sys.stdout is sys.__stdout__:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
