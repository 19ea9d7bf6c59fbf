"""The order of a kernel's instructions is its machine's wherever nobody asks for another one, and results name it."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import ConfigError, cuda, float32, gpus
from smmux.__main__ import main
from smmux.kernel import Kernel
from smmux.machines.occupancy import registers_for

TEXT = """
from smmux import cuda, float32

@cuda.jit
def row_sum(a, out):
    tile = cuda.shared.array((32, 33), float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x * 32
    total = float32(0)
    for c in range(0, a.shape[1], 32):
        for r in range(32):
            tile[r, tx] = a[row + r, c + tx]
        cuda.syncthreads()
        for k in range(32):
            total += tile[tx, k]
        cuda.syncthreads()
    out[row + tx] = total
"""
"""In program order each of the 32 loads is waited for at its store; on a card they are under way together."""

ROWS, COLUMNS = 64, 64
GRID, BLOCK = ROWS // 32, 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.py"
    path.write_text(TEXT)
    return path


@pytest.fixture
def row_sum(file: Path) -> Any:
    from smmux.shell.command_words import kernel_of

    return kernel_of(f"{file}:row_sum")


def arguments() -> tuple[Any, Any]:
    return np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS) % 8, np.zeros(ROWS, np.float32)


def test_cards_have_an_assembler_and_the_simulator_of_the_paper_has_none() -> None:
    schedules = {name: gpus.get(name).schedule for name in gpus.names()}
    assert schedules.pop("GTX285-1100") == "source"
    assert set(schedules.values()) == {"list"}
    card = gpus.get("GTX285")
    assert card.replace(schedule="source").sources["schedule"] == gpus.CHANGED
    with pytest.raises(ConfigError, match="schedule must be one of source, list, not 'lists'; did you mean 'list'"):
        card.replace(schedule="lists")


@pytest.mark.quick(2)
@pytest.mark.parametrize("gpu", ["GTX285-1100", "GTX285", "GTX480-16K"])
def test_every_way_to_run_a_kernel_gives_one_number(
    gpu: str, file: Path, row_sum: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = gpus.get(gpu)
    a, out = arguments()
    stated = row_sum.simulate(GRID, BLOCK, (a, out), gpu, schedule=machine.schedule)
    other = "list" if machine.schedule == "source" else "source"
    assert row_sum.simulate(GRID, BLOCK, (a, out), gpu, schedule=other).cycles != stated.cycles
    np.testing.assert_array_equal(out, a.sum(axis=1))

    plain = row_sum.simulate(GRID, BLOCK, (a, out), gpu)
    assert plain.counters == stated.counters
    assert plain.schedule == machine.schedule
    turned = row_sum.simulate(GRID, BLOCK, (a, out), machine.replace(schedule=other))
    assert turned.schedule == other
    assert turned.cycles != stated.cycles

    with gpus.set_current(gpu):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        row_sum[GRID, BLOCK](a, out)
        end.record()
        assert cuda.event_elapsed_time(begin, end) * 1000 == pytest.approx(stated.time_us)
        current = row_sum.compile((a, out), grid=GRID, block=BLOCK)
        assert (
            row_sum.ir(a, out, grid=GRID, block=BLOCK)
            == stated.program.listing()
            == row_sum.inspect_asm(list(row_sum.overloads)[-1])
        )
    for compiled in (current, row_sum.compile((a, out), gpu, grid=GRID, block=BLOCK)):
        assert compiled.code.tobytes() == stated.program.code.tobytes()

    words = [f"float32[{ROWS},{COLUMNS}]=arange", f"float32[{ROWS}]"]
    where = [f"{file}:row_sum", "--grid", str(GRID), "--block", str(BLOCK), "--gpu", gpu, "--json"]
    for command in ("run", "advise"):
        assert main([command, *where, *words]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["schedule"] == machine.schedule
        cycles = printed["cycles"] if command == "run" else printed["schemes"][0]["cycles"]
        assert cycles == stated.cycles


def test_results_pages_and_time_lines_name_the_schedule(row_sum: Kernel, tmp_path: Path) -> None:
    results = {
        s: row_sum.simulate(GRID, BLOCK, arguments(), "GTX285", schedule=s, trace=True) for s in ("source", "list")
    }
    for schedule, result in results.items():
        assert result.schedule == result.to_dict()["schedule"] == schedule
        assert repr(result).endswith(f", schedule {schedule}>")
        assert f"block {result.block}, schedule {schedule}<" in result._repr_html_()
        assert result.trace is not None
        result.trace.to_perfetto(tmp_path / "run.json")
        assert json.loads((tmp_path / "run.json").read_text())["otherData"]["schedule"] == schedule
    page = results["list"].compare(results["source"])._repr_html_()
    assert re.search(r"schedule</td>\s*<td[^>]*>source</td>\s*<td[^>]*>list</td>", page)
    advice = smmux.advise(row_sum, GRID, BLOCK, arguments(), "GTX285", jobs=1)
    assert str(advice).splitlines()[0].endswith(f"{results['list'].cycles:,} cycles, schedule list")


def test_one_place_knows_the_default() -> None:
    """Nothing that runs a kernel has a schedule of its own: `Kernel` asks the machine."""
    for function in (Kernel.simulate, Kernel.compile, smmux.advise):
        assert inspect.signature(function).parameters["schedule"].default is None


@pytest.mark.checkout
def test_no_file_has_a_schedule_as_its_default() -> None:
    """Options of the compiler name no machine."""
    root = Path(smmux.__file__).parents[1]
    files = [path for folder in ("smmux", "experiments") for path in sorted((root / folder).rglob("*.py"))]
    found = {
        path.relative_to(root).as_posix()
        for path in files
        if re.search(r"""schedule: str(?: \| None)? = (?:field\(default=)?["']\w""", path.read_text(encoding="utf-8"))
    }
    assert found == {"smmux/compiler/options.py"}


@cuda.jit
def many(a):
    """It holds 40 values at a time, whatever the order of its instructions."""
    i = cuda.grid(1)
    own = cuda.local.array(40, float32)
    for k in range(40):
        own[k] = a[k, i]
    for k in range(40):
        a[39 - k, i] = own[k]


def test_a_kernel_has_the_registers_that_it_needs_unless_blocks_are_asked_for() -> None:
    """On GTX480 32768 registers are enough for 3 blocks of 256 threads with 41 or 42 of them; 6 have 20 at most."""
    values = np.arange(40 * 1024, dtype=np.float32).reshape(40, 1024)
    machine = gpus.get("GTX480-48K")

    def run(**options: Any) -> Any:
        a = values.copy()
        result = many.simulate(4, 256, (a,), machine, **options)
        np.testing.assert_array_equal(a, values[::-1])
        return result

    for schedule in (None, "source", "list"):
        free = run(schedule=schedule)
        assert free.program.nregs > 40
        assert free.program.local_bytes == 0
        assert (free.residency, free.limiter) == (3, "registers")
    assert run(max_registers=63).counters == run().counters
    for blocks in (1, 3, 4, 6):
        asked = run(min_blocks=blocks)
        most = registers_for(machine, 256, blocks)
        assert asked.residency >= blocks
        assert asked.program.nregs <= most
        assert (asked.program.local_bytes > 0) == (blocks > 3)
        compiled = many.compile((values,), machine, grid=4, block=256, min_blocks=blocks)
        assert compiled.code.tobytes() == asked.program.code.tobytes()
        assert run(max_registers=most).counters == asked.counters
    assert run(min_blocks=4, max_registers=16).program.nregs <= 16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_blocks": 0}, "min_blocks = 0 is outside 1..255"),
        ({"min_blocks": 1.5}, "min_blocks"),
        (
            {"min_blocks": 50},
            "min_blocks=50: GTX285 has 16384 registers on an SM, too few for so many blocks of 256 threads",
        ),
    ],
)
def test_a_number_of_blocks_without_meaning_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        many.simulate(1, 256, (np.ones((40, 256), np.float32),), "GTX285", **options)


def test_a_number_of_blocks_needs_their_size() -> None:
    with pytest.raises(ConfigError, match="min_blocks needs the block of a launch"):
        many.compile((np.ones((40, 256), np.float32),), min_blocks=2)


def test_the_command_line_asks_for_blocks(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        f"{file}:row_sum",
        "--grid",
        "2",
        "--block",
        "32",
        "--json",
        f"float32[{ROWS},{COLUMNS}]",
        f"float32[{ROWS}]",
    ]
    found = {}
    for option in ([], ["--max-registers", "16"], ["--min-blocks", "8"]):
        assert main(["run", *words, "--gpu", "GTX285", *option]) == 0
        found[tuple(option[:1])] = json.loads(capsys.readouterr().out)["registers"]
    assert found["--max-registers",] <= 16 < found[()]
    assert found["--min-blocks",] <= registers_for(gpus.get("GTX285"), 32, 8)
