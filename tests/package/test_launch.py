"""Launching programs: values in place, checks against the machine, faults with their place in the source."""

import itertools
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from smmux import (
    ConfigError,
    CycleLimitError,
    LaunchError,
    OutOfBoundsError,
    cuda,
    gpus,
)
from smmux.machines.occupancy import register_budget, static_reserved
from smmux.running.launch import launch
from smmux.running.launch_options import complete
from tests.package import programs


def run(program, args, grid=1, block=32, gpu="GTX285", **options):
    return launch(program, args, grid, block, gpu, **options)


def test_arrays_are_written_in_place():
    out = np.zeros(64, np.int32)
    result = run(programs.store_tid(), (out, 10), block=64)
    assert out.tolist() == list(range(10, 74))
    assert result.cycles > 0
    assert result["instructions"] == 2 * 4
    assert result["global_stores"] == 2
    assert result["global_bytes"] == 64 * 4


def test_a_window_of_an_array_is_written_where_it_lies():
    whole = np.full((4, 32), -1, np.int32)
    run(programs.store_tid(), (whole[2], 0))
    assert whole[2].tolist() == list(range(32))
    assert (np.delete(whole, 2, axis=0) == -1).all()


def test_the_current_machine_is_used():
    with gpus.set_current("GTX480-48K"):
        result = launch(programs.store_tid(), (np.zeros(32, np.int32), 0), 1, 32)
    assert result.gpu.name == "GTX480-48K"


def test_out_of_bounds_names_array_element_thread_block_and_line():
    with pytest.raises(OutOfBoundsError) as caught:
        run(programs.store_tid(scale=8), (np.zeros((4, 10), np.int32), 0))
    error = caught.value
    assert (error.kernel, error.filename, error.line, error.array) == ("kernel", "kernel.py", 5, "p0")
    assert error.thread == (20, 0, 0)
    assert error.block == (0, 0, 0)
    assert error.element == "flat index 40 of shape (4, 10)"
    assert isinstance(error, IndexError)
    for part in ("array 'p0'", "flat index 40", "thread (20, 0, 0)", "block (0, 0, 0)", "kernel.py:5", "'kernel'"):
        assert part in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_misaligned_access_names_the_byte():
    with pytest.raises(OutOfBoundsError, match=re.escape("byte 2 of shape (32,), block (0, 0, 0), thread (1, 0, 0)")):
        run(programs.store_tid(scale=2), (np.zeros(32, np.int32), 0))


def test_storing_to_a_read_only_array_is_refused():
    array = np.zeros(32, np.int32)
    array.flags.writeable = False
    with pytest.raises(OutOfBoundsError, match="read-only array, array 'p0', flat index 0 of shape"):
        run(programs.store_tid(), (array, 0))
    assert not array.any()


def test_a_spinning_kernel_meets_the_cycle_limit():
    with pytest.raises(CycleLimitError, match="cycle limit reached"):
        run(programs.spin(), (), max_cycles=10_000)


@pytest.mark.parametrize(
    ("gpu", "grid", "block", "message"),
    [
        ("GTX285", 1, 513, "x is 513, GTX285 allows 512"),
        ("GTX285", 1, (32, 32), "has 1024 threads, GTX285 allows 512"),
        ("GTX285", 1, (1, 1, 65), "z is 65, GTX285 allows 64"),
        ("GTX285", 65536, 32, "x is 65536, GTX285 allows 65535"),
        ("GTX285", (1, 1, 2), 32, "grid (1, 1, 2): grids on GTX285 (compute capability 1.x) have two dimensions"),
        ("GTX480-48K", (1, 65536), 32, "y is 65536, GTX480-48K allows 65535"),
        ("GTX480-48K", 1, 1025, "x is 1025, GTX480-48K allows 1024"),
    ],
)
def test_sizes_beyond_the_machine_are_refused(gpu, grid, block, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        run(programs.store_tid(), (np.zeros(2048, np.int32), 0), grid, block, gpu)


@pytest.mark.parametrize(
    ("facts", "block", "message"),
    [
        (
            {"shared_bytes": 16384},
            32,
            "needs 16400 bytes of shared memory (static and dynamic arrays 16384, parameters and built-ins 16)",
        ),
        ({"shared_bytes": 8192, "dynamic_bytes": 8200}, 32, "needs 16408 bytes of shared memory"),
        ({"nregs": 125}, 32, "uses 125 registers, GTX285 allows 124"),
        ({"nregs": 64}, 512, "512 threads with 64 registers each has no room on an SM of GTX285, which has 16384"),
        ({"nregs": 34}, 480, "compile it with max_registers=32, or launch smaller blocks"),
    ],
)
def test_kernels_too_large_for_the_machine_are_refused(facts, block, message):
    asm = programs.Assembler()
    asm("exit", 1)
    with pytest.raises(LaunchError, match=re.escape(message)) as caught:
        run(asm.program((), **facts), (), block=block)
    assert (caught.value.kernel, caught.value.filename, caught.value.line) == ("kernel", "kernel.py", None)
    assert "kernel.py" not in str(caught.value), "a program without a line has no place to show"


def test_a_refused_launch_is_said_of_the_kernels_line():
    program = replace(programs.store_tid(), nregs=125, line=3)
    with pytest.raises(LaunchError, match=r"uses 125 registers.*, at kernel.py:3, in kernel 'kernel'"):
        run(program, (np.zeros(32, np.int32), 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"management": "co"}, "management must be one of static, dynamic, "),
        ({"management": "dynamic", "max_waiting": 2}, "max_waiting needs management='throttled'"),
        ({"extra_blocks": 1}, "extra_blocks needs management='dynamic'"),
        ({"management": "dynamic", "extra_blocks": -1}, "extra_blocks = -1 is outside 0..255"),
        ({"max_cycles": 0}, "max_cycles = 0 is outside 1.."),
        ({"window": 0.5}, "window must be an integer, not 0.5"),
        ({"host_threads": 0}, "host_threads = 0 is outside 1..64"),
        ({"gpu": "GTX999"}, "unknown gpu 'GTX999'"),
    ],
)
def test_options_without_meaning_are_refused(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        run(programs.store_tid(), (np.zeros(32, np.int32), 0), **options)


@pytest.mark.parametrize("host_threads", [1, 2])
@pytest.mark.parametrize("window", [0, 1, 8, 32])
def test_windows_and_host_threads_do_not_matter(window, host_threads):
    out = np.zeros(64, np.int32)
    plain = run(programs.store_tid(), (out, 1), grid=90, block=64)
    other = run(programs.store_tid(), (out, 1), grid=90, block=64, window=window, host_threads=host_threads)
    assert other == plain


def test_threads_may_simulate_at_once():
    def once(offset):
        out = np.zeros(64, np.int32)
        result = run(programs.store_tid(), (out, offset), grid=60, block=64)
        return out[0], result

    alone = once(0)[1]
    with ThreadPoolExecutor(4) as pool:
        for offset, (value, result) in enumerate(pool.map(once, range(40))):
            assert value == offset
            assert result == alone


def test_results_survive_pickling():
    result = run(programs.store_tid(), (np.zeros(32, np.int32), 0), profile=True)
    copy = pickle.loads(pickle.dumps(result))
    assert copy == result
    assert copy.to_dict() == result.to_dict()
    assert copy.lines() == result.lines()


def test_parameters_count_as_shared_memory_on_compute_capability_1():
    program = programs.store_tid()
    assert static_reserved(program, gpus.get("GTX285")) == 16 + 8 + 4
    assert static_reserved(program, gpus.get("GTX285").replace(pointer_bytes=4)) == 16 + 4 + 4
    assert static_reserved(program, gpus.get("GTX480-48K")) == 0


@pytest.mark.parametrize("name", gpus.names())
def test_register_budget_is_the_largest_that_lets_more_blocks_reside(name):
    for sizes in itertools.product((0, 540, 4268, 8736, 16000), (32, 64, 128, 256), (0, 3)):
        check_register_budget(gpus.get(name), *sizes)


def check_register_budget(gpu, shared, threads, extra):
    asm = programs.Assembler()
    asm("exit")
    program = asm.program((), shared_bytes=shared)
    budget = register_budget(program, gpu, threads, extra)

    def fits(count):
        """Blocks that registers allow, by the formulas of the occupancy calculator."""
        warps = -(-threads // 32)
        if gpu.reg_alloc_warp:
            per_warp = -(-count * 32 // gpu.reg_unit) * gpu.reg_unit
            return gpu.regs_sm // per_warp // gpu.warp_gran * gpu.warp_gran // warps
        padded = -(-warps // gpu.warp_gran) * gpu.warp_gran
        return gpu.regs_sm // (-(-padded * count * 32 // gpu.reg_unit) * gpu.reg_unit)

    held = shared + gpu.smem_reserved
    warps = -(-threads // 32)
    others = min(gpu.max_blocks_sm, gpu.max_warps_sm // warps, gpu.max_threads_sm // (32 * warps))
    by_smem = (
        gpu.smem_bytes // (-(-held // max(gpu.smem_unit, gpu.smm_unit)) * max(gpu.smem_unit, gpu.smm_unit))
        if held
        else others
    )
    wanted = min(min(by_smem, others) + extra, others)
    assert fits(budget) >= wanted
    assert budget == gpu.max_regs_thread or fits(budget + 1) < wanted


def test_result_as_data():
    result = run(programs.store_tid(), (np.zeros(32, np.int32), 0), grid=(2, 3))
    data = json.loads(result.to_json())
    assert data == json.loads(json.dumps(result.to_dict()))
    assert data["grid"] == [2, 3, 1]
    assert data["cycles"] == result.cycles == data["counters"]["cycles"]
    assert data["time_us"] == pytest.approx(result.cycles / 1476)
    assert data["gpu"] == "GTX285"
    assert data["limiter"] == "blocks"
    assert dict(result) == data["counters"]
    table = result.to_pandas()
    assert table.loc["instructions", "value"] == result["instructions"]
    assert (
        repr(result)
        == f"<Result kernel on GTX285: {result.cycles} cycles, {result.time_us:.2f} us, 8 blocks per SM (blocks)>"
    )


def test_a_profiled_result_comes_back_from_json_and_achieved_residency_is_measured():
    """Six blocks on 30 SMs that each could hold eight."""
    result = run(programs.store_tid(), (np.zeros(32, np.int32), 0), grid=6, profile=True)
    assert json.loads(result.to_json()) == result.to_dict()
    assert result.residency == 8
    assert result.achieved_residency == result["block_cycles"] / (30 * result.cycles)
    assert 0 < result.achieved_residency <= 6 / 30
    assert "profile=True" not in result._repr_html_()
    assert "profile=True" in run(programs.store_tid(), (np.zeros(32, np.int32), 0))._repr_html_()


def test_counters_per_line_and_instruction_add_up():
    result = run(programs.store_tid(), (np.zeros(64, np.int32), 0), block=64, profile=True)
    lines = result.lines()
    assert list(lines) == [3, 4, 5, 6]
    assert [lines[line]["issued"] for line in lines] == [2, 2, 2, 2]
    assert sum(values["threads"] for values in lines.values()) == result["thread_instructions"]
    assert lines[5]["bytes"] == result["global_bytes"]
    records = result.instructions()
    assert [record["op"] for record in records] == ["mad.lo.s32", "add.s32", "st.global", "exit"]
    assert [record["issued"] for record in records] == [2, 2, 2, 2]


def test_without_profile_there_are_no_lines():
    result = run(programs.store_tid(), (np.zeros(32, np.int32), 0))
    for ask in (result.lines, result.line_time):
        with pytest.raises(ConfigError, match="not profiled; use simulate.*profile=True"):
            ask()
    assert "issued" not in result.instructions()[0]


def test_schedulers_time_is_accounted_for():
    result = run(programs.store_tid(), (np.zeros(64, np.int32), 0), block=64)
    assert sum(result.stalls.values()) == pytest.approx(1.0)
    assert result["scheduler_cycles"] == 30 * result.cycles


def test_comparison_shows_what_differs():
    few, many = (run(programs.store_tid(), (np.zeros(64, np.int32), 0), grid=n, block=64) for n in (1, 60))
    comparison = many.compare(few)
    assert comparison.speedup == pytest.approx(few.cycles / many.cycles)
    assert (many - few)["blocks"] == 59
    assert ("blocks", "blocks", 1, 60) in comparison.rows()
    assert "speedup" in str(comparison)
    assert "<td>blocks</td>" in comparison._repr_html_()
    assert few.compare(few).rows() == []


def test_html_escapes_and_shows_every_counter():
    program = replace(programs.store_tid(), name="<script>")
    result = run(program, (np.zeros(32, np.int32), 0), profile=True)
    page = result._repr_html_()
    assert [name for name in result if f"<td>{name}</td>" not in page] == []
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert [line for line in result.lines() if f"<td>{line}</td>" not in page] == []


def test_wrong_names_are_told_with_the_right_ones():
    result = launch(programs.store_tid(), (np.zeros(32, np.int32), 1), 1, 32, "GTX285")
    with pytest.raises(KeyError, match="there is no counter 'cylces'; did you mean 'cycles'"):
        result["cylces"]
    assert result.get("cylces") is None
    with pytest.raises(ConfigError, match="no option 'managment'; did you mean 'management'"):
        kernel_with_options(managment="dynamic")
    with pytest.raises(ConfigError, match="no option 'dynamic_shared'; did you mean 'dynshared'"):
        kernel_with_options(dynamic_shared=64)
    with pytest.raises(ConfigError, match="no option 'dynshared'; did you mean 'dynamic_shared'"):
        complete({"dynshared": 64})


def kernel_with_options(**options):
    @cuda.jit
    def kernel(a):
        a[0] = 1.0

    return kernel.simulate(1, 32, (np.zeros(1, np.float32),), **options)
