"""Advice: every scheme is tried on copies of the arguments, and what it says is what the schemes give by hand."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import smmux
from smmux import benchmarks, cuda, float32, int32, multiplex
from smmux.advice import Advice, search
from smmux.advice.schemes import DIVISION
from smmux.compiler.analysis.lanes import WarpOrder
from smmux.kernel import Kernel, from_source
from smmux.results.checks import Finding
from smmux.results.result import Result

THREADS = 64
CARD = "GTX285-1100"
"""On which VTB makes the FFT faster: with its one small cache of instructions the multiprocessors wait for them most of
the time, and a block of twice the threads fetches them once for all. On the GTX285, which waits less, none gains."""


@cuda.jit
def scale(a):
    i = cuda.grid(1)
    a[i] = 2 * a[i]


@cuda.jit
def halves(a):
    words = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    words[t] = a[cuda.grid(1)]
    if t < 16:
        cuda.syncthreads()
    a[cuda.grid(1)] = words[t]


@pytest.fixture(scope="module")
def fft() -> Advice:
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem({"batch": 240})
    arguments = problem.arguments()
    before = [a.copy() for a in arguments]
    advice = smmux.advise(benchmark.kernel(), problem.grid, problem.block, arguments, gpu=CARD, jobs=2)
    for a, b in zip(arguments, before, strict=True):
        assert a.tobytes() == b.tobytes(), "advise works on copies"
    return advice


@pytest.mark.long
def test_schemes_are_those_of_the_passes(fft: Advice) -> None:
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem({"batch": 240})
    scheme = next(s for s in fft.schemes if s.name == "VTB")
    made = multiplex.vtb(benchmark.kernel())
    grid, block = made.geometry(problem.grid, problem.block)
    arguments = problem.arguments()
    run = made.simulate(grid, block, arguments, gpu=CARD)
    problem.check(arguments)
    assert scheme.result is not None
    assert scheme.result.counters == run.counters
    assert scheme.speedup == run.speedup(fft.baseline)
    assert scheme.source == made.source


@cuda.jit
def crowded(a, rounds):
    """More registers than four blocks of 256 threads have room for, and shared memory for one."""
    words = cuda.shared.array(3000, float32)
    own = cuda.local.array(4, float32)
    t = cuda.threadIdx.x
    x0 = a[cuda.grid(1)]
    x1, x2, x3, x4, x5, x6, x7 = x0 + 1, x0 * 2, x0 * 3, x0 * 4, x0 * 5, x0 * 6, x0 * 7
    y0, y1, y2, y3, y4, y5, y6, y7 = x0 + x1, x1 * x2, x2 + x3, x3 * x4, x4 + x5, x5 * x6, x6 + x7, x7 * x0
    for i in range(4):
        own[i] = x0 + i
    for _ in range(rounds):
        x0, x1, x2, x3 = x0 + y0 * x7, x1 + y1 * x6, x2 + y2 * x5, x3 + y3 * x4
        x4, x5, x6, x7 = x4 + y4 * x3, x5 + y5 * x2, x6 + y6 * x1, x7 + y7 * x0
        y0, y1, y2, y3, y4, y5, y6, y7 = y0 + x7, y1 + x6, y2 + x5, y3 + x4, y4 + x3, y5 + x2, y6 + x1, y7 + x0
    total = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + y0 + y1 + y2 + y3 + y4 + y5 + y6 + y7
    words[t] = total + own[rounds % 4]
    cuda.syncthreads()
    a[cuda.grid(1)] = words[255 - t]


def test_the_kernel_that_is_measured_is_the_one_that_runs() -> None:
    """Fewer registers than a kernel takes are for the extra blocks of the paper's hardware, and are told."""
    args = (np.ones(30 * 256, np.float32), 5)
    alone = crowded.simulate(30, 256, (args[0].copy(), 5), "GTX285", schedule="list")
    advice = smmux.advise(crowded, 30, 256, args, "GTX285")
    assert advice.max_registers is None
    assert (advice.baseline.cycles, advice.baseline.program.nregs) == (alone.cycles, alone.program.nregs)
    assert f"1 block, 256 threads with {alone.program.nregs} registers each" in str(advice)
    assert advice.occupancy.limits["registers"] == 3
    schemes = {scheme.name: scheme for scheme in advice.schemes}
    assert {name for name, scheme in schemes.items() if scheme.max_registers} == {"HW, K + 3"}
    most = schemes["HW, K + 3"]
    hw = multiplex.hw(crowded)
    options = {"schedule": "list", "management": "dynamic", "extra_blocks": 3, "max_registers": 16}
    run = hw.simulate(30, 256, (args[0].copy(), 5), "GTX285", **options)
    free = hw.compile(args, "GTX285", schedule="list")
    assert most.result is not None
    assert (most.max_registers, most.result.residency) == (16, 4)
    assert most.speedup == run.speedup(alone)
    spilled = run.program.local_bytes - free.local_bytes
    assert spilled > 0
    told = f"at most 16 registers per thread, {spilled} bytes spilled"
    assert str(advice).count("registers per thread") == 1
    assert told in str(advice)
    assert told in advice._repr_html_()
    [row] = [row for row in json.loads(advice.to_json())["schemes"] if row["max_registers"] is not None]
    assert (row["scheme"], row["registers"], row["spilled_bytes"]) == ("HW, K + 3", run.program.nregs, spilled)


def test_registers_that_the_caller_allows_are_for_all_runs() -> None:
    args = (np.ones(30 * 256, np.float32), 5)
    advice = smmux.advise(crowded, 30, 256, args, "GTX285", max_registers=16)
    alone = crowded.simulate(30, 256, (args[0].copy(), 5), "GTX285", schedule="list", max_registers=16)
    assert advice.baseline.cycles == alone.cycles
    assert {scheme.max_registers for scheme in advice.schemes if scheme.result} == {advice.max_registers} == {16}
    assert "compiled, as all schemes are, for at most 16 registers per thread, " in str(advice)


@pytest.mark.long
def test_the_best_is_the_fastest_that_a_card_can_run(fft: Advice) -> None:
    best = fft.best
    assert best is not None
    assert best.software
    assert best.equal
    assert best.speedup == max(s.speedup or 0 for s in fft.schemes if s.software)
    assert fft.source == best.source
    assert "import" in fft.source
    assert "smmux" not in fft.source
    assert fft.best_hardware is not None
    assert fft.best_hardware.name.startswith("HW")


def test_diagnosis(fft: Advice) -> None:
    assert fft.occupancy.limiter == "shared memory"
    assert fft.occupancy.blocks == 1
    assert fft.region_share is not None
    assert 0.1 < fft.region_share < 0.6
    assert fft.diagnosis()[1].startswith("an SM holds 1 block, ")
    text = str(fft)
    for word in (f"fft on {CARD}: ", "limited by shared memory", "VTB", "HW, K + 3", "best: "):
        assert word in text
    assert "VTB" in fft._repr_html_()
    assert "VTB" in repr(fft)


def test_as_data(fft: Advice) -> None:
    data = json.loads(fft.to_json())
    assert data["limiter"] == "shared memory"
    assert fft.best is not None
    assert data["best"] == fft.best.name
    assert [row["scheme"] for row in data["schemes"]][:2] == ["baseline", "VTB"]
    assert list(fft.to_pandas().index)[0] == "baseline"


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_outputs_that_differ_are_json_too(fft: Advice) -> None:
    wrong = tuple(replace(s, equal=False, difference=float("inf")) for s in fft.schemes)
    data = json.loads(replace(fft, schemes=wrong).to_json(), parse_constant=refuse_constant)
    assert [row["difference"] for row in data["schemes"][1:]] == [None] * len(wrong)
    assert not any(row["equal"] for row in data["schemes"][1:])


def test_every_argument_of_a_declaration_is_checked() -> None:
    """Also those of a form that is yet to come."""
    assert {name for form in multiplex.FORMS.values() for name in form.declaration} == set(DIVISION)


@pytest.mark.long
def test_collaborative_schemes_need_a_declaration() -> None:
    benchmark = benchmarks.get("MC")
    problem = benchmark.problem("tiny")
    arguments = problem.arguments()
    names = [
        scheme.name
        for scheme in smmux.advise(
            benchmark.kernel(), problem.grid, problem.block, arguments, "GTX285", divided=benchmark.divided
        ).schemes
    ]
    assert "CO-VTB" in names
    assert "CO-HW, K + 1" in names


def test_a_kernel_that_fails_is_told_at_once() -> None:
    with pytest.raises(smmux.BarrierError):
        smmux.advise(halves, 2, THREADS, (np.zeros(128, np.float32),), "GTX285")


def test_what_cannot_be_multiplexed() -> None:
    advice = smmux.advise(scale, 2, THREADS, (np.zeros(128, np.float32),), "GTX285")
    assert advice.best is None
    assert advice.region_share is None
    assert len(advice.schemes) > 3
    assert [scheme.name for scheme in advice.schemes if "shared" not in scheme.refused] == ["tiles"]
    assert "a, because of its own stores" in advice.schemes[-1].refused
    assert advice.source == scale.source
    assert "keep the kernel" in str(advice)
    assert "cannot be multiplexed" in str(advice)
    assert str(advice).count("there is nothing to multiplex: `def scale(a):`") == 1, "once, not once per scheme"
    assert "no scheme applies" in str(advice)


def test_views_of_one_buffer_stay_so() -> None:
    buffer = np.arange(256, dtype=np.float32)
    expected = buffer.copy()

    @cuda.jit
    def shift(a, b):
        words = cuda.shared.array(THREADS, float32)
        t = cuda.threadIdx.x
        words[t] = a[cuda.grid(1)]
        cuda.syncthreads()
        b[cuda.grid(1)] = words[t] + b[cuda.grid(1)]

    advice = smmux.advise(shift, 2, THREADS, (buffer[:128], buffer[64:192]), "GTX285")
    assert (buffer == expected).all()
    applied = {scheme.name: scheme.equal for scheme in advice.schemes if not scheme.refused}
    assert applied.keys() >= {"VTB", "HW, K + 1"}
    assert set(applied.values()) == {True}


@cuda.jit
def totals(a, out, flips):
    words = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    words[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    cuda.atomic.add(out, t % 2, words[THREADS - 1 - t])
    cuda.atomic.xor(flips, 0, int32(t))


@cuda.jit
def waiting(a, flags):
    words = cuda.shared.array(THREADS, float32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    words[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    x = words[THREADS - 1 - t]
    while b == 0 and cuda.atomic.add(flags, 0, 0) == 0:
        x += words[t]
    if b == 1:
        cuda.atomic.add(flags, 0, 1)
    a[cuda.grid(1)] = x


def test_kernels_and_schemes_that_do_not_end() -> None:
    args = np.zeros(2 * THREADS, np.float32), np.zeros(1, np.int32)
    with pytest.raises(smmux.CycleLimitError):
        smmux.advise(waiting, 1, THREADS, args, "GTX285", max_cycles=20_000)
    advice = smmux.advise(waiting, 2, THREADS, args, "GTX285")
    vtb = next(scheme for scheme in advice.schemes if scheme.name == "VTB")
    assert "cycle limit reached" in vtb.refused
    assert advice.best is None


def test_sums_of_floats_in_another_order_are_right_and_memory_may_be_given_at_launch() -> None:
    values = np.random.default_rng(0).random(60 * THREADS, np.float32)
    args = (values, np.zeros(2, np.float32), np.zeros(1, np.int32))
    advice = smmux.advise(totals, 60, THREADS, args, "GTX480-16K", dynshared=8192)
    assert (advice.occupancy.blocks, advice.occupancy.limiter) == (2, "shared memory")
    others = [scheme for scheme in advice.schemes if scheme.equal is False]
    assert others
    for scheme in others:
        assert scheme.right
        assert 0 < (scheme.difference or 0) < 1e-6
        assert "rounding" in scheme.verdict
    assert advice.to_dict()["dynshared"] == 8192
    assert "the grid fills the card 2 times" in str(advice)


def test_other_outputs_are_never_the_best(fft: Advice) -> None:
    best = fft.best
    assert best is not None
    wrong = tuple(replace(s, equal=False, difference=0.01) if s is best else s for s in fft.schemes)
    assert replace(fft, schemes=wrong).best != best
    assert "threads on an SM; OUTPUTS DIFFER" in str(replace(fft, schemes=wrong))


@cuda.jit
def beyond(a, b, rounds):
    """Its last thread reads what no thread has written, which the simulator has left zero."""
    words = cuda.shared.array(1536, float32)
    t = cuda.threadIdx.x
    value = a[cuda.grid(1)]
    for i in range(rounds):
        value = value * float32(0.5) + float32(i)
    words[t] = value
    cuda.syncthreads()
    b[cuda.grid(1)] = words[t + 1]


def test_misuse_of_shared_memory_is_said_though_outputs_are_equal(fft: Advice) -> None:
    args = np.ones(120 * THREADS, np.float32), np.zeros(120 * THREADS, np.float32), 50
    advice = smmux.advise(beyond, 120, THREADS, args, "GTX480-16K")
    line = beyond.__wrapped__.__code__.co_firstlineno + 10
    assert f"the kernel misuses shared memory (uninitialised at line {line})" in str(advice)
    assert not any(scheme.errors for scheme in advice.schemes), "the kernel's own, said once"
    [error] = advice.baseline.findings or ()
    assert "misuses" not in str(fft)
    best = fft.best_hardware
    assert best is not None
    wrong = tuple(replace(s, errors=(error,)) if s is best else s for s in fft.schemes)
    assert replace(fft, schemes=wrong).best_hardware != best
    assert f"threads on an SM; shared memory is MISUSED: uninitialised at line {line}" in str(
        replace(fft, schemes=wrong)
    )


@pytest.mark.long
def test_advice_can_be_copied_and_stored(fft: Advice) -> None:
    assert copy.deepcopy(fft).kernel is fft.kernel
    again = pickle.loads(pickle.dumps(fft))
    assert str(again) == str(fft)
    assert again.kernel is benchmarks.get("FFT").kernel()
    problem = benchmarks.get("FFT").problem("tiny")
    for old, new in zip(fft.schemes, again.schemes, strict=True):
        assert (new.name, new.source, new.refused) == (old.name, old.source, old.refused)
        if old.kernel is None:
            continue
        grid, block = problem.grid, problem.block
        if old.software:
            grid, block = new.kernel.fitted(grid, block).geometry(grid, block)
        runs = [kernel.compile(problem.arguments(), "GTX285").listing() for kernel in (old.kernel, new.kernel)]
        assert runs[0] == runs[1]


@cuda.jit
def last_warp(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = t
    s[t + 32] = 0
    s[t] += s[t + 16]
    s[t] += s[t + 8]
    s[t] += s[t + 4]
    s[t] += s[t + 2]
    s[t] += s[t + 1]
    out[t] = s[t]


def test_outputs_of_both_schedules_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel is compiled without regard to lockstep."""
    args = (np.zeros(32, np.float32),)
    kept = smmux.advise(last_warp, 1, 32, args, "GTX285")
    monkeypatch.setattr(WarpOrder, "matters", lambda self, *accesses: self.analysis.may_alias(*accesses))
    other = from_source(last_warp.source.replace("out[t] = s[t]", "out[t] = s[t] + 1"), globals())
    lost = smmux.advise(other, 1, 32, args, "GTX285")
    assert [advice.ordered for advice in (kept, lost)] == [True, False]
    assert ["DIFFERENT OUTPUTS" in str(advice) for advice in (kept, lost)] == [False, True]
    assert not lost.to_dict()["ordered"]


@cuda.jit
def packed(a):
    """As many blocks as an SM holds of any kernel of that size, whatever shared memory they use."""
    words = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    words[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    a[cuda.grid(1)] = words[THREADS - 1 - t]


def test_what_cannot_win_is_not_run() -> None:
    """An SM of 8 blocks, 1536 threads: blocks of 256 are 6, and no more if two are put together."""
    args = (np.ones(60 * 256, np.float32),)
    kernel = from_source(packed.source.replace("THREADS", "256"), {"cuda": cuda, "float32": float32})
    advice = smmux.advise(kernel, 60, 256, args, "GTX480-48K")
    schemes = {scheme.name: scheme for scheme in advice.schemes}
    told = " lets an SM hold no more of the kernel's blocks (6) than as they are (6)"
    assert schemes["VTB"].refused == schemes["VTB, N = 3"].refused == f"VTB{told}"
    assert schemes["VTB_pipe"].refused == f"VTB_pipe{told}"
    small = smmux.advise(packed, 60, THREADS, args, "GTX480-48K")
    schemes = {scheme.name: scheme for scheme in small.schemes}
    assert schemes["VTB"].result is not None, "16 of the 24 blocks that threads allow, instead of 8"
    assert schemes["VTB, N = 3"].result is not None
    assert schemes["VTB, N = 4"].refused.endswith(
        "N = 4 lets an SM hold no more of the kernel's blocks (24) than with VTB, N = 3 (24)"
    )


def test_blocks_that_find_no_room_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []
    simulate = Kernel.simulate

    def counted(self: Kernel, *args, **options):
        runs.append(self.__name__)
        return simulate(self, *args, **options)

    monkeypatch.setattr(Kernel, "simulate", counted)
    args = (np.ones(120 * THREADS, np.float32),)
    advice = smmux.advise(packed, 120, THREADS, args, "GTX480-48K", jobs=1)
    hardware = [scheme for scheme in advice.schemes if not scheme.software]
    first, *others = (scheme.result for scheme in hardware)
    assert first is not None
    assert runs.count("packed_hw") == 1 + (advice.best_hardware is not None)
    for extra, result in enumerate(others, 2):
        own = multiplex.hw(packed).simulate(
            120, THREADS, (args[0].copy(),), "GTX480-48K", schedule="list", management="dynamic", extra_blocks=extra
        )
        assert result is not None
        assert result.extra_blocks == own.extra_blocks == extra
        assert (result.cycles, result.counters) == (own.cycles, own.counters)


@pytest.mark.long
def test_the_best_is_checked(monkeypatch: pytest.MonkeyPatch, fft: Advice) -> None:
    """A form that would win but for what its check finds is not the best; what cannot be the best is not checked."""
    best = fft.best
    assert best is not None
    assert best.result is not None
    assert best.result.findings is not None
    assert any(s.result is not None and s.result.findings is None for s in fft.schemes)
    [error] = _misused().findings or ()

    def found(run: Result) -> list[Finding]:
        return [error] if run.findings is not None and run.kernel == best.result.kernel else []

    monkeypatch.setattr(search, "misuses", found)
    benchmark = benchmarks.get("FFT")
    problem = benchmark.problem({"batch": 240})
    other = smmux.advise(benchmark.kernel(), problem.grid, problem.block, problem.arguments(), gpu=CARD)
    assert other.best is None or other.best.result.kernel != best.result.kernel
    assert any(scheme.errors for scheme in other.schemes)


def _misused() -> Result:
    args = np.ones(THREADS, np.float32), np.zeros(THREADS, np.float32), 1
    return beyond.simulate(1, THREADS, args, "GTX480-16K", check="races")


def test_the_bar_says_what_is_running(capsys: pytest.CaptureFixture[str]) -> None:
    args = (np.ones(8 * THREADS, np.float32),)
    smmux.advise(packed, 8, THREADS, args, "GTX480-48K", jobs=1, progress=True)
    shown = capsys.readouterr().err
    for name in ("advise", "packed", "isolated", "VTB", "HW, K + 1"):
        assert name in shown
