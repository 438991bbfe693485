"""An option of the planners is declared once: the library, the command line and the problems agree on it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import click
import pytest

import layoutalg as la
from layoutalg.cli.gemm import gemm
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.search import AmxChoices
from layoutalg.gemm.choices import Choices
from layoutalg.gemm.options import AmxOptions, GemmOptions
from layoutalg.gemm.problem import Problem


@pytest.mark.parametrize(("kind", "homes"), [(GemmOptions, (Problem, Choices)), (AmxOptions, (AmxProblem, AmxChoices))])
def test_every_option_is_a_field_with_the_default_that_the_help_prints(kind: type, homes: tuple[type, type]) -> None:
    defaults = {field.name: field.default for home in homes for field in fields(home)}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        default = get_args(hint)[1].default
        assert name in defaults
        assert default is None or default == defaults[name]


def test_the_command_line_has_every_option() -> None:
    names = {option.name for option in gemm.params if isinstance(option, click.Option)}
    assert names >= {*GemmOptions.__annotations__, *AmxOptions.__annotations__}


def test_a_keyword_that_no_planner_has_is_refused_as_python_refuses_it() -> None:
    for plan in (la.plan_gemm, la.plan_amx):
        with pytest.raises(TypeError, match=rf"{plan.__name__}\(\) got an unexpected keyword argument 'trans_c'"):
            plan(64, 64, 64, trans_c=True)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    "more", [{"batch": 0}, {"epilogue": "acc * 2"}, {"gated": True}, {"groups": 4}, {"halves": True}], ids=str
)
def test_a_problem_for_amx_has_what_amx_computes(more: dict[str, Any]) -> None:
    problem = la.plan_amx(16, 16, 32).problem
    with pytest.raises(la.LayoutError, match=f"{next(iter(more))} = "):
        AmxProblem(**(vars(problem) | more))


def test_rows_are_dynamic_where_the_target_has_that() -> None:
    assert la.plan_gemm(64, 64, 64, target="amx", dynamic_m=True).problem.dynamic_m
    with pytest.raises(la.LayoutError, match="dynamic_m = True: planned for CPUs with AMX"):
        la.plan_gemm(64, 64, 64, dynamic_m=True)  # pyright: ignore[reportArgumentType, reportCallIssue]
