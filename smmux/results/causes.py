"""Why one run is faster than another: where the time went, and what work there was, cause by cause."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smmux import _core

if TYPE_CHECKING:
    from smmux.results.result import Result

__all__ = ["Cause", "causes", "sentence"]

WORK = {
    "instructions": "instructions",
    "shared_passes": "bank passes",
    "transactions": "memory transactions",
    "transaction_bytes": "bytes moved",
    "dram_activates": "rows opened in DRAM",
    "icache_misses": "missing lines of instructions",
}
"""Counters that say how much there was to do, in words; a sentence names them in this order."""
LEAST_WORK, LEAST_TIME = 0.05, 0.01
"""Smaller changes are no causes: of a counter, and of a wait as a share of the baseline's time."""
NAMED = 2
"""Causes of each kind that a sentence names."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that two runs have different amounts of.

    name: in words. baseline, result: microseconds in which the schedulers did it or waited for it, averaged over them,
    or the counter's values. share: the change as a share of the baseline's whole time, None for a counter; the shares
    of all causes add up to the change of the time.
    """

    name: str
    baseline: float
    result: float
    share: float | None = None

    @property
    def text(self) -> str:
        """The change in words, as "31% fewer bank passes"."""
        if not self.baseline:
            return f"{self.name} where there were none"
        if not self.result:
            return f"no {self.name}"
        change = self.result / self.baseline - 1
        less = "less" if self.share is not None else "fewer"
        return f"{abs(change):.0%} {'more' if change > 0 else less} {self.name}"


def causes(baseline: Result, result: Result) -> list[Cause]:
    """All causes that differ: first those of time, the largest first, then those of work in the order of `WORK`."""
    words = {counter.removeprefix("idle_"): f"waiting for {text}" for _, counter, text in _core.WAITS}
    before, after = (
        {reason: run.time_us * share for reason, share in run.stalls.items()} for run in (baseline, result)
    )
    whole = baseline.time_us or 1
    times = [
        Cause(words.get(reason, "time to issue"), was, now, (now - was) / whole)
        for reason in dict.fromkeys((*before, *after))
        if (was := before.get(reason, 0.0)) != (now := after.get(reason, 0.0))
    ]
    work = [Cause(text, baseline[name], result[name]) for name, text in WORK.items() if baseline[name] != result[name]]
    return [*sorted(times, key=lambda cause: -abs(cause.share or 0)), *work]


def sentence(baseline: Result, result: Result) -> str:
    """The speed and its main causes, as "12% faster: 60% less waiting for shared-memory data, 31% fewer bank passes".

    Slower by 10% is what takes 1.1 times as long.
    """
    speedup = result.speedup(baseline)
    found = causes(baseline, result)
    work = [cause for cause in found if cause.share is None and _factor(cause) > math.log1p(LEAST_WORK)]
    time = [cause for cause in found if cause.share is not None and abs(cause.share) > LEAST_TIME]
    named = ", ".join(cause.text for cause in (*time[:NAMED], *work[:NAMED]))
    pace = speedup - 1 if speedup >= 1 else 1 / speedup - 1
    head = "as fast" if pace < 0.005 else f"{pace:.0%} {'faster' if speedup > 1 else 'slower'}"
    if baseline.sampled or result.sampled:
        head += " (sampled)"
    return f"{head}: {named}" if named else head


def _factor(cause: Cause) -> float:
    """How far a counter moved, up or down; infinite if it came or went."""
    if not cause.baseline or not cause.result:
        return math.inf
    return abs(math.log(cause.result / cause.baseline))
