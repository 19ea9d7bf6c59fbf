"""Judges of what the slides on the memories of GPUs say of layouts, caches and memory spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.common.advised import CARDS, FINE, MEMORIES, SPREAD, found, stretched
from experiments.common.verdicts import MARGIN, Claim, Verdict, exceeds
from smmux import LaunchError, cuda, float32, gpus, int32, models, texture
from smmux.sweep import Record

__all__ = [
    "advice", "block_limit", "blocked", "bytes_used", "chunks", "constants", "structures", "temporal_locality",
    "textures", "tiles",
]  # fmt: skip

LANES, WORD, SECTOR = 32, 4, 32
LITTLE = 0.5
"""Share of its reads up to which a cache that could answer nearly all counts as unable to use their locality."""


def _sectors(record: Record) -> float:
    """Requests of an access, which are sectors on `FINE`."""
    return float(record["requests"] / (record["global_loads"] + record["global_stores"]))


def _slower(records: Sequence[Record], bad: str, good: str) -> dict[str, float]:
    """How many times as long one pattern takes as another, by card."""
    own = found(records)
    return {gpu: round(own[bad, gpu]["cycles"] / own[good, gpu]["cycles"], 3) for gpu in CARDS}


def _all_slower(factors: dict[str, float]) -> bool:
    return all(exceeds(factor, 1) for factor in factors.values())


def structures(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Sectors of a warp for both fields of its points, and times."""
    own = found(records)
    counted = {name: 2 * _sectors(own[name, FINE]) for name in ("AoS", "SoA")}
    joined, slower = _sectors(own["AoS, stores joined", FINE]), _slower(records, "AoS", "SoA")
    alike = _slower(records, "AoS, stores joined", "SoA")
    return claim.verdict(
        {"sectors": counted, "AoS slower": slower},
        tuple(counted.values()) == claim.numbers and _all_slower(slower),
        f"sectors of a warp for both fields. Where both stores of a structure can be one of 64 bits, it has {joined:g} "
        f"and takes {', '.join(f'{value:.2f}' for value in alike.values())} of the time of SoA",
    )


def bytes_used(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Bytes asked for of the bytes in the sectors that are touched."""
    own = found(records)
    used = {name: own[name, FINE]["global_bytes"] / (SECTOR * own[name, FINE]["requests"]) for name in ("AoS", "SoA")}
    return claim.verdict(used, tuple(used.values()) == claim.numbers)


def blocked(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Sectors of an access by the length of a thread's stretch, against the rule, and times."""
    own = found(records)
    by_stretch = {stretch: _sectors(r) for stretch, r in stretched(records).items()}
    interleaved = _sectors(own["interleaved", FINE])
    slower = _slower(records, "blocked", "interleaved")
    return claim.verdict(
        {"sectors": {"blocked": by_stretch[32], "interleaved": interleaved}, "blocked slower": slower},
        (by_stretch[32], interleaved) == claim.numbers
        and all(sectors == min(LANES, 4 * stretch) for stretch, sectors in by_stretch.items())
        and _all_slower(slower),
        "sectors of an access by elements in a row of a thread: "
        + ", ".join(f"{stretch} {sectors:g}" for stretch, sectors in by_stretch.items()),
    )


def chunks(claim: Claim, records: Sequence[Record]) -> Verdict:
    """What the model of coalescing makes of a warp's words, side by side and apart, beside what runs asked for."""
    together, apart = (models.coalesce(WORD * step * np.arange(LANES), WORD, FINE) for step in (1, 8))
    sizes = {segment.bytes for access in (together, apart) for segment in access.segments}
    ours = {"bytes": max(sizes), "together": len(together), "apart": len(apart)}
    run = _sectors(found(records)["interleaved", FINE])
    return claim.verdict(
        ours,
        (sizes, len(together), run) == ({SECTOR}, 4, 4),
        f"on a {FINE}; a Fermi loads lines of 128 bytes into its L1, and a GTX285 segments of 32 to 128 bytes",
    )


def temporal_locality(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The share of requests that the L2 answers in blocked assignment, where seven of eight could be."""
    own = stretched(records)
    hits = {stretch: round(r["l2_hits"] / r["l2_accesses"], 3) for stretch, r in own.items() if stretch >= 8}
    read = own[32]["dram_reads"] * gpus.get(FINE).dram_burst_bytes / (own[32]["global_bytes"] * 2 / 3)
    resident = gpus.get(FINE).max_threads_sm * gpus.get(FINE).sm_count
    return claim.verdict(
        hits[32],
        hits[32] <= LITTLE,
        f"share of requests that hit with 32 elements in a row of a thread, where 7 of 8 could; DRAM reads {read:.1f} "
        f"times the bytes needed. By stretch {', '.join(f'{s} {h:.2f}' for s, h in hits.items())}: where {resident} "
        f"threads keep three sectors each, they are {resident * 3 * SECTOR / 2**20:.1f} MB, and the L2 has "
        f"{gpus.get(FINE).l2_bytes / 2**20:.2f}",
    )


@cuda.jit
def store_and_fetch(out, stored, fetched):
    """Store to an array, then read the same place through a texture of it."""
    i = cuda.grid(1)
    before = fetched[i]
    stored[i] = before + float32(1)
    cuda.threadfence()
    cuda.syncthreads()
    out[i] = fetched[i]


def textures(claim: Claim, _: Sequence[Record]) -> Verdict:
    """What a texture gives after a store to its array in the same launch, and in the next one."""
    seen = {}
    for gpu in CARDS:
        values = np.arange(64, dtype=np.float32)
        rounds = []
        for _launch in range(2):
            out = np.full(64, np.nan, np.float32)
            store_and_fetch.simulate(2, 32, (out, values, texture(values)), gpu=gpu)
            rounds.append(out - np.arange(64))
        seen[gpu] = [sorted(set(r.tolist())) for r in rounds]
    return claim.verdict(
        seen,
        all(rounds == [[0.0], [1.0]] for rounds in seen.values()),
        "what is read after one was added to each element, less the elements' first values, in two launches",
    )


def constants(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Passes of an access by the places that a warp reads, and times."""
    own = found(records)
    passes = {
        gpu: [own[f"constant {p}", gpu]["const_passes"] / own[f"constant {p}", gpu]["const_accesses"] for p in SPREAD]
        for gpu in CARDS
    }
    times = {gpu: [int(own[f"constant {p}", gpu]["cycles"]) for p in SPREAD] for gpu in CARDS}
    fastest = {p: min(MEMORIES, key=lambda m: own[f"{m} {p}", FINE]["cycles"]) for p in SPREAD}
    return claim.verdict(
        passes[FINE],
        all(row == list(SPREAD) for row in passes.values())
        and not any(exceeds(row[0], min(row)) for row in times.values()),
        f"passes of an access that reads {', '.join(map(str, SPREAD))} places; cycles "
        + "; ".join(f"{gpu} {', '.join(map(str, row))}" for gpu, row in times.items())
        + f". Fastest on a {FINE}: {', '.join(f'{p} {memory}' for p, memory in fastest.items())}",
    )


@cuda.jit
def hold(out):
    """A block with as much dynamic shared memory as the launch gives it."""
    held = cuda.shared.array(0, int32)
    held[cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[cuda.threadIdx.x] = held[cuda.threadIdx.x]


def _holds(gpu: str, size: int) -> bool:
    out: Any = np.zeros(32, np.int32)
    try:
        hold.simulate(1, 32, (out,), gpu=gpu, dynshared=size)
    except LaunchError:
        return False
    return bool((out == np.arange(32)).all())


def block_limit(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The largest shared memory that a block is given, by trying."""
    kilobyte = 1024
    most = {gpu: max((k for k in (15, 16, 48, 49, 64, 128) if _holds(gpu, k * kilobyte)), default=0) for gpu in CARDS}
    return claim.verdict(
        most,
        max(most.values()) == claim.numbers[0],
        "kB of a block, of 15, 16, 48, 49, 64 and 128 that were tried (a GTX285 keeps built-ins and parameters in its "
        "16). No machine here has 128 kB on an SM, which later cards have",
    )


def tiles(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Times and loads of the product of matrices, without and with tiles in shared memory."""
    own, slower = found(records), _slower(records, "untiled", "tiled")
    loads = own["untiled", FINE]["global_loads"] / own["tiled", FINE]["global_loads"]
    return claim.verdict(slower, _all_slower(slower), f"untiled over tiled; loads from global memory {loads:g} to one")


def advice(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Gains of both, and that interleaved assignment changes nothing where a thread has one element."""
    own = found(records)
    gains = {"SoA": _slower(records, "AoS", "SoA"), "interleaved": _slower(records, "blocked", "interleaved")}
    one, other = own["blocked 1", FINE], own["interleaved 1", FINE]
    change = one["cycles"] / other["cycles"] - 1
    return claim.verdict(
        gains,
        all(map(_all_slower, gains.values())) and one["requests"] == other["requests"] and abs(change) <= MARGIN,
        f"gains by card. With one element per thread both assignments make the same {one['requests']} requests; times "
        f"differ by {change:+.1%} (the blocked kernel has the tests of its loop besides)",
    )
