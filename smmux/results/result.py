"""Results of runs: cycles, counters, residency, counters per source line and per instruction, and comparisons."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smmux import _core
from smmux.base.dimensions import Dim3
from smmux.base.whole_files import write_text
from smmux.errors import ConfigError, RaceError, boolean, did_you_mean
from smmux.gpus import Gpu
from smmux.machines.management import name_of
from smmux.machines.occupancy import Occupancy, occupancy
from smmux.results import checks
from smmux.results.checks import Findings
from smmux.results.printed import text_of
from smmux.results.recorded import accesses_of
from smmux.results.sampled import Sampled
from smmux.results.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from smmux.compiler.program import Program
    from smmux.results.causes import Cause
    from smmux.results.zoomable import Timeline

__all__ = ["Comparison", "CounterInfo", "Result", "counter_info", "line_counters"]


@dataclass(frozen=True, slots=True)
class CounterInfo:
    """The name of a counter, its unit and its definition."""

    name: str
    unit: str
    doc: str


@cache
def counter_info() -> Mapping[str, CounterInfo]:
    """Unit and definition of every counter of a run, in the order of the core's table."""
    return {name: CounterInfo(name, unit, doc) for name, unit, doc in _core.COUNTERS}


@cache
def line_counters() -> Mapping[str, CounterInfo]:
    """Unit and definition of every counter that is kept per instruction and per source line."""
    return {name: CounterInfo(name, unit, doc) for name, unit, doc in _core.PC_COUNTERS}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result(Mapping[str, int]):
    """The result of one run; as a mapping, its counters by name.

    counters: every counter of `counter_info`. residency: the thread blocks that may reside on an SM together
    (`achieved_residency` is how many did on average). limiter: the resource that allows no more. static_residency: the
    residency with static management, the paper's K. profile: counters of each instruction (rows) in the order of
    `line_counters` (columns), None unless asked for. check: the option of that name. findings: the findings of the
    check, None without one. printed: what the kernel printed, in the order of blocks and threads.
    accesses: records of `smmux.results.recorded.ACCESS`, empty unless asked for. trace: the time line, None
    unless asked for. sampled: how sure cycles are of which only a sample was simulated, None if all was.
    warm: whether the launch came behind the same one.
    """

    kernel: str
    gpu: Gpu
    grid: Dim3
    block: Dim3
    management: str
    extra_blocks: int
    counters: Mapping[str, int]
    residency: int
    static_residency: int
    limiter: str
    program: Program = field()
    profile: NDArray[np.uint64] | None = None
    check: str | None = None
    findings: Findings | None = None
    printed: str = ""
    accesses: NDArray[np.void] = field(default_factory=accesses_of)
    trace: Trace | None = None
    sampled: Sampled | None = None
    warm: bool = False

    @classmethod
    def from_core(
        cls,
        outcome: Mapping[str, Any],
        program: Program,
        gpu: Gpu,
        grid: Dim3,
        block: Dim3,
        options: Mapping[str, Any],
        sampled: Sampled | None = None,
    ) -> Result:
        """The result in the dictionary that `_core.launch` returns, of a run with all of `LaunchOptions`."""
        raw, check, preload = outcome.get("per_pc"), options["check"], options["preload"]
        counters = dict(outcome["counters"])
        if preload is not None:
            counters["preload_overflow"] += preload.dropped
        profile = None
        if raw is not None and len(raw):
            profile = np.frombuffer(raw, dtype=np.uint64).reshape(len(program), len(_core.PC_COUNTERS))
        return cls(
            kernel=program.name,
            gpu=gpu,
            grid=grid,
            block=block,
            management=name_of(options["management"]),
            extra_blocks=options["extra_blocks"],
            counters=counters,
            residency=outcome["residency"],
            static_residency=outcome["static_residency"],
            limiter=outcome["limiter"],
            program=program,
            profile=profile,
            check=check,
            findings=checks.from_core(outcome["findings"], outcome["findings_lost"], program, grid, block)
            if check
            else None,
            printed=text_of(outcome["printed"], outcome["printed_lost"], program),
            accesses=accesses_of(outcome["accesses"]),
            trace=Trace.from_core(outcome["trace"], program, gpu, counters["cycles"]),
            sampled=sampled,
            warm=options["warm"],
        )

    # ---- the mapping: counters by name

    def __getitem__(self, name: str) -> int:
        try:
            return self.counters[name]
        except KeyError:
            raise KeyError(f"there is no counter {name!r}{did_you_mean(str(name), self.counters)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.counters)

    def __len__(self) -> int:
        return len(self.counters)

    # ---- headline numbers

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    @property
    def schedule(self) -> str:
        """The compiler's schedule of the kernel that ran, "source" or "list"; empty where no compiler ordered it."""
        return self.program.schedule

    @property
    def cycles(self) -> int:
        """Shader clocks from launch to the last acknowledgement of the grid."""
        return self.counters["cycles"]

    @property
    def time_us(self) -> float:
        """Microseconds from launch to the last acknowledgement of the grid."""
        return self.gpu.time_us(self.cycles)

    @property
    def achieved_residency(self) -> float:
        """Thread blocks resident on an SM, on average over SMs and time: below `residency` where the grid is small,
        blocks start late or the last wave runs out."""
        return self.counters["block_cycles"] / ((self.cycles * self.gpu.sm_count) or 1)

    @property
    def stalls(self) -> dict[str, float]:
        """Shares of the schedulers' time, which add up to 1: "issue", then the reasons for which they waited."""
        total = self.counters["scheduler_cycles"] or 1
        shares = {"issue": self.counters["issue_cycles"] / total}
        for name, value in self.counters.items():
            if name.startswith("idle_"):
                shares[name.removeprefix("idle_")] = value / total
        return shares

    @property
    def occupancy(self) -> Occupancy:
        """The blocks of an SM that each resource alone would allow, and the one that decides."""
        program, gpu, dynamic = self.program, self.gpu, self.management != "static"
        return occupancy(
            self.threads,
            program.nregs,
            program.shared_bytes - program.reserved_bytes,
            gpu,
            program.param_bytes(gpu.pointer_bytes),
            dynamic_bytes=program.dynamic_bytes,
            extra_blocks=self.extra_blocks if dynamic else None,
        )

    # ---- what the checks found

    @property
    def races(self) -> Findings:
        """The data races among the findings; raises ConfigError if the run did not look for any."""
        return self._checked().of("race")

    def raise_for_findings(self, warnings: bool = False) -> None:
        """Raise RaceError if the run's check found an error (or, if wanted, a warning); its `findings` has them all."""
        wanted = self._checked() if boolean("warnings", warnings) else self._checked().errors
        if wanted:
            raise RaceError.from_findings(self.kernel, wanted)

    def _checked(self) -> Findings:
        if self.findings is None:
            raise ConfigError("the run was not checked; use simulate(..., check='races')")
        return self.findings

    # ---- per instruction and per line

    def instructions(self) -> list[dict[str, Any]]:
        """One record per instruction: pc, line, op and, when profiled, the counters of `line_counters`; of compiled
        code also its text and file."""
        code, names = self.program.code, list(line_counters())
        records = []
        for pc, op in enumerate(self.program.ops):
            record: dict[str, Any] = {"pc": pc, "line": int(code["line"][pc]), "op": op}
            if self.program.instructions:
                compiled = self.program.instructions[pc]
                record |= {"op": compiled.name, "text": compiled.text, "file": self.program.file_of(pc)}
            if self.profile is not None:
                record.update(zip(names, self.profile[pc].tolist(), strict=True))
            records.append(record)
        return records

    @property
    def files(self) -> tuple[str, ...]:
        """The files that lines are of: the kernel's own, and of compiled code those that it includes."""
        others = {self.program.file_of(pc) for pc in range(len(self.program))} - {self.program.filename}
        return (self.program.filename, *sorted(others))

    def listing(self) -> str:
        """The program as text; where the run was profiled, with each instruction's numbers of issues, and the
        schedulers' clocks in which they waited for it."""
        if self.profile is None:
            return self.program.listing()
        names = list(line_counters())
        columns = [self.profile[:, names.index(name)].tolist() for name in ("issued", "idle")]
        widths = [max(len(str(value)) for value in column) for column in columns]
        notes = [
            "  ".join(str(value).rjust(width) for value, width in zip(row, widths, strict=True))
            for row in zip(*columns, strict=True)
        ]
        return "in front of each instruction: issued, idle\n" + self.program.listing(notes=notes)

    def lines(self, sort: str = "line", file: str | None = None) -> dict[int, dict[str, int]]:
        """Counters of `line_counters` per source line of a profiled run.

        sort: "line", or the name of a counter, by which the lines come from the most to the least. file: one of
        `files`, by default the kernel's own. Raises ConfigError for any other name, and unless the run was profiled.
        """
        names = list(line_counters())
        if sort not in ("line", *names):
            raise ConfigError(f"lines have no counter {sort!r}{did_you_mean(sort, names)}")
        here = self._pcs_of(file)
        if self.profile is None:
            raise ConfigError("the run was not profiled; use simulate(..., profile=True)")
        lines, row = np.unique(self.program.code["line"][here], return_inverse=True)
        sums = np.zeros((len(lines), self.profile.shape[1]), np.uint64)
        np.add.at(sums, row, self.profile[here])
        found = {
            int(line): dict(zip(names, values, strict=True)) for line, values in zip(lines, sums.tolist(), strict=True)
        }
        return found if sort == "line" else dict(sorted(found.items(), key=lambda item: -item[1][sort]))

    def _pcs_of(self, file: str | None) -> slice | NDArray[np.intp]:
        """The instructions whose lines are of a file."""
        if not self.program.instructions and file in (None, self.program.filename):
            return slice(None)
        name = file or self.program.filename
        if name not in self.files:
            raise ConfigError(f"the kernel has no lines of {name!r}{did_you_mean(name, self.files)}")
        return np.array([pc for pc in range(len(self.program)) if self.program.file_of(pc) == name], np.intp)

    def line_time(self, file: str | None = None) -> dict[int, float]:
        """The share of the schedulers' time that each source line took, waiting included.

        file: one of `files`, by default the kernel's own. Raises ConfigError unless the run was profiled.
        """
        slot = self["issue_cycles"] / (self["instructions"] or 1)  # clocks of a scheduler per instruction
        total = self["scheduler_cycles"] or 1
        return {line: (each["idle"] + slot * each["issued"]) / total for line, each in self.lines(file=file).items()}

    def source(self, line: int, file: str | None = None) -> str:
        """Text of a line of one of `files`, by default the kernel's own; empty when it cannot be read."""
        return self.program.source(line, file)

    # ---- as data

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as JSON gives it back: what ran, on what, all counters, if the run was profiled those of every
        source line, and what the kernel printed, if it did."""
        return {
            "kernel": self.kernel,
            "gpu": self.gpu.name,
            "grid": list(self.grid),
            "block": list(self.block),
            "management": self.management,
            "extra_blocks": self.extra_blocks,
            "cycles": self.cycles,
            "time_us": self.time_us,
            "sampled": None if self.sampled is None else self.sampled.to_dict(),
            "warm": self.warm,
            "residency": self.residency,
            "static_residency": self.static_residency,
            "achieved_residency": self.achieved_residency,
            "limiter": self.limiter,
            "schedule": self.schedule,
            "registers": self.program.nregs,
            "shared_bytes": self.program.shared_bytes,
            "dynamic_bytes": self.program.dynamic_bytes,
            "counters": dict(self.counters),
            "lines": None if self.profile is None else {str(line): each for line, each in self.lines().items()} or None,
            **self._other_lines(),
            "check": self.check,
            "findings": None if self.findings is None else [finding.to_dict() for finding in self.findings],
            **({"printed": self.printed} if self.printed else {}),
        }

    def _other_lines(self) -> dict[str, Any]:
        """The lines of files beside the kernel's own, where there are some."""
        others = {} if self.profile is None else {file: self.lines(file=file) for file in self.files[1:]}
        plain = {file: {str(line): each for line, each in lines.items()} for file, lines in others.items()}
        return {"lines_of": plain} if plain else {}

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what a notebook shows, and the time line if there is one, as a page that needs no other file."""
        from smmux.results import result_pages

        write_text(path, result_pages.result_page(self))

    def to_pandas(self) -> pd.DataFrame:
        """Counters as a table with unit and definition (needs pandas)."""
        import pandas as pd

        rows = [(name, value, counter_info()[name].unit, counter_info()[name].doc) for name, value in self.items()]
        return pd.DataFrame(rows, columns=["counter", "value", "unit", "definition"]).set_index("counter")

    # ---- comparisons

    def __sub__(self, other: Result) -> dict[str, int]:
        """Differences of the counters."""
        if not isinstance(other, Result):
            return NotImplemented
        return {name: value - other.counters.get(name, 0) for name, value in self.items()}

    def speedup(self, baseline: Result) -> float:
        """The simulated time of the baseline over that of this run."""
        return baseline.time_us / self.time_us

    def compare(self, baseline: Result) -> Comparison:
        """The comparison of this run with a baseline."""
        return Comparison(baseline, self)

    def timeline(self, sm: int | None = None) -> Timeline:
        """The zoomable time line of an SM, by default of the one that had most blocks.

        Raises ConfigError unless the run recorded one with `trace=True`, and for a number that is no SM's.
        """
        from smmux.results.zoomable import Timeline

        if self.trace is None:
            raise ConfigError("the run recorded no time line; use simulate(..., trace=True)")
        return Timeline.of(self.trace, sm)

    # ---- as text

    def __repr__(self) -> str:
        ordered = f", schedule {self.schedule}" if self.schedule else ""
        sampled = "" if self.sampled is None else f" ({self.sampled.text})"
        sampled += " (warm)" * self.warm
        checked = "" if self.findings is None else f", check {self.check}: {self.findings.summary()}"
        return (
            f"<Result {self.kernel} on {self.gpu.name}: {self.cycles} cycles, {self.time_us:.2f} us{sampled}, "
            f"{self.residency} blocks per SM ({self.limiter}){ordered}{checked}>"
        )

    def _repr_html_(self) -> str:
        from smmux.results import result_pages

        return result_pages.result_html(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two results side by side; printing it shows why one is faster, and the counters that differ."""

    baseline: Result
    result: Result

    @property
    def speedup(self) -> float:
        """Baseline's time over the result's."""
        return self.result.speedup(self.baseline)

    def causes(self) -> list[Cause]:
        """Where the time went and what work there was, cause by cause: what differs, time first, the largest first."""
        from smmux.results.causes import causes

        return causes(self.baseline, self.result)

    @property
    def text(self) -> str:
        """The speed and its main causes in a line, as "12% faster: 31% fewer bank passes"."""
        from smmux.results.causes import sentence

        return sentence(self.baseline, self.result)

    def rows(self) -> list[tuple[str, str, int, int]]:
        """(counter, unit, baseline, result) of the counters that differ."""
        units = counter_info()
        pairs = ((name, self.baseline.counters.get(name, 0), value) for name, value in self.result.items())
        return [(name, units[name].unit, before, after) for name, before, after in pairs if before != after]

    def changes(self) -> list[tuple[str, str, int, int]]:
        """`rows`, those first that changed by the largest factor, up or down; 1 is added to both sides of a factor, so
        that counters that began or ended at 0 have their place."""
        return sorted(self.rows(), key=lambda row: -abs(math.log((row[3] + 1) / (row[2] + 1))))

    def __str__(self) -> str:
        lines = [f"{self.baseline!r}", f"{self.result!r}", f"speedup {self.speedup:.3f}", self.text]
        for name, unit, before, after in self.rows():
            ratio = f"x {after / before:.3f}" if before else ""
            lines.append(f"  {name:24}{before:>14}{after:>14}  {ratio:10}{unit}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from smmux.results import result_pages

        return result_pages.comparison_html(self)
