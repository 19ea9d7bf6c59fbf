"""The answer: the limits of a kernel, and the gain of each scheme to multiplex its shared memory."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smmux.advice import text
from smmux.advice.improvement import Improvement
from smmux.advice.measures import misuses, spilled_bytes
from smmux.base.dimensions import Dim3
from smmux.kernels.kernel import Kernel
from smmux.machines.occupancy import Occupancy
from smmux.results.checks import Finding
from smmux.results.result import Result

__all__ = ["Advice", "Scheme", "fastest"]

WORTH = 1.02
"""A speedup below this is not worth another kernel."""

ROUNDING = 1e-5
"""Take differences of floats up to this share of the largest value for rounding, by another order of additions."""


@dataclass(frozen=True, slots=True, repr=False)
class Scheme:
    """One way to multiplex shared memory, tried on the kernel.

    name: the scheme's name in the paper. software: True if it rewrites the kernel for any card, False if it needs the
    paper's hardware. kernel, grid, block: the launch that takes the baseline's place. result: of the simulation.
    speedup: time of the baseline over time of the scheme. equal: whether the scheme left the same bits in every array
    as the baseline. difference: by how much arrays of floats differ, the largest difference as a share of the array's
    largest value (additions in another order differ by rounding); infinite if integers or values without bound differ.
    errors: misuses of shared memory of kinds that the baseline's run does not have; only schemes that would be the best
    are checked for them. refused: why the scheme does not apply, and then kernel to difference are None; empty if it
    applies. max_registers: the limit of registers per thread that the kernel was compiled with, either to make room for
    extra blocks or because the caller of `advise` set it; None if there was no limit.
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
        """Whether the outputs are those of the baseline, up to rounding."""
        return self.difference is not None and self.difference <= ROUNDING

    @property
    def usable(self) -> bool:
        """Whether the scheme gains 2 % with right outputs and no new errors."""
        return self.speedup is not None and self.speedup >= WORTH and self.right and not self.errors

    @property
    def remark(self) -> str:
        """What there is to remark on outputs, misuses and registers; empty if nothing differs from the baseline."""
        return text.remark(self)

    @property
    def verdict(self) -> str:
        """The speedup with the remarks, or why the scheme does not apply."""
        return text.verdict(self)

    def __repr__(self) -> str:
        return f"<Scheme {self.name}: {self.verdict}>"


@dataclass(frozen=True, slots=True, repr=False)
class Advice:
    """The limits of a kernel, what its accesses waste, how long it uses shared memory, and the gain of each scheme.

    baseline: the kernel's own run. occupancy: how many blocks an SM holds, by resource. region_share: the share of a
    block's life that it spends in regions of shared memory; None if no regions are found, and then `unshared` says why.
    reordered: by how much the outputs differ under the compiler's other schedule, as a scheme's `difference`; None if
    the kernel did not run under it. improvements: changes of single lines that would make the kernel ask less of the
    machine, in the order of lines. schedule, max_registers, dynshared: the options of all runs. With them `simulate`
    repeats each run; a scheme for the paper's hardware takes its own `max_registers`.
    """

    kernel: Kernel
    grid: Dim3
    block: Dim3
    baseline: Result
    occupancy: Occupancy
    region_share: float | None
    unshared: str
    reordered: float | None
    schemes: tuple[Scheme, ...]
    improvements: tuple[Improvement, ...]
    schedule: str
    max_registers: int | None
    dynshared: int

    @property
    def ordered(self) -> bool:
        """Whether the other schedule gives the same outputs up to rounding; True if the kernel did not run under it."""
        return self.reordered is None or self.reordered <= ROUNDING

    @property
    def best(self) -> Scheme | None:
        """The fastest usable scheme for a card that exists; None if none gains 2 %."""
        return fastest([scheme for scheme in self.schemes if scheme.software])

    @property
    def best_hardware(self) -> Scheme | None:
        """The fastest usable scheme that needs the paper's hardware; None if none gains 2 %."""
        return fastest([scheme for scheme in self.schemes if not scheme.software])

    @property
    def source(self) -> str:
        """Source of the best kernel, ready to use: the best scheme's, or the kernel's own if none gains."""
        return self.best.source if self.best else self.kernel.source

    def diagnosis(self) -> list[str]:
        """Sentences about the kernel as it is: its time, its occupancy, its stalls and its use of shared memory."""
        return text.diagnosis(self)

    def conclusion(self) -> list[str]:
        """Sentences about what to do."""
        return text.conclusion(self)

    def rows(self) -> list[dict[str, Any]]:
        """One flat record per scheme, the baseline first; an infinite difference is None."""
        first = {
            "scheme": "baseline",
            "software": True,
            "speedup": 1.0,
            "equal": True,
            "difference": 0.0,
            "errors": len(misuses(self.baseline)),
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
            "ordered": self.ordered,
            "schedule": self.schedule,
            "max_registers": self.max_registers,
            "dynshared": self.dynshared,
            "improvements": [each.to_dict() for each in self.improvements],
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
        return text.page(self)

    def _repr_html_(self) -> str:
        from smmux.advice.advice_page import advice_html

        return advice_html(self)


def fastest(schemes: Sequence[Scheme]) -> Scheme | None:
    """The usable scheme with the largest speedup, the first of equal ones; None if no scheme is usable."""
    usable = [scheme for scheme in schemes if scheme.usable]
    return max(usable, key=lambda scheme: scheme.speedup or 0, default=None)


_NUMBERS = ("grid", "block", "time_us", "cycles", "blocks", "limiter", "registers", "spilled_bytes")


def _numbers(run: Result | None, grid: Dim3 | None, block: Dim3 | None) -> dict[str, Any]:
    """The columns of a row that describe a run; all of them None without a run."""
    if run is None:
        return dict.fromkeys(_NUMBERS)
    used = run.program.nregs, spilled_bytes(run.program)
    return dict(zip(_NUMBERS, (grid, block, run.time_us, run.cycles, run.residency, run.limiter, *used), strict=True))
