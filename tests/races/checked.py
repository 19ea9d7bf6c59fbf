"""A plugin that runs every kernel of other tests under the check, and prints what is found in global memory:

    python -m pytest -p tests.races.checked tests/numba/public

The status of the run is 1 if an error was found. Tests that ask for a check of their own keep it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from smmux.results.checks import Finding
from smmux.running import launch, launch_options

FOUND: list[tuple[str, Finding]] = []
LAUNCHES = [0]


@pytest.fixture(autouse=True)
def every_launch_is_checked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = dict(launch_options.OPTIONS)
    rows["check"] = replace(rows["check"], default="races")
    monkeypatch.setattr(launch_options, "OPTIONS", rows)
    plain = launch._core.launch

    def counted(*args: Any, **named: Any) -> Any:
        LAUNCHES[0] += 1
        return plain(*args, **named)

    class Core:
        launch = staticmethod(counted)

        def __getattr__(self, name: str) -> Any:
            return getattr(type(self).core, name)

    Core.core = launch._core  # type: ignore[attr-defined]
    monkeypatch.setattr(launch, "_core", Core())
    made = launch.Result.from_core

    def told(*args: Any, **named: Any) -> Any:
        result = made(*args, **named)
        FOUND.extend((request.node.nodeid, finding) for finding in result.findings or ())
        return result

    monkeypatch.setattr(launch.Result, "from_core", told)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"{LAUNCHES[0]} launches checked, {len(FOUND)} findings")
    for test, finding in FOUND:
        terminalreporter.write_line(f"{test}: {finding}")


def pytest_sessionfinish(session: Any, exitstatus: int) -> None:
    if exitstatus == 0 and any(finding.severity == "error" for _, finding in FOUND):
        session.exitstatus = 1
