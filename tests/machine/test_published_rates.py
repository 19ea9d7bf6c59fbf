"""Rates of one SM that were measured on cards, and those that the machine's numbers give in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import cuda, float32, gpus
from smmux.kernel import Kernel, from_source

from .assembler import LANEID, Assembler, variant


def cycles(build, gpu: gpus.Gpu, n: int, warps: int, **options) -> int:
    """Cycles in which each warp of a block does n times what `build` emits."""
    a = Assembler()
    build(a, n)
    a("exit")
    return a.run(gpu, block=(32 * warps, 1, 1), **options)["counters"]["cycles"]


@pytest.mark.parametrize(("warps", "measured"), [(1, 20), (16, 78)])
def test_barriers_of_a_gtx285(warps: int, measured: int) -> None:
    """What a barrier takes grows with the warps, each of which issues it in 4 clocks (Wong et al., ISPASS 2010)."""

    def build(a: Assembler, n: int) -> None:
        for _ in range(n):
            a("bar.sync")

    gpu = variant("GTX285", icache_bytes=0)
    each = (cycles(build, gpu, 40, warps) - cycles(build, gpu, 20, warps)) / 20
    assert each == 4 * (warps - 1) + 20 == pytest.approx(measured, rel=0.03)


@pytest.mark.parametrize("name", ["GTX480-16K", "GTX480-48K"])
@pytest.mark.parametrize("lines", [1, 2, 8, 32])
def test_each_further_line_of_a_load_is_issued_again(lines: int, name: str) -> None:
    """Lines that are in the L1: the load/store unit takes 2 clocks for the first and 4 for each other one."""

    def build(a: Assembler, n: int) -> None:
        a("shr.u32", d=0, a=LANEID, b=a.imm(5 - (lines.bit_length() - 1)))
        a("shl.b32", d=0, a=0, b=a.imm(7))
        a("add.s32", d=0, a=0, b=a.param(0))
        for i in range(n):
            a("ld.global", d=1 + i % 12, a=0, width=4, aux=0)

    gpu = variant(name, icache_bytes=0)
    words = np.zeros(1024, np.float32)
    taken = [cycles(build, gpu, n, 16, buffers=(words,)) for n in (48, 96)]
    each = (taken[1] - taken[0]) / 48 / 16
    assert each == pytest.approx(gpu.issue_global + (lines - 1) * gpu.replay_global, rel=0.01)


@pytest.mark.parametrize("op", ["ld.global", "st.global"])
@pytest.mark.parametrize(("width", "requests"), [(4, 1), (8, 2), (16, 4)])
def test_coalesced_accesses_of_a_fermi_are_not_replayed(op: str, width: int, requests: int) -> None:
    """Wide ones are two or four requests, of one 128-byte line each (PG55 G.4.2): so long they delay the unit's work
    behind them, which is more than memory needs to answer."""

    def build(a: Assembler, n: int) -> None:
        a("shl.b32", d=0, a=LANEID, b=a.imm(width.bit_length() - 1))
        a("add.s32", d=0, a=0, b=a.param(0))
        a("mov.b32", d=1, a=a.imm(0))
        for i in range(n):
            a(op, d=4 + 4 * i, b=5 + 4 * i, c=6 + 4 * i, q=7 + 4 * i, a=0, width=width, aux=0)
        for i in range(1000):
            a("ld.shared", d=16 + i % 32, a=1, width=4)

    gpu = variant("GTX480-48K", icache_bytes=0)
    words = np.zeros(1024, np.float32)
    taken = [cycles(build, gpu, n, 1, nregs=50, shared=64, buffers=(words,)) for n in (1, 3)]
    assert taken[1] - taken[0] == 2 * requests * gpu.issue_global


@pytest.mark.parametrize(
    ("op", "gtx285", "gtx480", "k20c"),
    [
        ("mad.f32", 8, 32, 127.5),  # Kepler: measured, one instruction of a warp at a time [PPOPP17]
        ("and.b32", 8, 32, 128),
        ("shl.b32", 8, 16, 64),
        ("mul.lo.s32", 1.7, 16, 32),  # GT200: measured [Wong et al.]
        ("cvt.rn.f32.s32", 8, 16, 32),
        ("sin.approx.f32", 2, 4, 32),
        ("add.f64", 1, 4, 64),  # GeForce GTX480: 168 GFLOPS [SHOC]
    ],
)
def test_operations_per_clock_of_an_sm(op: str, gtx285: float, gtx480: float, k20c: float) -> None:
    """Table 2 of the CUDA C Programming Guide 5.5, but where measurements say more."""

    def build(a: Assembler, n: int) -> None:
        for i in range(n):
            a(op, d=4 + 2 * (i % 10), dh=5 + 2 * (i % 10), a=0, ah=1, b=2, bh=3, c=0, ch=1)

    for name, warps, known in (("GTX285", 16, gtx285), ("GTX480-48K", 16, gtx480), ("K20c", 32, k20c)):
        gpu = variant(name, icache_bytes=0)
        taken = [cycles(build, gpu, n, warps, nregs=30) for n in (40, 80)]
        assert 32 * warps * 40 / (taken[1] - taken[0]) == pytest.approx(known, rel=0.06), name


STREAMS = 8


def chains(step: str) -> Kernel:
    """SHOC's MaxFlops: independent chains of one operation each."""
    names = [f"s{i}" for i in range(STREAMS)]
    lines = [
        "@cuda.jit",
        "def chains(a, u, v, rounds):",
        "    x = a[cuda.grid(1)]",
        *(f"    {s} = x + float32({i})" for i, s in enumerate(names)),
        "    for _ in range(rounds):",
        *20 * [f"        {s} = {step.format(s=s)}" for s in names],
        f"    a[cuda.grid(1)] = {' + '.join(names)}",
    ]
    return from_source("\n".join(lines) + "\n", {"cuda": cuda, "float32": float32}, name="chains")


def gflops(gpu: gpus.Gpu, step: str, flops: int) -> float:
    """Of a whole chip, from one TPC of it with 16 warps on each SM."""
    rounds, threads, blocks = 24, 128, 4 * gpu.sms_per_tpc
    a = np.full(blocks * threads, 0.5, np.float32)
    one = gpu.replace(sm_count=gpu.sms_per_tpc)
    args = a, np.float32(0.355), np.float32(3.75), rounds
    result = chains(step).simulate(blocks, threads, args, one, schedule="list")
    work = flops * STREAMS * 20 * rounds * blocks * threads * gpu.sm_count / gpu.sms_per_tpc
    return work / result.time_us / 1000


def test_peak_of_a_tesla_c1060() -> None:
    """The best of SHOC's kernels multiplies beside its multiply-adds; these alone give less [SHOC, results.csv]."""
    card = gpus.get("C1060")
    both, alone = gflops(card, "(u * {s} + v) * {s}", 3), gflops(card, "u * {s} + v", 2)
    assert both == pytest.approx(726.2, rel=0.1)
    assert alone < both
    assert alone < 240 * 2 * 1.296
