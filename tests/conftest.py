"""What the whole test run shares: which tests are left out, and one closing line about the compilers that were not there."""

from __future__ import annotations

import os

import pytest

from tests.oracle.toolchains import GONE, MISSING


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that try everything at full size run by `make exhaustive` alone."""
    if os.environ.get("LAYOUTALG_EXHAUSTIVE"):
        return
    left_out = [item for item in items if item.get_closest_marker("exhaustive")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missing = [reason for reason in skipped if MISSING in reason]
    if missing:
        names = sorted({reason.partition(f"{MISSING}: ")[2].split()[0] for reason in missing})
        terminalreporter.write_line(
            f"{len(missing)} tests need a compiler that is not installed ({', '.join(names)}); "
            "`make toolchains` installs them, `make test-all` then runs them."
        )
    gone = [reason for reason in skipped if GONE in reason]
    if gone:
        names = sorted({reason.partition(f"{GONE}: ")[2].split("'")[0].split('"')[0] for reason in gone})
        terminalreporter.write_line(
            f"{len(gone)} tests need a compiler that Debian's suites no longer have ({', '.join(names)}): not asked."
        )
