"""Would multiplexing shared memory pay for a kernel, and how: what a programmer with a slow kernel comes for.

>>> import smmux
>>> from smmux import benchmarks
>>> fft, problem = benchmarks.get("FFT"), benchmarks.get("FFT").problem("tiny")
>>> advice = smmux.advise(fft.kernel(), problem.grid, problem.block, problem.arguments(), gpu="GTX285")
>>> advice.occupancy.limiter, [scheme.name for scheme in advice.schemes][:3]
('shared memory', ['VTB', 'VTB, N = 3', 'VTB, N = 4'])
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from smmux import gpus, multiplex
from smmux.arguments import as_bytes
from smmux.checks import Finding
from smmux.compiler.ir import Space
from smmux.compiler.program import Program
from smmux.dimensions import Dim3, dim3
from smmux.errors import CompileError, ConfigError, Error, LaunchError, did_you_mean
from smmux.gpus import Gpu
from smmux.kernel import Kernel, definition_of
from smmux.launch_options import DEFAULT_MAX_CYCLES
from smmux.occupancy import Occupancy, occupancy, registers_for
from smmux.placement import extent, flatten, root
from smmux.result import Result
from smmux.sweep import at_a_time

__all__ = ["Advice", "Scheme", "advise"]

VIRTUAL_BLOCKS = (2, 3, 4)
EXTRA_BLOCKS = (1, 2, 3)
Launch = tuple[Kernel, Dim3, Dim3]
WORTH = 1.02  # a speedup below this is not worth another kernel
ROUNDING = 1e-5  # differences of floats up to this share of the largest value come from the order of additions
PATIENCE = 100  # times the cycles of the kernel itself, after which a scheme is given up
MANY_WAVES = 8  # with fewer, how the last wave of blocks fills the card decides


@dataclass(frozen=True, slots=True, repr=False)
class Scheme:
    """One way to multiplex shared memory, tried on the kernel.

    name: as in the paper. software: a rewriting of the kernel, for any card; otherwise it needs the paper's hardware.
    kernel, grid, block: what to launch instead. result: of the simulation. speedup: time of the baseline over time of
    this. equal: whether every array held the same bits after it as after the baseline. difference: of arrays of floats
    that did not, the largest one as a share of the array's largest value (infinite where others differ); sums that
    atomics make in another order differ by rounding. errors: in the use of shared memory, of kinds that the baseline's
    run has not. refused: why the scheme does not apply, empty where it does; the
    other fields are None then. max_registers: per thread, that the scheme's kernel was compiled for: fewer than it
    would take, that extra blocks may reside, or what the caller of `advise` asked for; None for as many as it takes.
    """

    name: str
    software: bool
    kernel: Kernel | None = None
    grid: Dim3 | None = None
    block: Dim3 | None = None
    result: Result | None = None
    speedup: float | None = None
    equal: bool | None = None
    difference: float | None = None
    errors: tuple[Finding, ...] = ()
    refused: str = ""
    max_registers: int | None = None

    @property
    def source(self) -> str:
        """The kernel's Python text; empty where the scheme does not apply."""
        return self.kernel.source if self.kernel is not None else ""

    @property
    def right(self) -> bool:
        """Whether the outputs are the baseline's but for rounding."""
        return self.difference is not None and self.difference <= ROUNDING

    def __repr__(self) -> str:
        return f"<Scheme {self.name}: {self.verdict}>"

    @property
    def remark(self) -> str:
        """What there is to say of outputs, findings and registers; empty where they are the baseline's, and none."""
        if self.refused:
            return ""
        parts = []
        if not self.equal:
            rounding = f"outputs differ by rounding ({self.difference:.0e})"
            parts.append(rounding if self.right else "OUTPUTS DIFFER from the baseline's")
        if self.errors:
            parts.append(f"shared memory is MISUSED: {_places(self.errors)}")
        return "; ".join(filter(None, [*parts, _registers(self.result, self.max_registers)]))

    @property
    def verdict(self) -> str:
        """What came of it, in a few words."""
        if self.refused:
            return f"does not apply: {self.refused}"
        return "; ".join(filter(None, (f"{self.speedup:.3f} x", self.remark)))


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """What limits a kernel, how long it really uses its shared memory, and what each scheme would gain.

    baseline: the kernel's own run. occupancy: blocks of an SM, by resource. region_share: time in shared-memory regions
    over the time that blocks live, None (with the reason in `unshared`) where the kernel has no regions to be found.
    schedule, max_registers, dynshared: options of all the runs; `simulate` repeats any of them with these, and those of
    schemes for the paper's hardware with the scheme's own `max_registers`.
    """

    kernel: Kernel
    grid: Dim3
    block: Dim3
    baseline: Result
    occupancy: Occupancy
    region_share: float | None
    unshared: str
    schemes: tuple[Scheme, ...]
    schedule: str
    max_registers: int | None
    dynshared: int

    @property
    def best(self) -> Scheme | None:
        """The fastest scheme for a card that exists, with the same outputs, no new errors; None if none gains 2 %."""
        return self._best([scheme for scheme in self.schemes if scheme.software])

    @property
    def best_hardware(self) -> Scheme | None:
        """The fastest of the schemes that need the paper's hardware; None if none gains 2 %."""
        return self._best([scheme for scheme in self.schemes if not scheme.software])

    @staticmethod
    def _best(schemes: Sequence[Scheme]) -> Scheme | None:
        usable = [s for s in schemes if s.speedup is not None and s.right and not s.errors and s.speedup >= WORTH]
        return max(usable, key=lambda scheme: scheme.speedup or 0, default=None)

    @property
    def source(self) -> str:
        """Source of the best kernel, ready to use: the best scheme's, or the kernel's own if none gains."""
        return self.best.source if self.best else self.kernel.source

    def rows(self) -> list[dict[str, Any]]:
        """One flat record per scheme, the baseline first; a difference that is no finite number is None."""
        first = {
            "scheme": "baseline",
            "software": True,
            "speedup": 1.0,
            "equal": True,
            "difference": 0.0,
            "errors": len(_errors(self.baseline)),
            "refused": "",
        }
        rows = [{**first, **_numbers(self.baseline, self.grid, self.block), "max_registers": self.max_registers}]
        for s in self.schemes:
            row = {"scheme": s.name, "software": s.software, "speedup": s.speedup, "equal": s.equal}
            finite = s.difference is not None and math.isfinite(s.difference)
            row |= {"difference": s.difference if finite else None, "errors": len(s.errors), "refused": s.refused}
            rows.append({**row, **_numbers(s.result, s.grid, s.block), "max_registers": s.max_registers})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain data: everything but the counters."""
        return {
            "kernel": self.kernel.__name__,
            "gpu": self.baseline.gpu.name,
            "blocks": self.occupancy.blocks,
            "limiter": self.occupancy.limiter,
            "region_share": self.region_share,
            "schedule": self.schedule,
            "max_registers": self.max_registers,
            "dynshared": self.dynshared,
            "schemes": self.rows(),
            "best": self.best.name if self.best else None,
            "source": self.source,
        }

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_pandas(self) -> Any:
        """`rows` as a table (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(self.rows()).set_index("scheme")

    def __repr__(self) -> str:
        best = self.best
        gain = f"{best.name} {best.speedup:.2f} x" if best else "nothing gains"
        return f"<Advice {self.kernel.__name__} on {self.baseline.gpu.name}: {gain}>"

    def __str__(self) -> str:
        lines = [*self.findings(), ""]
        for scheme in self.schemes:
            if scheme.refused == self.unshared != "":
                continue  # said of shared memory already
            said = scheme.verdict
            if (run := scheme.result) is not None:
                speedup, fits = f"{scheme.speedup:.3f} x", f"{run.residency} x {run.threads} threads on an SM"
                said = "; ".join(filter(None, (f"{speedup:12}{fits}", scheme.remark)))
            lines.append(f"  {scheme.name:14}{said}")
        if not any(scheme.result for scheme in self.schemes):
            lines.append("  no scheme applies")
        return "\n".join([*lines, "", *self.conclusion()])

    def findings(self) -> list[str]:
        """Sentences about the kernel as it is."""
        run, fits = self.baseline, self.occupancy
        equal = [name for name, blocks in fits.limits.items() if blocks == fits.blocks]
        limiter = ", ".join([fits.limiter, *(name for name in equal if name != fits.limiter)])
        limits = ", ".join(f"{name} {blocks}" for name, blocks in fits.limits.items() if blocks is not None)
        idle = sorted(((v, k) for k, v in run.stalls.items() if k != "issue" and v >= 0.01), reverse=True)
        shares = [f"{name.replace('_', ' ')} {100 * value:.0f} %" for value, name in idle]
        share = "cannot be multiplexed: " + self.unshared
        if self.region_share is not None:
            percent = 100 * self.region_share
            share = f"is in use for {percent:.{int(percent < 10)}f} % of a block's life"
        registers = _registers(run, self.max_registers)
        plural = "s" * (fits.blocks != 1)
        held = f"{fits.blocks} block{plural}, {fits.threads} threads with {run.program.nregs} registers each"
        waves = run["blocks"] / (run.gpu.sm_count * (fits.blocks or 1))
        errors = _errors(run)
        misused = f"the kernel misuses shared memory ({_places(errors)})"
        hint = f"the grid fills the card {waves:.2g} times: a larger one says more of long runs"
        return [
            f"{self.kernel.__name__} on {run.gpu.name}: {run.time_us:,.2f} us, {run.cycles:,} cycles",
            f"an SM holds {held}: limited by {limiter} ({limits})",
            *([f"compiled, as all schemes are, for {registers}"] if registers else []),
            f"schedulers issue for {100 * run.stalls['issue']:.0f} % of the time, else wait: {', '.join(shares)}",
            f"shared memory {share}",
            *([f"{misused}: what it gives is right by luck at most"] if errors else []),
            *([hint] if waves < MANY_WAVES else []),
        ]

    def conclusion(self) -> list[str]:
        """What to do."""
        lines = []
        if best := self.best:
            lines.append(f"best: {best.name}, {best.speedup:.2f} x; {self._launch(best)}")
        else:
            lines.append("no scheme gains 2 %: keep the kernel as it is")
        if hard := self.best_hardware:
            said = f"{hard.speedup:.2f} x", _registers(hard.result, hard.max_registers)
            lines.append(f"with the paper's hardware: {hard.name}, {'; '.join(filter(None, said))}")
        return lines

    def _launch(self, scheme: Scheme) -> str:
        """How to launch a scheme's kernel in the place of the baseline."""
        after = f", 0, {self.dynshared}" if self.dynshared else ""
        made = f"{getattr(scheme.kernel, '__name__', '')}[{scheme.grid}, {scheme.block}{after}]"
        return f"launch {made} instead of {self.kernel.__name__}[{self.grid}, {self.block}{after}]"

    def _repr_html_(self) -> str:
        from smmux import report

        return report.advice_html(self)


def advise(
    kernel: Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    gpu: str | Gpu | None = None,
    *,
    divided: Mapping[str, Any] | None = None,
    schedule: str = "list",
    max_registers: int | None = None,
    dynshared: int = 0,
    max_cycles: int | None = DEFAULT_MAX_CYCLES,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Simulate a kernel as it is and under every scheme that applies; the arguments are left as they are.

    divided: arguments of `multiplex.co_vtb` and `co_hw` that say which part of shared memory is private ("array",
    "private", ...), without which the collaborative schemes do not apply. schedule: as for `simulate`; "list" is what
    a card's assembler would do. max_registers: per thread, in all runs; default: as many as each kernel takes, as when
    it is launched without that option. Only the kernels for the paper's hardware then get fewer where K + n blocks of
    them would not find room otherwise, and the advice says so; what all speedups refer to is the kernel as it is.
    dynshared, max_cycles: as for `simulate`; schemes that take a hundred times as long as the kernel
    itself are given up. jobs: simulations at a time (default: one per processor). progress: show a bar (default: on a
    terminal).

    All runs are under check="races": outputs that are equal by luck are told from those that have to be.

    Raises what the kernel's own run raises, and ConfigError for fewer than one job and for a declaration that has no
    meaning; a scheme that cannot be applied is reported with its reason instead.
    """
    at_a_time(jobs)  # refuse nonsense before the baseline runs
    parts = _declared(divided)
    machine = gpus.current() if gpu is None else gpus.get(gpu)
    own = dim3("grid", grid), dim3("block", block)
    definition_of(kernel)
    common = {"gpu": machine, "schedule": schedule, "max_registers": max_registers, "dynshared": dynshared}
    common |= {"check": "races"}
    baseline = _try(_Attempt("baseline", lambda: (kernel, *own)), args, {**common, "max_cycles": max_cycles})
    if baseline.error is not None:
        raise baseline.error
    assert baseline.result is not None
    patient = {
        **common,
        "max_cycles": min(PATIENCE * baseline.result.cycles, max_cycles or DEFAULT_MAX_CYCLES),
    }
    fits = _occupancy(baseline.result)
    budget = partial(_budget, fits, machine, own[1]) if max_registers is None else None
    attempts = _attempts(kernel, own, parts, budget)
    isolated, *others = _run(attempts, partial(_try, args=args, options=patient), jobs, progress)
    return Advice(
        kernel=kernel,
        grid=own[0],
        block=own[1],
        baseline=baseline.result,
        occupancy=fits,
        region_share=_region_share(isolated.result),
        unshared=_reason(isolated.error),
        schemes=tuple(_scheme(found, baseline) for found in others),
        schedule=schedule,
        max_registers=max_registers,
        dynshared=dynshared,
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A scheme to try: what makes its kernel with the launch it needs, options of the launch, and the most registers
    per thread with which its extra blocks find room (None: as many as `advise` was told)."""

    name: str
    make: Callable[[], Launch]
    software: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of an attempt: a result and the arrays behind it, or an error."""

    attempt: _Attempt
    launch: Launch | None = None
    result: Result | None = None
    arrays: tuple[NDArray[Any], ...] = ()
    max_registers: int | None = None
    error: Error | None = None


def _declared(divided: Mapping[str, Any] | None) -> dict[str, Any]:
    """The declaration of parts, if any; ConfigError for what the collaborative passes would not understand."""
    if divided is None:
        return {}
    if not isinstance(divided, Mapping):
        raise ConfigError(f"divided must map arguments of multiplex.co_hw to values, not be {divided!r}")
    for name in divided:
        if name not in _DIVISION:
            raise ConfigError(
                f"divided has no {name!r}{did_you_mean(str(name), _DIVISION)}; it has {', '.join(_DIVISION)}"
            )
    for name, (wanted, fits) in _DIVISION.items() if divided else ():
        if not fits(divided.get(name)):
            said = f"not {divided[name]!r}" if name in divided else "and is not given"
            raise ConfigError(f"divided[{name!r}] must be {wanted}, {said}")
    return dict(divided)


def _integers(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(item, SupportsIndex) for item in value)


# Arguments of the collaborative passes: what they are, and whether a value is that.
_DIVISION: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "array": ("the name of a shared array", lambda v: isinstance(v, str)),
    "private": ("an integer", lambda v: isinstance(v, SupportsIndex)),
    "shape": ("an integer or a tuple of them", lambda v: v is None or isinstance(v, SupportsIndex) or _integers(v)),
    "interleaved": ("two integers", lambda v: v is None or (_integers(v) and len(v) == 2)),
    "threads": ("an integer", lambda v: v is None or isinstance(v, SupportsIndex)),
}


def _attempts(
    kernel: Kernel, own: tuple[Dim3, Dim3], divided: dict[str, Any], budget: Callable[[int], int] | None
) -> list[_Attempt]:
    """The kernel with its regions timed, and all schemes; budget: registers per thread for n more blocks."""

    def virtual(scheme: Callable[[], multiplex.VirtualKernel]) -> Callable[[], Launch]:
        def make() -> Launch:
            made = scheme()
            try:
                return made, *_dims(made.geometry(*own))
            except LaunchError:  # a grid that is no multiple of n: the kernel needs a guard
                made = made.fitted(*own)
                return made, *_dims(made.geometry(*own))

        return make

    found = [_Attempt("isolated", lambda: (multiplex.isolate(kernel), *own))]
    for n in VIRTUAL_BLOCKS:
        name = "VTB" if n == 2 else f"VTB, N = {n}"
        found.append(_Attempt(name, virtual(partial(multiplex.vtb, kernel, n))))
    found.append(_Attempt("VTB_pipe", virtual(partial(multiplex.vtb_pipe, kernel))))
    if divided:
        found.append(_Attempt("CO-VTB", virtual(partial(multiplex.co_vtb, kernel, **divided))))
    for n in EXTRA_BLOCKS:
        options = {"management": "dynamic", "extra_blocks": n}
        most = budget(n) if budget else None
        found.append(_Attempt(f"HW, K + {n}", lambda: (multiplex.hw(kernel), *own), False, options, most))
        if divided:
            found.append(
                _Attempt(f"CO-HW, K + {n}", lambda: (multiplex.co_hw(kernel, **divided), *own), False, options, most)
            )
    return found


def _dims(sizes: tuple[Sequence[int], Sequence[int]]) -> tuple[Dim3, Dim3]:
    return dim3("grid", sizes[0]), dim3("block", sizes[1])


def _run(
    attempts: Sequence[_Attempt], run: Callable[[_Attempt], _Outcome], jobs: int | None, progress: bool | None
) -> list[_Outcome]:
    """All attempts, on threads, in order."""
    hidden = None if progress is None else not progress
    with ThreadPoolExecutor(at_a_time(jobs), thread_name_prefix="advise") as pool:
        return list(tqdm(pool.map(run, attempts), "advise", len(attempts), leave=False, disable=hidden))


def _try(attempt: _Attempt, args: Sequence[Any], options: Mapping[str, Any]) -> _Outcome:
    """Simulate on copies of the arguments."""
    mine = _copied(args)
    try:
        launch = attempt.make()
        most = _limit(attempt, launch[0], mine, options)
        result = launch[0].simulate(launch[1], launch[2], mine, **{**options, **attempt.options, "max_registers": most})
    except Error as error:
        return _Outcome(attempt, error=error)
    arrays = tuple(value for value in flatten(mine) if isinstance(value, np.ndarray))
    return _Outcome(attempt, launch, result, arrays, most)


def _budget(fits: Occupancy, gpu: Gpu, block: Dim3, extra: int) -> int:
    """The most registers per thread with which K + extra blocks reside, or what warps, threads and slots allow."""
    others = [blocks for name, blocks in fits.limits.items() if name in ("warps", "threads", "blocks") and blocks]
    return registers_for(gpu, block, min(fits.blocks + extra, *others))


def _limit(attempt: _Attempt, kernel: Kernel, args: Sequence[Any], options: Mapping[str, Any]) -> int | None:
    """The limit of registers for an attempt: its budget if it would take more, else what `advise` was told."""
    told: int | None = options["max_registers"]
    if attempt.budget is None:
        return told
    same = {name: options[name] for name in ("gpu", "schedule", "dynshared")}
    return attempt.budget if kernel.compile(args, **same).nregs > attempt.budget else told


def _copied(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments of the same shape whose writable memory is their own; views of one buffer still share one."""
    copies: dict[int, NDArray[np.uint8]] = {}

    def copied(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return tuple(copied(item) for item in value)
        if hasattr(value, "__array_interface__") and not isinstance(value, np.ndarray | np.generic):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray) or not value.flags.writeable:
            return value
        owner = root(value)
        low, high = extent(owner)
        if id(owner) not in copies:
            copies[id(owner)] = as_bytes(owner, low, high - low).copy()
        start = value.ctypes.data - low
        return np.ndarray(value.shape, value.dtype, copies[id(owner)], start, value.strides)

    return tuple(copied(value) for value in args)


def _scheme(found: _Outcome, baseline: _Outcome) -> Scheme:
    """What the outcome of an attempt says of its scheme."""
    name, software = found.attempt.name, found.attempt.software
    if found.launch is None or found.result is None or baseline.result is None:
        return Scheme(name, software, refused=_reason(found.error))
    differences = [_difference(a, b) for a, b in zip(found.arrays, baseline.arrays, strict=True)]
    equal = all(d is None for d in differences)
    difference = max((d or 0.0 for d in differences), default=0.0)
    speedup = found.result.speedup(baseline.result)
    known = {error.kind for error in _errors(baseline.result)}
    errors = tuple(error for error in _errors(found.result) if error.kind not in known)
    made = (*found.launch, found.result, speedup, equal, difference, errors)
    return Scheme(name, software, *made, max_registers=found.max_registers)


def _spilled(program: Program) -> int:
    """Bytes per thread of values that found no register: local memory behind the kernel's own arrays."""
    own = [array.offset + array.nbytes for array in program.arrays if array.space is Space.LOCAL]
    return program.local_bytes - max(own, default=0)


def _registers(run: Result | None, most: int | None) -> str:
    """What a limit of registers did to a run; empty where there was none."""
    if run is None or most is None:
        return ""
    return f"at most {most} registers per thread, {_spilled(run.program)} bytes spilled"


def _errors(run: Result) -> Sequence[Finding]:
    """What a run does wrong in shared memory."""
    return run.findings.errors if run.findings is not None else ()


def _places(errors: Sequence[Finding]) -> str:
    """Kinds and source lines of errors."""
    return ", ".join(dict.fromkeys(f"{error.kind} at line {error.second.line}" for error in errors))


def _difference(a: NDArray[Any], b: NDArray[Any]) -> float | None:
    """The largest difference of two arrays as a share of the largest value, None if they hold the same bits; infinite
    unless they are finite floats.
    """
    if a.tobytes() == b.tobytes():
        return None
    if a.dtype.kind != "f" or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("inf")
    return float(np.abs(a.astype(np.float64) - b).max() / (np.abs(b).max() or 1))


def _reason(error: Error | None) -> str:
    """An error in one line."""
    if isinstance(error, CompileError) and error.text:
        return f"{str(error).splitlines()[0]}: `{error.text.strip()}`"
    return " ".join(str(error).split()) if error is not None else ""


def _region_share(isolated: Result | None) -> float | None:
    """Time in regions over block lifetime (paper, Figure 1)."""
    return isolated["region_cycles"] / (isolated["block_cycles"] or 1) if isolated is not None else None


def _occupancy(run: Result) -> Occupancy:
    """Blocks of an SM under static management, and what limits them."""
    program, gpu = run.program, run.gpu
    held = program.shared_bytes + program.dynamic_bytes
    return occupancy(run.threads, program.nregs, held, gpu, program.param_bytes(gpu.pointer_bytes))


_NUMBERS = ("grid", "block", "time_us", "cycles", "blocks", "limiter", "registers", "spilled_bytes")


def _numbers(run: Result | None, grid: Dim3 | None, block: Dim3 | None) -> dict[str, Any]:
    """What a row says of a run."""
    if run is None:
        return dict.fromkeys(_NUMBERS)
    used = run.program.nregs, _spilled(run.program)
    return dict(zip(_NUMBERS, (grid, block, run.time_us, run.cycles, run.residency, run.limiter, *used), strict=True))
