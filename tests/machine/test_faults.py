"""What goes wrong in a kernel is named: error class, line, block and thread; and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from smmux import errors

from .assembler import CTAID_X, LANEID, TID_X, Assembler, variant

GRID = {"grid": (5, 1, 1), "block": (64, 1, 1)}


def only(a: Assembler, block: int, thread: int) -> None:
    """p0 = this thread, numbered over the grid, is `thread` of `block`."""
    a("mad.lo.s32", d=15, a=CTAID_X, b=a.imm(64), c=TID_X)
    a("setp.eq.s32", d=0, a=15, b=a.imm(64 * block + thread))


def raised(build: Callable[[Assembler], None], error: type[Exception], **options: int) -> errors.KernelError:
    a = Assembler()
    build(a)
    a("exit")
    x = np.zeros(64, np.int32)
    with pytest.raises(error) as caught:
        a.run("GTX285", buffers=(x,), **GRID, **options)
    assert isinstance(caught.value, errors.KernelError)
    return caught.value


@pytest.mark.parametrize(("space", "buffer"), [("global", {"aux": 0}), ("shared", {}), ("local", {}), ("const", {})])
@pytest.mark.parametrize("beyond", [0, 1 << 20, -4])
def test_access_outside(space: str, buffer: dict[str, int], beyond: int) -> None:
    size = 256

    def build(a: Assembler) -> None:
        only(a, 3, 41)
        a("mov.b32", d=0, a=a.param(0) if space == "global" else a.imm(0))
        a("mov.b32", guard=0, d=1, a=a.imm(size if beyond == 0 else beyond))
        a("add.s32", d=0, a=0, b=1)
        a(f"ld.{space}", d=2, a=0, width=4, **buffer)

    error = raised(build, errors.OutOfBoundsError, shared=size, local=size, const=bytes(size))
    assert (error.block, error.thread, error.line) == ((3, 0, 0), (41, 0, 0), 6)


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_misaligned(width: int) -> None:
    def build(a: Assembler) -> None:
        a("mov.b32", d=0, a=a.imm(width // 2))
        a("st.shared", d=1, b=2, c=3, q=4, a=0, width=width)

    assert raised(build, errors.OutOfBoundsError, shared=256).line == 2


@pytest.mark.parametrize("op", ["div.s32", "div.u32", "rem.s32", "rem.u32"])
def test_division_by_zero(op: str) -> None:
    def build(a: Assembler) -> None:
        a("sub.s32", d=0, a=TID_X, b=a.imm(37))
        a(op, d=1, a=a.imm(5), b=0)

    error = raised(build, ZeroDivisionError)
    assert (error.thread, error.line) == ((37, 0, 0), 2)


def test_barrier_in_divergent_code() -> None:
    def build(a: Assembler) -> None:
        a("setp.lt.s32", d=0, a=LANEID, b=a.imm(7))
        a("bra", guard=0, guard_not=True, imm=3, aux=3)
        a("bar.sync")

    assert raised(build, errors.BarrierError).line == 3


def test_exited_lanes_count_as_arrived() -> None:
    a = Assembler()
    a("setp.lt.s32", d=0, a=TID_X, b=a.imm(39))
    a("exit", guard=0)
    a("bar.sync")
    a("exit")
    assert a.run("GTX285", **GRID)["counters"]["barriers"] == 5


ALLOC, RELEASE = {"sub": 1, "imm": 128}, {"sub": 2}
MANAGEMENT = {"management": "dynamic", "extra_blocks": 2, "dynamic_bytes": 128}


@pytest.mark.parametrize(
    ("barriers", "line"),
    [([ALLOC, ALLOC], 2), ([RELEASE], 1), ([ALLOC, RELEASE, RELEASE], 3), ([ALLOC], 2), ([{"sub": 1, "imm": 129}], 1)],
    ids=["nested", "unmatched", "released twice", "not released", "larger than declared"],
)
def test_misused_allocation(barriers: list[dict[str, int]], line: int) -> None:
    def build(a: Assembler) -> None:
        for fields in barriers:
            a("bar.sync", **fields)

    assert raised(build, errors.AllocationError, **MANAGEMENT).line == line


def test_dynamic_shared_memory_must_be_held() -> None:
    def build(a: Assembler) -> None:
        a("bar.sync", **ALLOC)
        a("bar.sync", **RELEASE)
        a("ld.shared", d=0, a=a.imm(0), width=4, flags=16)

    assert raised(build, errors.AllocationError, **MANAGEMENT).line == 3


def test_static_management_ignores_the_dynamic_options() -> None:
    """Paper, section 5: under static management the instructions are barriers and nothing else."""
    a, plain = Assembler(), Assembler()
    for fields in (ALLOC, RELEASE, ALLOC):
        a("bar.sync", **fields)
        plain("bar.sync")
    a("exit")
    plain("exit")
    options = {"dynamic_bytes": 128, **GRID}
    found, expected = a.run("GTX285", **options), plain.run("GTX285", **options)
    assert found["counters"].pop("region_cycles") > expected["counters"].pop("region_cycles") == 0
    assert found == expected


def test_deadlock_is_diagnosed() -> None:
    """Two warps wait at different barriers' ends of the block: one spins on memory that nobody writes - cycle limit;
    barriers of different kinds - an error that names the line."""

    def spin(a: Assembler) -> None:
        a("bra", imm=0, aux=-1)

    spinning = Assembler()
    spin(spinning)
    spinning("exit")
    with pytest.raises(errors.CycleLimitError):
        spinning.run("GTX285", max_cycles=5000)

    def mixed(a: Assembler) -> None:
        a("setp.lt.s32", d=0, a=TID_X, b=a.imm(32))
        a("bra", guard=0, imm=4, aux=6)
        a("bar.sync", **ALLOC)
        a("bra", imm=6, aux=-1)
        a("bar.sync", sub=0)
        a("nop")

    assert raised(mixed, errors.BarrierError, **MANAGEMENT).line in (3, 5)


def test_the_first_fault_in_time_is_reported_whatever_the_window() -> None:
    """Every block faults, at a time of its own."""
    a = Assembler()
    a("sub.s32", d=0, a=a.imm(40), b=CTAID_X)
    a("mul.lo.s32", d=0, a=0, b=a.imm(3))
    a("add.s32", d=0, a=0, b=a.imm(-1))
    a("setp.gt.s32", d=0, a=0, b=a.imm(0))
    a("bra", guard=0, imm=2, aux=5)
    a("div.s32", d=1, a=0, b=0)
    a("exit")
    found = set()
    for window in (1, 5, 32, 0):
        for threads in (1, 2):
            with pytest.raises(ZeroDivisionError) as caught:
                a.run("GTX285", grid=(40, 1, 1), window=window, threads=threads)
            found.add(str(caught.value))
    assert len(found) == 1


def test_the_first_fault_in_time_may_be_that_of_a_block_given_out_later() -> None:
    """Block 0 ends at once; what takes its place faults before block 1 does, on the other SM."""
    a = Assembler()
    a("setp.eq.s32", d=0, a=CTAID_X, b=a.imm(0))
    a("bra", guard=0, imm=8, aux=8)
    a("setp.gt.s32", d=1, a=CTAID_X, b=a.imm(1))
    a("bra", guard=1, imm=7, aux=7)
    for _ in range(3):
        a("add.s32", d=1, a=1, b=1)
    a("div.s32", d=2, a=1, b=a.imm(0))
    a("exit")
    gpu = variant("GTX285", sm_count=2, sms_per_tpc=1, max_blocks_sm=1, block_start=1, icache_bytes=0)
    for window in (1, 5, 0):
        for threads in (1, 2):
            with pytest.raises(ZeroDivisionError) as caught:
                a.run(gpu, grid=(40, 1, 1), window=window, threads=threads)
            assert isinstance(caught.value, errors.KernelError)
            assert caught.value.block == (2, 0, 0)


def test_textures_lie_in_memory_that_nobody_writes() -> None:
    """They are read when the instruction issues, while partitions write: the value would depend on the window."""
    a = Assembler()
    a("tex.1d", d=0, a=a.param(0), width=4, aux=0)
    a("exit")
    words = np.arange(128, dtype=np.uint32)
    frozen = words[:40]
    frozen.flags.writeable = False
    a.run(buffers=(np.frombuffer(bytes(128), np.uint32),))
    for buffers in ((words,), (frozen, (words[40:], 0x10A0))):  # to be written, itself or what shares its line
        with pytest.raises(errors.LaunchError, match="texture 0 lies in memory that may be written"):
            a.run(buffers=buffers)
    a.run(buffers=(frozen, words[64:]))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_views_that_share_lines_through_a_third_one_are_of_one_memory(order: tuple[int, ...]) -> None:
    """The texture shares its line with the middle view alone, and that one shares another with what may be written."""
    words = np.arange(256, dtype=np.uint32)
    middle, texture = words[32:160], words[:32]
    middle.flags.writeable = texture.flags.writeable = False
    views = [(texture, 0x1000), (middle, 0x1080), (words[160:], 0x1280)]
    a = Assembler()
    a("tex.1d", d=0, a=a.param(order.index(0)), width=4, aux=order.index(0))
    a("exit")
    with pytest.raises(errors.LaunchError, match="lies in memory that may be written"):
        a.run(buffers=[views[i] for i in order])


def test_memory_has_one_device_address() -> None:
    words = np.zeros(128, np.uint32)
    a = Assembler()
    a("exit")
    with pytest.raises(errors.LaunchError, match="array 1 has memory of another at other addresses"):
        a.run(buffers=(words, words))


def test_faults_do_not_leak(tmp_path: object) -> None:
    """Memory in use after many failing runs is that after a few."""
    import resource

    a = Assembler()
    a("div.s32", d=0, a=a.imm(1), b=a.imm(0))
    a("exit")

    def fail(times: int) -> int:
        for _ in range(times):
            with pytest.raises(ZeroDivisionError):
                a.run("GTX285")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = fail(20)
    assert fail(100) - before < 20_000  # kB; one run allocates 12 MB
