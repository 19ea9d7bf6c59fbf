"""Memory layouts: what slides of a course on GPUs advise about them, counted and timed on three cards.

Array of structures against structure of arrays, blocked against interleaved assignment, a product of matrices with and
without tiles in shared memory, and a table in constant, texture or global memory that a warp reads in one place or in
several. Bytes move in sectors of 32; what is used is the share of the bytes moved that threads asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.common import advised, tables, workloads
from experiments.common.advised import CARDS, FINE, MEMORIES, PAIRS, SPREAD, STRETCHES, found, stretched
from experiments.common.harness import Experiment
from experiments.common.verdicts import judged
from experiments.programs.lookups import READS
from smmux import gpus, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record

check = partial(judged, "layouts")


def machines() -> list[Gpu]:
    """The cards."""
    return [gpus.get(name) for name in CARDS]


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Simulate every pattern on every card; outputs are checked."""
    return workloads.simulate_all(advised.points(quick), jobs, "layouts", advised.LABELS)


def factors(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """How many times as long as the pattern that is advised the other one takes, by pair and card."""
    own = found(records)
    return {
        name: {gpu: own[bad, gpu]["cycles"] / own[good, gpu]["cycles"] for gpu in CARDS}
        for name, (bad, good) in PAIRS.items()
    }


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw how much slower each pattern is than the one that is advised."""
    shown = [
        {"pattern": name.replace(" ", "\n", 1), "card": gpu, "factor": factor}
        for name, row in factors(records).items()
        for gpu, factor in row.items()
    ]
    figures.grouped_bars(ax, shown, x="pattern", hue="card", y="factor", labels=True, number="{:.1f}".format)
    figures.reference_line(ax, 1, "as advised")
    ax.set_yscale("log")
    ax.set_ylim(0.8, 60)
    ax.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    ax.minorticks_off()
    ax.set_ylabel("Times slower")
    figures.legend(ax, ncols=4, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_stretches(records: Sequence[Record], ax: Any) -> Any:
    """Draw the sectors of an access, the time, and the bytes that DRAM reads for each byte needed, over the number of
    consecutive elements that a thread works on."""
    own = stretched(records)
    base = own[1]["cycles"]
    ax.plot(STRETCHES, [r["requests"] / accesses(r) for r in own.values()], "o-", label="sectors per access")
    ax.plot(STRETCHES, [r["cycles"] / base for r in own.values()], "s--", label="time over that of 1")
    ax.plot(STRETCHES, [reread(r) for r in own.values()], "^:", label="DRAM bytes per byte")
    ax.set_xscale("log", base=2)
    ax.set_xticks(STRETCHES, STRETCHES)
    ax.set_ylim(0, 40)
    ax.set_xlabel(f"consecutive elements per thread ({FINE})")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_tables(records: Sequence[Record], ax: Any) -> Any:
    """Draw the clocks of an SM per read of a warp, by memory and places."""
    own = found(records)
    for memory, style in zip(MEMORIES, ("o-", "s--", "^:"), strict=True):
        ax.plot(SPREAD, [clocks_of_read(own[f"{memory} {places}", FINE]) for places in SPREAD], style, label=memory)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(SPREAD, SPREAD)
    ax.set_xlabel(f"different addresses read by a warp ({FINE})")
    ax.set_ylabel("clk per read")
    figures.legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def accesses(record: Record) -> int:
    """Loads and stores of warps in global memory."""
    return int(record["global_loads"] + record["global_stores"])


def reread(record: Record) -> float:
    """Bytes read from DRAM for each byte that is loaded."""
    loaded = record["global_bytes"] * record["global_loads"] / accesses(record)
    return float(record["dram_reads"] * gpus.get(record["gpu"]).dram_burst_bytes / loaded)


def clocks_of_read(record: Record) -> float:
    """Clocks of an SM for each value that a warp reads from a table."""
    return float(record["cycles"] * gpus.get(record["gpu"]).sm_count / record["warps"] / READS)


def table(records: Sequence[Record]) -> str:
    """Sectors, bytes used and cycles of every pattern, and how much slower those are that are not advised."""
    rows = []
    for r in records:
        n = accesses(r)
        rest: tuple[Any, ...] = (None, None, None)
        if r["workload"] != "LOOKUP" or r["build"] == "global":  # else few accesses are to global memory
            moved = r["transaction_bytes"]
            rest = (r["transactions"] / n, moved / 32 / n, f"{100 * r['global_bytes'] / moved:.1f}")
        l2 = r["l2_hits"] / r["l2_accesses"] if r["l2_accesses"] else None
        passes = r["const_passes"] / r["const_accesses"] if r["const_accesses"] else None
        rows.append((r["pattern"], r["gpu"], r["cycles"], r["time_us"], *rest, l2, passes))
    header = ("", "machine", "cycles", "us", "transactions of an access", "sectors", "bytes used %", "L2 hits",
              "constant passes")  # fmt: skip
    slower = [(name, *row.values()) for name, row in factors(records).items()]
    return tables.table(header, rows) + "\n\n" + tables.table(("times slower than advised", *CARDS), slower)


def caption(records: Sequence[Record]) -> str:
    """A sentence with the factors on one card, and where the L2 helps no more."""
    own, rows = stretched(records), factors(records)
    worst = max(own, key=lambda stretch: reread(own[stretch]))
    listed = ", ".join(f"{name} {row[FINE]:.1f}" for name, row in rows.items())
    return (
        f"Layouts. How many times as long a pattern takes as the one that is advised; on a {FINE} {listed}. In the "
        f"middle blocked assignment: from 8 elements in a row on, an access touches 32 sectors, and with {worst} DRAM "
        f"reads {reread(own[worst]):.0f} bytes for each that is needed. Below: a table read in several places."
    )


def summary(records: Sequence[Record]) -> Record:
    """The factors, and what is drawn below them."""
    own = found(records)
    return {
        "slower": factors(records),
        "stretches": {stretch: [r["requests"] / accesses(r), r["cycles"]] for stretch, r in stretched(records).items()},
        "clocks of a read": {m: [clocks_of_read(own[f"{m} {p}", FINE]) for p in SPREAD] for m in MEMORIES},
    }


def sizes(quick: bool) -> Record:
    """The sizes of the problems."""
    return advised.SIZES[quick]


EXPERIMENT = Experiment.of(globals(), plots=[plot, plot_stretches, plot_tables], figsize=(3.33, 5.4))
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
