"""The maximum of each chunk: three tries of a course at a word that all threads of a block raise, under the race check.

The first try is wrong, with its guard as printed and mended; the second is wrong; the third is right. Each runs with
`check="races"`, and what the check finds stands beside how many chunks come out right. The second try stops at a
barrier that not all threads of a warp reach; where all threads of a warp have the same element it runs, and is wrong.

Which of several threads' stores wins is open. Both later tries are played as a game of rounds under several rules, and
the third runs for all inputs of small blocks.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.common import tables
from experiments.common.harness import Experiment
from experiments.common.rounds import WINNERS, all_outcomes, played
from experiments.common.verdicts import judged
from experiments.programs import chunk_maximum
from smmux import BarrierError, Result, gpus, plot as figures
from smmux.gpus import Gpu
from smmux.sweep import Record, sweep

check = partial(judged, "chunkmax")
GPU = "GTX480-48K"
POISON = -1
"""In outputs before a run; no element is negative."""
CHUNK, LANES = chunk_maximum.CHUNK, 32
TRIES = {
    "try 1": chunk_maximum.try_1,
    "try 1, mended": chunk_maximum.try_1_mended,
    "try 2": chunk_maximum.try_2,
    "try 3": chunk_maximum.try_3,
}
MESSAGES = {"with barrier": chunk_maximum.message, "without": chunk_maximum.message_without_barrier}
INPUTS = ("random", "same in a warp")


def chunks_of(inputs: str, chunks: int) -> NDArray[np.int32]:
    """Rows of elements: of a random number each, or of one for all threads of a warp."""
    rng = np.random.default_rng(5)
    if inputs == "random":
        return rng.integers(0, 1 << 31, (chunks, CHUNK), np.int32)
    return np.repeat(rng.integers(0, 1 << 31, (chunks, CHUNK // LANES), np.int32), LANES, axis=1)


def small_blocks(quick: bool) -> dict[str, NDArray[np.int32]]:
    """All inputs of small blocks, by what they are: rows of elements."""
    alone, values, warps = (4, 3, 3) if quick else (6, 4, 4)
    orders = list(itertools.permutations(range(alone)))
    few = list(itertools.product(range(values), repeat=values + 1))
    of_warps = list(itertools.product(range(warps), repeat=warps))
    spread = np.zeros((len(of_warps), warps * LANES), np.int32)
    for row, found in zip(spread, of_warps, strict=True):
        row[[LANES * w + (5 * w + 1) % LANES for w in range(warps)]] = found
    return {
        f"orders of {alone} numbers": np.array(orders, np.int32),
        f"{values + 1} threads with {values} numbers": np.array(few, np.int32),
        f"{warps} warps with {warps} numbers, same in a warp": np.repeat(np.array(of_warps, np.int32), LANES, axis=1),
        f"{warps} warps with {warps} numbers, one thread of each": spread,
    }


def sizes(quick: bool) -> Record:
    """Chunks of the runs, and of the games."""
    return {"chunks": 32 if quick else 512, "games": 100 if quick else 2000}


def machines() -> list[Gpu]:
    """The machine of all runs."""
    return [gpus.get(GPU)]


def run(quick: bool = False, jobs: int | None = None) -> list[Record]:
    """Run tries, small blocks and both messages under the check, and play the games; `kind` tells records apart."""
    counts = sizes(quick)
    todo: list[Record] = [
        {"kind": "try", "try": name, "inputs": inputs, "chunks": counts["chunks"]}
        for name, inputs in itertools.product(TRIES, INPUTS)
    ]
    todo += [{"kind": "small", "try": "try 3", "inputs": name, "quick": quick} for name in small_blocks(quick)]
    todo += [{"kind": "message", "try": name} for name in MESSAGES]
    made = sweep(_simulate, todo, jobs=jobs, description="chunkmax")
    return [*made, *played(chunks_of("random", counts["games"]))]


def _simulate(*, kind: str, inputs: str = "", chunks: int = 0, quick: bool = False, **named: Any) -> Record:
    name = named["try"]
    if kind == "message":
        out = np.full(CHUNK, POISON, np.int32)
        return _record(MESSAGES[name].simulate(1, CHUNK, (out,), gpu=GPU, check="races"), out, np.ones(CHUNK))
    rows = small_blocks(quick)[inputs] if kind == "small" else chunks_of(inputs, chunks)
    out = np.full(len(rows), POISON, np.int32)
    arguments = (rows.ravel(), np.int32(rows.size), out)
    expected = [max(row) for row in rows.tolist()]
    try:
        result = TRIES[name].simulate(len(rows), rows.shape[1], arguments, gpu=GPU, check="races")
    except BarrierError as error:
        return {"stopped": error.message, "right": 0.0, "unwritten": 1.0, "outcomes": 0}
    outcomes = sum(all_outcomes(row) == {most} for row, most in zip(rows.tolist(), expected, strict=True))
    return _record(result, out, np.array(expected)) | {"outcomes": outcomes if kind == "small" else 0}


def _record(result: Result, out: NDArray[np.int32], expected: NDArray[Any]) -> Record:
    """What came out, and what the check found: kinds, with how many errors and warnings."""
    assert result.findings is not None
    return {
        "stopped": "",
        "right": float(np.mean(out == expected)),
        "unwritten": float(np.mean(out == POISON)),
        "blocks": result["blocks"],
        "threads": result.threads,
        "errors": ", ".join(sorted({finding.kind for finding in result.findings.errors})),
        "warnings": ", ".join(sorted({f.kind for f in result.findings if f.severity == "warning"})),
        "rounds": (result["barriers"] / result["blocks"] - 1) / 2
        if result["barriers"] > 2 * result["blocks"]
        else None,
        "cycles": result.cycles,
    }


def plot(records: Sequence[Record], ax: Any) -> Any:
    """Draw the share of chunks whose maximum is right, by try and inputs."""
    shown = [
        {"try": r["try"].replace(", ", ",\n"), "elements": r["inputs"], "right": 100 * r["right"]}
        for r in records
        if r["kind"] == "try"
    ]
    figures.grouped_bars(ax, shown, x="try", hue="elements", y="right", labels=True, number="{:.0f}".format)
    ax.set_ylim(0, 115)
    ax.set_ylabel("Chunks right (%)")
    figures.legend(ax, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def plot_rounds(records: Sequence[Record], ax: Any) -> Any:
    """Draw how many rounds the third try takes, by which store wins, beside the simulator's."""
    games = {(r["try"], r["winner"]): r for r in records if r["kind"] == "rounds"}
    shown = [
        {"winner": name.replace(" ", "\n"), "rounds": "mean", "n": games["try 3", name]["mean_rounds"]}
        for name in WINNERS
    ]
    figures.grouped_bars(ax, shown, x="winner", hue="rounds", y="n", labels=True, number="{:.1f}".format)
    own = next(r for r in records if (r["kind"], r["try"], r["inputs"]) == ("try", "try 3", "random"))
    figures.reference_line(ax, own["rounds"], f"simulated, {own['rounds']:.1f}")
    ax.set_yscale("log")
    ax.set_ylim(1, 400)
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.set_ylabel("Rounds of try 3")
    figures.legend(ax, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=6)
    return ax


def table(records: Sequence[Record]) -> str:
    """What the check found and what came out, of the tries, of all small blocks, of the messages; then the games."""
    rows = []
    for r in records:
        if r["kind"] != "rounds":
            found = r["stopped"] or r["errors"] or "none"
            right, unwritten = f"{100 * r['right']:.1f}", f"{100 * r['unwritten']:.0f}"
            rows.append((r["try"], r.get("inputs"), r.get("blocks"), r.get("threads"), right,
                         unwritten, r.get("rounds"), found, r.get("warnings") or "none"))  # fmt: skip
    header = ("", "elements", "blocks", "threads", "right %", "unwritten %", "rounds", "errors", "warnings")
    games = [
        (r["try"], r["winner"], r["chunks"], f"{100 * r['right']:.1f}", r["mean_rounds"], r["most_rounds"])
        for r in records
        if r["kind"] == "rounds"
    ]
    played_header = ("played", "wins", "chunks", "right %", "rounds", "most")
    return tables.table(header, rows) + "\n\n" + tables.table(played_header, games)


def caption(records: Sequence[Record]) -> str:
    """A sentence with what is right, what was found, and the rounds."""
    own = {(r["try"], r["inputs"]): r for r in records if r["kind"] == "try"}
    mended, second, third = (
        own[name] for name in (("try 1, mended", "random"), ("try 2", INPUTS[1]), ("try 3", "random"))
    )
    small = int(sum(r["blocks"] for r in records if r["kind"] == "small"))
    return (
        f"Maximum of each chunk. Try 1 writes nothing; mended it is right in {mended['right']:.0%} of random chunks. "
        f"Try 2 stops at a divergent barrier, and is right in {second['right']:.0%} of the chunks where warps do not "
        f"diverge. Try 3 is always right, for all {small} inputs of small blocks too, in {third['rounds']:.1f} rounds; "
        "below, rounds by which thread's store wins."
    )


def summary(records: Sequence[Record]) -> Record:
    """The shares of right chunks, and the rounds of the third try."""
    return {
        "right": {f"{r['try']}, {r['inputs']}": r["right"] for r in records if r["kind"] in ("try", "small")},
        "rounds": {r["winner"]: r["mean_rounds"] for r in records if (r["kind"], r["try"]) == ("rounds", "try 3")},
    }


EXPERIMENT = Experiment.of(globals(), plots=[plot, plot_rounds], figsize=(3.33, 3.8))
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
