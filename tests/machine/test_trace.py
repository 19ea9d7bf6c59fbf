"""The recorded time line changes nothing, adds up to the counters, and does not depend on how the host runs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import KernelZeroDivisionError, benchmarks, cuda, float32, gpus, smm
from smmux.__main__ import main
from smmux.results.result import Result
from smmux.trace import KINDS, SAMPLE, Trace

from .assembler import Assembler

ROWS = 24


@cuda.jit
def staged(a, b):
    """Two uses of dynamic shared memory, with work between them."""
    tile = smm.array((ROWS, 64), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    smm.alloc()
    for row in range(ROWS):
        tile[row, t] = a[(i * 37 + row * 1999) % a.size]
    cuda.syncthreads()
    total = float32(0)
    for row in range(ROWS):
        total += tile[row, 63 - t]
    smm.release()
    for _ in range(20):
        total = total * float32(0.5) + float32(1)
    if t < 40:
        b[i] = total


def run(blocks: int = 150, gpu: str = "GTX285", trace: Any = 5000, **options: Any) -> Result:
    args = np.arange(20000, dtype=np.float32), np.zeros(64 * blocks, np.float32)
    given = {"management": "dynamic", "extra_blocks": 2, **options}
    return staged.simulate(blocks, 64, args, gpu=gpu, trace=trace, **given)


def trace_of(result: Result) -> Trace:
    assert result.trace is not None
    return result.trace


@pytest.fixture(scope="module", params=["GTX285", "GTX480-16K", "GTX285-1100"])
def result(request: pytest.FixtureRequest) -> Result:
    return run(gpu=request.param)


def test_events_add_up_to_the_counters(result: Result) -> None:
    trace = trace_of(result)
    kinds, warps = trace.kinds(), result["warps"]
    assert not trace.lost
    assert kinds["block_come"] == kinds["block_place"] == kinds["block_start"] == kinds["block_end"] == result["blocks"]
    assert kinds["warp_exit"] == warps
    assert kinds["barrier_complete"] == result["barriers"]
    assert kinds["barrier_arrive"] == 2 * result["barriers"]
    allocations = trace.allocations()
    assert kinds["alloc_ask"] == kinds["alloc_grant"] == kinds["alloc_release"] == len(allocations)
    assert len(allocations) == result["allocations"]
    assert sum(a.grant > a.ask for a in allocations) == result["allocation_waits"] > 0
    assert sum(a.grant - a.ask for a in allocations) == result["allocation_wait_cycles"]
    assert sum(a.release - a.grant for a in allocations) == result["region_cycles"]
    assert sum(stay.end - stay.start for stay in trace.blocks()) == result["block_cycles"]
    assert max(stay.end for stay in trace.blocks()) == result.cycles


def test_samples_add_up_to_the_counters(result: Result) -> None:
    trace = trace_of(result)
    for name in trace.samples.dtype.names or ():
        if name in result.counters:
            assert trace.samples[name].sum() == result[name], name
    for name in ("row_hits", "row_misses", "row_conflicts", "reads", "writes", "activates"):
        assert trace.channels[name].sum() == result[f"dram_{name}"], name
    assert result["dram_activates"]
    assert trace.samples["cycle"].max() == result.cycles


def test_no_byte_is_held_twice(result: Result) -> None:
    """Entries of the table lie within the memory and apart, and add up to what a sample sees."""
    trace = trace_of(result)
    for sm in range(3):
        held = [(a.grant, a.release, a.address, a.bytes) for a in trace.allocations() if a.sm == sm]
        held += [(s.place, s.end, s.address, s.bytes) for s in trace.blocks() if s.sm == sm and s.bytes]
        for begin, end, at, count in held:
            assert 0 <= at <= at + count <= result.gpu.smem_bytes
            for other in held:
                apart = other[2] >= at + count or at >= other[2] + other[3]
                assert apart or other[0] >= end or begin >= other[1] or other == (begin, end, at, count)
        cycles, values = trace.shared(int(sm))
        assert values.min() >= 0
        assert values.max() <= result.gpu.smem_bytes
        assert values[-1] == 0
        for row in trace.samples[trace.samples["sm"] == sm]:
            place = int(np.searchsorted(cycles, row["cycle"])) - 1  # events of that very cycle come later
            if row["cycle"] < result.cycles and row["cycle"] % row["interval"] == 0:
                assert row["held_bytes"] == (values[place] if place >= 0 else 0)


def test_who_waited_was_served_when_another_one_gave_its_memory_back(result: Result) -> None:
    trace = trace_of(result)
    released = {(a.sm, a.block, a.release) for a in trace.allocations()}
    ended = {(stay.sm, stay.block, stay.end) for stay in trace.blocks()}
    for a in trace.allocations():
        assert (a.granted_by is None) == (a.grant == a.ask)
        if a.granted_by is not None:
            assert (a.sm, a.granted_by, a.grant) in released | ended


@pytest.mark.quick
@pytest.mark.parametrize("most", [True, 60, 5000])
@pytest.mark.parametrize("options", [{"window": 1}, {"window": 7}, {"host_threads": 3}, {"check": "races"}])
def test_how_the_host_runs_changes_nothing(options: dict[str, Any], most: Any) -> None:
    plain, other = run(90, trace=most), run(90, trace=most, **options)
    for name in ("events", "samples", "channels", "lost"):
        mine, theirs = getattr(trace_of(plain), name), getattr(trace_of(other), name)
        assert np.array_equal(mine, theirs), name


@pytest.mark.parametrize("most", [True, 2, 50])
def test_a_trace_changes_no_counter(most: Any) -> None:
    plain = run(90, trace=False)
    assert plain.trace is None
    assert run(90, trace=most).counters == plain.counters


def long_program(gpu: str, **options: Any) -> Result:
    """A run that misses in the first level of instructions all the time; its outputs are checked."""
    fft = benchmarks.get("FFT")
    problem = fft.problem({"batch": 60})
    arguments = problem.arguments()
    result = fft.kernel().simulate(problem.grid, problem.block, arguments, gpu=gpu, **options)
    problem.check(arguments)
    return result


@pytest.mark.parametrize("gpu", ["GTX285", "K20c"])
def test_intervals_do_not_pass_over_answers_of_the_second_level_of_instructions(gpu: str) -> None:
    plain, traced = (long_program(gpu, trace=trace) for trace in (False, 5000))
    assert plain["icache2_hits"]
    assert plain.counters == traced.counters


@pytest.mark.parametrize("gpu", ["GTX480-16K", "K20c"])
def test_samples_have_what_the_second_level_of_instructions_sends_for_the_sm(gpu: str) -> None:
    """Where there is no third level, lines come through the SM's port when all that share the second have asked."""
    result = long_program(gpu, trace=50)
    assert result["icache2_misses"]
    assert trace_of(result).samples["transactions"].sum() == result["transactions"]
    for window in (1, 7):
        assert np.array_equal(trace_of(long_program(gpu, trace=50, window=window)).samples, trace_of(result).samples)


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_an_interval_that_the_grid_ends_in_has_room_whatever_the_window(gpu: str) -> None:
    """Programs of which some fill a bounded time line with their last interval; windows may reach beyond the end."""
    intervals = set()
    for count in range(80, 130):
        program = Assembler()
        for _ in range(count):
            program("add.s32", d=0, a=0, b=program.imm(1))
        program("exit")
        first, *others = (program.run(gpu, trace=1, window=window)["trace"]["samples"] for window in (0, 1, 20))
        assert others == [first, first], count
        intervals.add(int(np.frombuffer(first, SAMPLE)["interval"][0]))
    assert intervals == {64, 128}, "no time line was full"


def test_what_the_last_block_leaves_shows_when_it_ends_whatever_the_window() -> None:
    """A launch that ends long after its last block, as those do that have used memory."""
    machine = gpus.get("GTX480-16K").replace(launch_end=8_000)
    for count in range(0, 130, 5):
        program = Assembler()
        program("mov.b32", d=2, a=program.param(0))
        program("ld.global", d=1, a=2, width=4, aux=0)
        for _ in range(count):
            program("nop")
        program("exit")
        runs = (
            program.run(machine, trace=1, window=window, buffers=[np.zeros(32, np.float32)]) for window in (0, 1, 3)
        )
        first, *others = (run["trace"]["samples"] for run in runs)
        assert others == [first] * 2, count


@pytest.mark.parametrize("gpu", ["GTX285", "GTX480-16K"])
def test_the_last_sample_ends_with_the_grid_and_begins_where_the_one_before_ends(gpu: str) -> None:
    ends: Counter[bool] = Counter()
    for count in range(80):
        program = Assembler()
        for _ in range(count):
            program("nop")
        program("exit")
        found = program.run(gpu, trace=1)
        samples, cycles = np.frombuffer(found["trace"]["samples"], SAMPLE), found["counters"]["cycles"]
        samples = samples[samples["sm"] == 0]
        begins = samples["cycle"] - samples["interval"]
        assert (begins % 64 == 0).all()
        assert (begins[1:] >= samples["cycle"][:-1]).all()
        assert samples["cycle"][-1] == cycles
        ends[cycles % 64 == 0] += 1
    assert ends[True]
    assert ends[False]


@pytest.mark.parametrize("most", [True, 2, 30, 100])
def test_what_finds_no_room_is_left_out_as_a_whole(most: Any) -> None:
    result = run(250, trace=most)
    trace, all_of_it = trace_of(result), trace_of(run(250, trace=5000))
    assert len(trace.events) + trace.lost <= len(all_of_it.events)  # a block that is left out asks for no more room
    kinds = trace.kinds()
    assert kinds["block_come"] == kinds["block_end"] == kinds["warp_exit"] / 2
    assert kinds["alloc_ask"] == kinds["alloc_release"] == len(trace.allocations())
    assert trace.samples["instructions"].sum() == result["instructions"]
    known = Counter(row.tobytes() for row in all_of_it.events)
    assert not Counter(row.tobytes() for row in trace.events) - known
    if most is not True:
        assert trace.lost
        assert len(trace.events) <= most * result.gpu.sm_count


def test_a_bounded_trace_takes_a_byte_per_instruction_beyond_its_floor() -> None:
    @cuda.jit
    def long(a):
        for _ in range(2500):
            cuda.syncthreads()
        a[cuda.grid(1)] = 1

    result = long.simulate(3, 128, (np.zeros(384, np.float32),), gpu="GTX285", trace=True)
    trace = trace_of(result)
    assert trace.lost
    assert trace.nbytes <= result["instructions"] + 3 * 11 * 1024 + 30 * 4 + trace.channels.size * 64
    assert trace.samples["interval"].max() > 64
    assert trace.samples["instructions"].sum() == result["instructions"]


def slices(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[str, float, float]]]:
    """What an independent reader makes of B and E events: slices by track, closed in the order of a stack."""
    stacks: dict[tuple[int, int], list[tuple[str, float]]] = defaultdict(list)
    found: dict[tuple[int, int], list[tuple[str, float, float]]] = defaultdict(list)
    last = 0.0
    for event in events:
        if event["ph"] in "BE":
            assert event["ts"] >= last
            last = event["ts"]
            track = event["pid"], event["tid"]
            if event["ph"] == "B":
                stacks[track].append((event["name"], event["ts"]))
            else:
                name, begin = stacks[track].pop()
                assert name == event["name"]
                assert event["ts"] > begin
                found[track].append((name, begin, event["ts"]))
    assert not any(stacks.values())
    return found


FIELDS = {"B": {"name", "ts", "pid", "tid"}, "E": {"ts", "pid", "tid"}, "C": {"name", "ts", "pid", "args"},
          "M": {"name", "pid", "args"}, "s": {"name", "cat", "id", "ts", "pid", "tid"},
          "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"}}  # fmt: skip
"""The fields that the trace event format asks for."""


def test_the_file_is_what_the_format_says(tmp_path: Path) -> None:
    result = run(90, trace=True)
    trace = trace_of(result)
    trace.to_perfetto(tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    for event in events:
        assert FIELDS[event["ph"]] <= event.keys()
        assert event["ph"] == "M" or 0 <= event["ts"] <= result.time_us * 1.001 + 1
    found = slices(events)
    names = Counter(name.split(" ")[0] for track in found.values() for name, _, _ in track)
    assert names["block"] == result["blocks"]
    assert names["warp"] == result["warps"]
    assert names["holds"] == result["allocations"]
    processes = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert processes == {*(f"SM {sm}" for sm in range(result.gpu.sm_count)), "DRAM"}
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(found) <= named
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    assert len(starts) == sum(a.granted_by is not None for a in trace.allocations()) > 0
    for number, start in starts.items():
        end = ends[number]
        assert start["ts"] == end["ts"]
        left = [s for s in found[start["pid"], start["tid"]] if s[1] < start["ts"] <= s[2]]
        met = [s for s in found[end["pid"], end["tid"]] if s[0].startswith("holds") and s[1] == end["ts"]]
        assert left
        assert len(met) == 1
    used = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "shared memory in use"]
    assert 0 < max(used) <= result.gpu.smem_bytes


def test_as_a_table_and_in_a_notebook() -> None:
    trace = trace_of(run(40))
    table = trace.to_pandas()
    assert table["kind"].value_counts().to_dict() == trace.kinds()
    assert all(name in trace._repr_html_() for name, count in trace.kinds().items() if count)
    assert "events" in repr(trace)
    assert list(KINDS) == list(trace.kinds())


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "from smmux import cuda\n\n@cuda.jit\ndef k(a):\n    a[cuda.grid(1)] = 1\n"
    (tmp_path / "k.py").write_text(source)
    words = ["run", f"{tmp_path}/k.py:k", "--grid", "3", "--block", "32", "--trace"]
    assert main([*words, f"{tmp_path}/out.json", "float32[96]"]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["otherData"]["kernel"] == "k"
    for option in ("--trace", "--html"):
        place = f"{tmp_path}/none/out.json"
        assert main([*words[:-1], option, place, "no argument"]) == 1
        assert capsys.readouterr().err == f"error: {place} cannot be written: there is no folder {tmp_path}/none\n"


def test_flat_memory_has_no_channels() -> None:
    flat = gpus.get("GTX285").replace(name="flat", mem_model=0)
    result = staged.simulate(4, 64, (np.zeros(100, np.float32), np.zeros(256, np.float32)), gpu=flat, trace=True)
    assert len(trace_of(result).channels) == 0
    assert trace_of(result).kinds()["block_end"] == 4


@cuda.jit
def divides_late(out, rounds, zero):
    total = 0
    for i in range(rounds):
        total += i ^ rounds
    out[cuda.threadIdx.x] = total // zero


def test_a_fault_ends_a_traced_run_wherever_in_an_interval_it_happens():
    """The fault is the last that its SM does; the schedulers' next choice may lie behind the interval."""
    for rounds in range(0, 60, 3):
        with pytest.raises(KernelZeroDivisionError):
            divides_late.simulate(1, 32, (np.zeros(32, np.int32), rounds, 0), gpu="GTX285", trace=True)
