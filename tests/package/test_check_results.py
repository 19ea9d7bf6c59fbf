"""What checked runs give: exceptions, data, pages, the command line."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import benchmarks, cuda, int32
from smmux.results.checks import Findings, finding_info
from tests.package.chunk_tries import FIRST_EXAMPLE, chunks, first_try, line_of, run, third_try

# ---- results and options


@pytest.fixture(scope="module")
def racy() -> smmux.Result:
    return run(first_try, chunks())


def test_an_unchecked_run_says_nothing(racy: smmux.Result) -> None:
    result = run(first_try, chunks(), None)
    assert result.findings is None
    for ask in (lambda: result.races, result.raise_for_findings):
        with pytest.raises(smmux.ConfigError, match="check='races'"):
            ask()
    assert result.counters == racy.counters
    assert result.to_dict()["findings"] is None


@pytest.mark.parametrize("check", ["race", True, 1, ["races"], ""])
def test_other_checks_are_refused(check: Any) -> None:
    with pytest.raises(smmux.ConfigError, match="races, races-strict"):
        run(third_try, chunks(), check)


def test_an_exception_on_request(racy: smmux.Result) -> None:
    with pytest.raises(smmux.RaceError, match="in kernel 'first_try'") as caught:
        racy.raise_for_findings()
    error = caught.value
    assert error.findings == racy.findings.errors
    assert str(racy.findings.errors[0]) in str(error)
    assert (error.line, error.array) == (racy.races[0].second.line, "tbmax")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@cuda.jit
def races_and_fails(a, out, limit):
    """Neighbours race; block `limit` leaves the array, or nobody does and the kernel spins."""
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    other = tile[63 - t]
    cuda.syncthreads()
    if cuda.blockIdx.x == limit:
        other += a[a.size + t]
    while limit < 0:
        other += limit
    out[t] = other


def failing(limit: int, **options: Any) -> smmux.KernelError:
    with pytest.raises(smmux.KernelError) as caught:
        races_and_fails.simulate(12, 64, (chunks(), chunks(), limit), gpu="GTX285-1100", max_cycles=5000, **options)
    return caught.value


@pytest.mark.parametrize(("limit", "kind"), [(7, smmux.OutOfBoundsError), (-1, smmux.CycleLimitError)])
def test_what_was_found_before_a_fault_comes_with_the_exception(limit: int, kind: type[Exception]) -> None:
    error = failing(limit, check="races")
    assert isinstance(error, kind)
    assert isinstance(error.findings, Findings)
    [race] = error.findings
    assert race.lines == (line_of(races_and_fails, "tile[t] = a[t]"), line_of(races_and_fails, "other = tile"))
    assert f"check='races' had found:\n{race}" in error.__notes__[0]
    assert pickle.loads(pickle.dumps(error)).findings == error.findings
    for options in ({"window": 1}, {"window": 8, "host_threads": 2}):  # no further than the fault
        assert failing(limit, check="races", **options).findings == error.findings


def test_no_findings_without_a_check_and_none_without_a_finding() -> None:
    assert failing(7).findings is None
    with pytest.raises(smmux.LaunchError) as caught:
        races_and_fails.simulate(0, 64, (chunks(), chunks(), 0), check="races")
    assert caught.value.findings == ()


def test_findings_as_data_and_pages(racy: smmux.Result) -> None:
    data = json.loads(racy.to_json())["findings"]
    assert [entry["kind"] for entry in data] == [finding.kind for finding in racy.findings]
    assert data[0]["first"]["line"] == racy.findings[0].first.line
    page = racy._repr_html_()
    assert "tbmax[0]" in page
    assert "to do: put cuda.syncthreads() between" in str(racy.findings)
    assert f"{racy.findings[0].second.line}  {racy.findings[0].second.source}\n" in str(racy.findings)
    assert (racy.findings.summary(), "1 error" in repr(racy)) == ("1 error, 1 warning", True)
    clean = run(third_try, chunks()).findings.errors
    assert (str(clean), clean._repr_html_()) == ("no findings", "<p>no findings</p>")
    assert str(Findings([], lost=7)) == "and 7 more at further pairs of lines"


def test_warnings_and_unrolled_copies_leave_room_for_errors() -> None:
    """300 stores in a row, one line: all pairs of them are one finding, and the race behind them is seen."""

    @cuda.jit
    def kernel(out: Any) -> None:
        s, r = cuda.shared.array(1, int32), cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        for k in range(300):
            s[0] = t * 3 + k
        r[t] = t
        out[t] = r[(t + 32) % 64]

    found = kernel.simulate(1, 64, (np.zeros(64, np.int32),), gpu="GTX480-48K", check="races").findings
    assert (found.lost, [(f.kind, f.lines[1] - f.lines[0]) for f in found]) == (0, [("race", 1), ("conflict", 0)])


def test_kinds_are_described() -> None:
    infos = finding_info().values()
    assert {info.severity for info in infos} == {"error", "warning", "note"}
    assert len({info.doc for info in infos}) == len({info.remedy for info in infos}) == len(infos)


def test_results_of_checked_runs_survive_pickling(racy: smmux.Result) -> None:
    again = pickle.loads(pickle.dumps(racy.findings))
    assert again == racy.findings
    assert again.lost == racy.findings.lost


@pytest.mark.long
def test_command_line(tmp_path: Path) -> None:
    source = "from smmux import cuda, int32\n" + "@cuda.jit" + FIRST_EXAMPLE
    statuses = []
    for barrier in ("cuda.syncthreads()", "pass"):
        path = tmp_path / "say.py"
        path.write_text(source.replace("BARRIER", barrier))
        command = [sys.executable, "-m", "smmux", "run", f"{path}:say", "--grid", "1", "--block", "64", "int32[64]"]
        done = subprocess.run([*command, "--check", "races"], capture_output=True, text=True)
        statuses.append(done.returncode)
        assert ("race: " in done.stdout, "no findings" in done.stdout) == (barrier == "pass", barrier != "pass")
    assert statuses == [0, 1]


def test_a_sweep_may_check() -> None:
    """Records stay plain data."""
    found = benchmarks.get("RD").kernel()
    problem = benchmarks.get("RD").problem("tiny")
    result = found.simulate(problem.grid, problem.block, problem.arguments(), check="races", host_threads=2)
    assert not result.findings
