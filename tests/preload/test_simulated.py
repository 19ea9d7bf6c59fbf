"""Kernels of the paper on machines that fetch what the analyzer found: the same values, and lines that add up."""

import dataclasses
import itertools

import numpy as np
import pytest

from experiments.programs.one_pass import mma
from experiments.programs.stencils import jacobi
from smmux import ConfigError, LaunchError, gpus, policies, preload
from tests.preload.paper_kernels import CASES, TILE, N, image

MACHINES = ("GTX285", "GTX480-16K", "K20c")


def outputs(args):
    return [arg.tobytes() for arg in args if isinstance(arg, np.ndarray)]


def simulated(case, gpu, table=None):
    """Outputs and result of a run with arguments of its own."""
    args = case.make()
    result = case.kernel.simulate(case.grid, case.block, args, gpu=gpu, preload=table)
    return outputs(args), result


@pytest.mark.quick
@pytest.mark.parametrize("gpu", MACHINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_are_those_without_a_table_and_lines_are_those_of_the_table(case, gpu):
    analysis = preload.analyze(case.kernel, case.grid, case.block, case.make())
    values, plain = simulated(case, gpu)
    roomy = gpus.get(gpu).replace(smem_bytes=262144)
    for policy in ("hold", "lines"):
        found, result = simulated(case, roomy.replace(preload_policy=policy), analysis.table)
        assert found == values
        blocks = itertools.product(*map(range, analysis.grid))
        assert result["preload_lines"] == sum(len(analysis.table.lines(block, 128)) for block in blocks)
        assert result["preload_packets"] == result["preload_lines"]
        assert result["preload_unfit"] == result["preload_refused"] == result["preload_overflow"] == 0
        assert result["instructions"] == plain["instructions"]
        assert result["global_loads"] == plain["global_loads"]
        kinds = {read.array: read.kind for read in analysis.reads if read.preloaded}
        mixed = any(read.kind == "non-precalculable" and read.array in kinds for read in analysis.reads)
        assert mixed or result["preload_misses"] == 0
        assert (result["preload_hits"] + result["preload_waits"] > 0) == bool(analysis.table.entries)


@pytest.mark.parametrize("gpu", MACHINES)
def test_values_do_not_hang_on_what_fits(gpu):
    case = next(case for case in CASES if case.name == "JAC")
    table = preload.analyze(case.kernel, case.grid, case.block, case.make()).table
    values, _ = simulated(case, gpu)
    for policy, wait, size in itertools.product(policies.names("preload"), (0, 1), (1024, 4096, 7000)):
        machine = gpus.get(gpu).replace(sm_count=2, smem_bytes=size, preload_policy=policy, preload_wait=wait)
        found, result = simulated(case, machine, table)
        assert found == values
        assert result["preload_blocks"] + result["preload_unfit"] == (0 if policy == "off" else result["blocks"])
        assert size > 1024 or result["preload_blocks"] == 0


def test_a_table_is_that_of_its_launch():
    args = image(), image(), image(), N
    table = preload.analyze(mma, (4, 4), TILE, args).table
    with pytest.raises(LaunchError, match="table is that of kernel 'mma', not of 'jacobi'"):
        jacobi.simulate((4, 4), TILE, (image(), image(), N, 0.5, 0.3, 0.2), preload=table)
    with pytest.raises(LaunchError, match="was made for other arrays"):
        mma.simulate((4, 4), TILE, (np.zeros(N * N + 1, np.float32), *args[1:]), preload=table)
    with pytest.raises(ConfigError, match=r"preload must be None or a smmux\.preload\.Table, not 'all'"):
        mma.simulate((4, 4), TILE, args, preload="all")


def test_entries_that_a_table_has_dropped_are_told():
    args = image(), image(), image(), N
    table = preload.analyze(mma, (4, 4), TILE, args).table
    fewer = dataclasses.replace(table, entries=table.entries[:20], dropped=12)
    assert mma.simulate((4, 4), TILE, args, preload=fewer)["preload_overflow"] == 12
    small = gpus.get("GTX285").replace(preload_entries=5)
    result = mma.simulate((4, 4), TILE, args, gpu=small, preload=fewer)
    assert result["preload_overflow"] == 12 + 15
    assert result["preload_misses"] > 0


def test_ends_beyond_64_bits_are_refused():
    args = image(), image(), image(), N
    table = preload.analyze(mma, (4, 4), TILE, args).table
    far = preload.Entry(0, 4, (1 << 62, 0, 0, 0), (1 << 62, 0, 0, 0))
    with pytest.raises(LaunchError, match="ends beyond 64 bits"):
        mma.simulate((4, 4), TILE, args, preload=dataclasses.replace(table, entries=(far,)))
