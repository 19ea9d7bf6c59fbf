"""Advice in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from smmux.advice.measures import misuses, spilled_bytes
from smmux.base.counted import counted
from smmux.errors import Error
from smmux.results.checks import Finding
from smmux.results.result import Result

if TYPE_CHECKING:
    from smmux.advice.answer import Advice, Scheme

__all__ = ["conclusion", "diagnosis", "page", "reason", "remark", "verdict"]

MANY_WAVES = 8
"""Say so if the grid fills the card fewer times than this: the time then depends on how full the last wave is."""


def reason(error: Error | None) -> str:
    """An error in one line; empty for none."""
    return error.in_a_line if error is not None else ""


def remark(scheme: Scheme) -> str:
    """Remark on a scheme's outputs, misuses and registers; empty if nothing differs from the baseline."""
    if scheme.refused:
        return ""
    parts = []
    if not scheme.equal:
        rounding = f"outputs differ by rounding ({scheme.difference:.0e})"
        parts.append(rounding if scheme.right else "OUTPUTS DIFFER from the baseline's")
    if scheme.errors:
        parts.append(f"shared memory is MISUSED: {_places(scheme.errors)}")
    return _joined(*parts, _registers(scheme.result, scheme.max_registers))


def verdict(scheme: Scheme) -> str:
    """A scheme's speedup, or why it does not apply, in a few words."""
    if scheme.refused:
        return f"does not apply: {scheme.refused}"
    return _joined(f"{scheme.speedup:.3f} x", remark(scheme))


def diagnosis(advice: Advice) -> list[str]:
    """Sentences about the kernel as it is: its time, its occupancy, its stalls and its use of shared memory."""
    run = advice.baseline
    taken = f"{run.time_us:,.2f} us, {run.cycles:,} cycles, schedule {run.schedule}"
    registers = _registers(run, advice.max_registers)
    errors = misuses(run)
    misused = f"the kernel misuses shared memory ({_places(errors)})"
    waves = run["blocks"] / (run.gpu.sm_count * (advice.occupancy.blocks or 1))
    orders = (
        'schedules "source" and "list" give DIFFERENT OUTPUTS: the kernel counts on an order that it does not state'
    )
    hint = f"the grid fills the card {waves:.2g} times: a larger one says more of long runs"
    return [
        f"{advice.kernel.__name__} on {run.gpu.name}: {taken}",
        _residency(advice),
        *([f"compiled, as all schemes are, for {registers}"] if registers else []),
        f"schedulers issue for {100 * run.stalls['issue']:.0f} % of the time, else wait: {_stalls(run)}",
        f"shared memory {_use(advice)}",
        *([f"{misused}: what it gives is right by luck at most"] if errors else []),
        *([] if advice.ordered else [orders]),
        *([hint] if waves < MANY_WAVES else []),
    ]


def conclusion(advice: Advice) -> list[str]:
    """Sentences about what to do."""
    lines = []
    if best := advice.best:
        lines.append(f"best: {best.name}, {best.speedup:.2f} x; {_launch(advice, best)}")
    else:
        lines.append(
            f"no scheme gains 2 %: {'change these lines' if advice.improvements else 'keep the kernel as it is'}"
        )
    if hard := advice.best_hardware:
        said = _joined(f"{hard.speedup:.2f} x", _registers(hard.result, hard.max_registers))
        lines.append(f"with the paper's hardware: {hard.name}, {said}")
    return lines


def page(advice: Advice) -> str:
    """Diagnosis, a line per improvement, a line per scheme, and conclusion."""
    lines = [*diagnosis(advice), "", *map(str, advice.improvements), *[""] * bool(advice.improvements), *_table(advice)]
    if not any(scheme.result for scheme in advice.schemes):
        lines.append("  no scheme applies")
    return "\n".join([*lines, "", *conclusion(advice)])


def _table(advice: Advice) -> Iterator[str]:
    """Yield a line per scheme; those that do not apply for the reason that the diagnosis gives are left out."""
    for scheme in advice.schemes:
        if scheme.refused == advice.unshared != "":
            continue
        said = verdict(scheme)
        if (run := scheme.result) is not None:
            speedup, fits = f"{scheme.speedup:.3f} x", f"{run.residency} x {run.threads} threads on an SM"
            said = _joined(f"{speedup:12}{fits}", remark(scheme))
        yield f"  {scheme.name:14}{said}"


def _residency(advice: Advice) -> str:
    """Say how many of the kernel's blocks an SM holds, and which resources limit them."""
    fits = advice.occupancy
    equal = [name for name, blocks in fits.limits.items() if blocks == fits.blocks]
    limiter = ", ".join([fits.limiter, *(name for name in equal if name != fits.limiter)])
    limits = ", ".join(f"{name} {blocks}" for name, blocks in fits.limits.items() if blocks is not None)
    threads = f"{fits.threads} threads with {advice.baseline.program.nregs} registers each"
    held = f"{counted(fits.blocks, 'block')}, {threads}"
    return f"an SM holds {held}: limited by {limiter} ({limits})"


def _stalls(run: Result) -> str:
    """List the reasons for which schedulers waited at least 1 % of the time, the longest first."""
    idle = sorted(((v, k) for k, v in run.stalls.items() if k != "issue" and v >= 0.01), reverse=True)
    return ", ".join(f"{name.replace('_', ' ')} {100 * share:.0f} %" for share, name in idle)


def _use(advice: Advice) -> str:
    """Say for how long shared memory is in use, or why that cannot be said."""
    if advice.region_share is None:
        return "cannot be multiplexed: " + advice.unshared
    percent = 100 * advice.region_share
    return f"is in use for {percent:.{int(percent < 10)}f} % of a block's life"


def _launch(advice: Advice, scheme: Scheme) -> str:
    """Write the launch of a scheme's kernel, and the launch that it replaces."""
    after = f", 0, {advice.dynshared}" if advice.dynshared else ""
    instead = f"{getattr(scheme.kernel, '__name__', '')}[{scheme.grid}, {scheme.block}{after}]"
    return f"launch {instead} instead of {advice.kernel.__name__}[{advice.grid}, {advice.block}{after}]"


def _registers(run: Result | None, most: int | None) -> str:
    """Say which limit of registers a run had, and what it spilled; empty if there was no limit."""
    if run is None or most is None:
        return ""
    return f"at most {most} registers per thread, {spilled_bytes(run.program)} bytes spilled"


def _places(errors: Sequence[Finding]) -> str:
    """List kinds and source lines of errors."""
    return ", ".join(dict.fromkeys(f"{error.kind} at line {error.second.line}" for error in errors))


def _joined(*parts: str) -> str:
    """Join the parts that are not empty to one sentence."""
    return "; ".join(filter(None, parts))
