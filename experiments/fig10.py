"""Figure 10: the SMM table of collaborative blocks, as recorded: three blocks of 6 kB on an SM of 16 kB.

Of its 6 kB a block keeps 4 for its life, and has 2 only between an allocating and a releasing barrier. Static
management holds two such blocks, CO-HW three: their private parts lie from address 0 up, and two public parts at the
upper end, which the three blocks take in turn. The paper's table is a drawing; this one is of a kernel that stages
words of global memory through both parts, on the card whose shared memory has no bytes of the system in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.common import timelines
from experiments.common.harness import Experiment
from experiments.common.verdicts import judged
from smmux import cuda, float32, gpus, smm
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

GPU = "GTX480-16K"
BLOCKS, THREADS, ROUNDS = 45, 128, 6
check = partial(judged, "fig10")


@cuda.jit
def collaborate(a, b):
    """Reverse tiles of 128 words in each block, half of the rows through private and half through public memory."""
    private = cuda.shared.array((8, 128), float32)
    public = smm.array((4, 128), float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 72
    for row in range(6):
        for k in range(8):
            private[k, t] = a[first + row * 12 + k, t]
        cuda.syncthreads()
        for k in range(8):
            b[first + row * 12 + k, t] = private[k, 127 - t]
        smm.alloc()
        for k in range(4):
            public[k, t] = a[first + row * 12 + 8 + k, t]
        cuda.syncthreads()
        for k in range(4):
            b[first + row * 12 + 8 + k, t] = public[k, 127 - t]
        smm.release()


def machines() -> list[Gpu]:
    """The card whose SM holds 16 kB for kernels alone."""
    return [gpus.get(GPU)]


def sizes() -> Record:
    """Blocks of the grid, and rounds of each."""
    return {"blocks": BLOCKS, "rounds": ROUNDS}


def simulate(*, gpu: Gpu, management: str, extra_blocks: int) -> Record:
    """Run the kernel, check that its outputs are the inputs reversed, and return the record of one SM."""
    a = np.arange(BLOCKS * ROUNDS * 12 * THREADS, dtype=np.float32).reshape(-1, THREADS)
    b = np.zeros_like(a)
    result = collaborate.simulate(
        BLOCKS, THREADS, (a, b), gpu=gpu, management=management, extra_blocks=extra_blocks, trace=timelines.EVENTS
    )
    if not np.array_equal(b, a[:, ::-1]):
        raise ArithmeticError("fig10: the rows are not reversed")
    return timelines.record_of(result)


def run(jobs: int | None = None) -> list[Record]:
    """Simulate static management and CO-HW."""
    [gpu] = machines()
    points = [
        {"gpu": gpu, "management": "static", "extra_blocks": 0},
        {"gpu": gpu, "management": "dynamic", "extra_blocks": 1},
    ]
    return sweep(simulate, points, jobs=jobs, description="fig10")


LABELS = {"static": "static", "dynamic": "CO-HW"}


def plot(records: Sequence[Record], ax: Any, number: int = 1) -> Any:
    """Draw the SMM table of one run."""
    record = records[number]
    timelines.plot_memory(record, ax, max(r["time_us"] for r in records))
    ax.set_title(
        f"{LABELS[record['management']]}: shared memory by place (hatched: allocated at a barrier)",
        loc="left", fontsize=7, pad=2,
    )  # fmt: skip
    ax.set_yticks(range(0, 17, 4))
    ax.tick_params(labelbottom=False)
    return ax


def plot_warps(records: Sequence[Record], ax: Any) -> Any:
    """Draw the warps of CO-HW."""
    timelines.plot_warps(records[1], ax, "CO-HW", max(r["time_us"] for r in records))
    ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1.0, 0.98), fontsize=6)
    ax.tick_params(labelbottom=False)
    return ax


def plot_series(records: Sequence[Record], ax: Any, name: str = "ipc") -> Any:
    """Draw one curve of both runs."""
    longest = max(r["time_us"] for r in records)
    timelines.plot_series(records, ax, name, [LABELS[r["management"]] for r in records], longest)
    last = name == list(timelines.SERIES)[-1]
    ax.tick_params(labelbottom=last)
    if name == "ipc":
        ax.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.95), fontsize=6)
    if last:
        ax.set_xlabel("us", fontsize=6, labelpad=1)
    return ax


def entries(records: Sequence[Record]) -> list[tuple[int, int]]:
    """Address and size of every entry that the table of CO-HW had, each once, from below."""
    line = json.loads(records[1]["timeline"])
    found = [(at, size) for *_, at, size in line["blocks"] + line["allocations"]]
    return sorted(set(found))


def table(records: Sequence[Record]) -> str:
    """Times, residency, waits, and the entries of the table beside the paper's."""
    shown = timelines.table_of(records, [LABELS[r["management"]] for r in records])
    listed = ", ".join(f"{size} at {at}" for at, size in entries(records))
    return (
        f"{shown}\n\nentries of CO-HW: {listed}\n"
        "paper: 4096 at 0, 4096 at 4096, 4096 at 8192, 2048 at 12288, 2048 at 14336 (printed 14436)"
    )


def caption(records: Sequence[Record]) -> str:
    """A sentence with blocks and times."""
    static, dynamic = records
    return (
        f"Figure 10. Blocks of 4 kB private and 2 kB public shared memory on one SM of {GPU}: static management holds "
        f"{static['residency']} at a time, CO-HW {dynamic['residency']}, which is "
        f"{static['time_us'] / dynamic['time_us']:.2f} times as fast where there are three blocks for each SM."
    )


def summary(records: Sequence[Record]) -> Record:
    """Entries of the table, blocks at a time, and times."""
    return {
        "entries": entries(records),
        "residency": [r["residency"] for r in records],
        "time_us": [r["time_us"] for r in records],
    }


EXPERIMENT = Experiment.of(
    globals(),
    plots=[
        partial(plot, number=0),
        partial(plot, number=1),
        plot_warps,
        *(partial(plot_series, name=name) for name in timelines.SERIES),
    ],
    figsize=(6.8, 6.6),
)
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
