"""Judges of what the seed on string matching says: transactions, bank passes, and times of its approaches."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import scans
from experiments.common.runs import by_key
from experiments.common.scans import COUNTS, EXAMPLE, GPU, MAIN, QUICK_LOOKUPS, ROOMY
from experiments.common.verdicts import MARGIN, Claim, Verdict, exceeds
from smmux import gpus, models
from smmux.sweep import Record

__all__ = [
    "card", "conflicts", "cooperation", "copies", "growth", "request", "results", "shared_over_global", "slower_growth",
    "transposed_over_linear",
]  # fmt: skip

CORES = 8  # of an SM: SPs (PG55 G.3.1)
GROUP = 16


def request(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Transactions per load of 16 threads that copy, in the example and by the model of coalescing."""
    rows = [_example(records, name) for name in MAIN[1:]]
    per_load = [r["copy_transactions"] / r["copies"] for r in rows]
    width = [r["copy_bytes"] // r["copies"] for r in rows]
    [segment] = models.coalesce([4 * lane for lane in range(GROUP)], gpu=GPU).segments
    ours = [*per_load, segment.bytes]
    return claim.verdict(
        {"bytes": width[0], "transactions": per_load[0]},
        ours == [1, 1, claim.numbers[0]] and width == [claim.numbers[0]] * 2,
        f"loads of SM-1 and SM-2; GM's loads, of a byte of each thread, take {_per_read(records):g} transactions each",
    )


def copies(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Loads of each thread in the example."""
    loads = [_example(records, name)["copies"] for name in MAIN[1:]]
    return claim.verdict(loads[0], loads == [*claim.numbers] * 2)


def conflicts(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Passes per access of the example, and their totals by layout."""
    rows = {name: _example(records, name) for name in scans.LAYOUTS}
    reads = [rows[name]["read_passes"] / rows[name]["reads"] for name in ("SM-1", "SM-2")]
    stores = rows["SM-2"]["store_passes"] / rows["SM-2"]["copies"]
    totals = {name: r["store_passes"] + r["read_passes"] for name, r in rows.items()}
    return claim.verdict(
        reads,
        reads == [GROUP, 1],
        f"passes per read of SM-1 and SM-2. SM-2's stores take {stores:g}: all words of a load are of one thread. "
        f"Stores and reads together: {', '.join(f'{name} {total}' for name, total in totals.items())}; "
        f"SM-1 over SM-2 {totals['SM-1'] / totals['SM-2']:.2f}",
    )


def shared_over_global(claim: Claim, records: Sequence[Record]) -> Verdict:
    """SM-1 and SM-2 over GM, wherever they ran."""
    found = scans.times(records)
    own = [list(scans.speedup(found, name, "GM").values()) for name in MAIN[1:]]
    elsewhere = [
        list(scans.speedup(scans.times(records, **setting), name, "GM").values())
        for setting in ({"text": "random"}, {"table": "global"})
        for name in MAIN[1:]
    ]
    inside = _within(claim, [value for values in own for value in values])
    size = scans.common_size(found)
    gm, sm = (scans.measured(records)[name, COUNTS[0], size] for name in ("GM", "SM-2"))
    return claim.verdict(
        [_range(values) for values in own],
        inside,
        f"SM-1 and SM-2 over GM, least and most; random text {_range(elsewhere[0] + elsewhere[1])}, table in global "
        f"memory {_range(elsewhere[2] + elsewhere[3])}. GM sends {gm['transactions'] / sm['transactions']:.1f} times "
        f"as many transactions ({COUNTS[0]} patterns), but both look up as many states (DEVIATIONS D27)",
    )


def transposed_over_linear(claim: Claim, records: Sequence[Record]) -> Verdict:
    """SM-2 over SM-1, and what is left of the conflicts where more warps run or lookups cost nothing."""
    found = scans.times(records)
    own = list(scans.speedup(found, "SM-2", "SM-1").values())
    others = {}
    for label, gpu in (("64 kB of shared memory", ROOMY), ("texture hits at once", QUICK_LOOKUPS)):
        [value] = scans.speedup(scans.times(records, gpu=gpu), "SM-2", "SM-1").values()
        others[label] = f"{value:.2f} with {label}"
    padded = max(scans.speedup(found, "padded", "SM-1").values())
    return claim.verdict(
        _range(own),
        _within(claim, own),
        f"least and most; a layout without any conflict {padded:.2f} at most; {', '.join(others.values())} "
        f"({COUNTS[0]} patterns). Shared passes alone would give 3.25 (DEVIATIONS D28)",
    )


def growth(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Times by size and by number of patterns."""
    found = scans.times(records)
    by_size, by_count = _rows(found, 2), _rows(found, 1)
    larger = all(a < b for row in by_size for a, b in zip(row, row[1:], strict=False))
    more = all(exceeds(row[-1], row[0]) for row in by_count)
    steps = [b / a for row in by_count for a, b in zip(row, row[1:], strict=False)]
    return claim.verdict(
        {"larger texts": larger, "more patterns": more, "least step": round(min(steps), 3)},
        larger and more and min(steps) >= 1 - MARGIN,
        f"all approaches; from one number of patterns to the next times grow {min(steps):.2f} to {max(steps):.2f}-fold",
    )


def slower_growth(claim: Claim, records: Sequence[Record]) -> Verdict:
    """How many times as long SM-2 takes for the most patterns as for the fewest, by size of the text."""
    found = scans.times(records)
    counts = sorted({n for _, n, _ in found})
    sizes = sorted(size for a, n, size in found if (a, n) == ("SM-2", counts[-1]))
    ratios = {size: found["SM-2", counts[-1], size] / found["SM-2", counts[0], size] for size in sizes}
    values = list(ratios.values())
    return claim.verdict(
        {f"{size // 1000} kB": round(value, 2) for size, value in ratios.items()},
        exceeds(values[0], values[-1]),
        f"time with {counts[-1]:,} patterns over that with {counts[0]} (DEVIATIONS D29)",
    )


def cooperation(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Transactions of copies by each thread alone and together, and what they cost."""
    rows = [_example(records, name) for name in ("own copy", "SM-1")]
    alone, together = (r["copy_transactions"] / r["copies"] for r in rows)
    found = scans.measured(records)
    size = scans.common_size(scans.times(records))
    own, shared = (found[name, COUNTS[0], size] for name in ("own copy", "SM-1"))
    copying = [r["first_barrier_cycles"] / r["blocks"] for r in (own, shared)]
    after = " against ".join(f"{clocks:.0f}" for clocks in copying)
    return claim.verdict(
        alone / together,
        [alone, together] == [*claim.numbers, 1] and exceeds(*copying) and exceeds(own["time_us"], shared["time_us"]),
        f"transactions of a load, of one byte and of one word by each thread; for all of the example "
        f"{rows[0]['copy_transactions']} against {rows[1]['copy_transactions']}. A block has copied its text "
        f"after {after} clk; the whole takes {own['time_us'] / shared['time_us']:.2f} times as long and moves "
        f"{own['transaction_bytes'] / shared['transaction_bytes']:.2f} times the bytes ({COUNTS[0]} patterns)",
    )


def card(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Cores, SMs and clock of the card."""
    gpu = gpus.get(GPU)
    ours = [CORES * gpu.sm_count, gpu.sm_count, round(gpu.shader_khz / 1e6, 2)]
    return claim.verdict(
        ours,
        ours == [*claim.numbers],
        "cores, SMs, GHz. A GT200 has 30 SMs of 8 cores; the seed took one number for the other (DEVIATIONS "
        "D30). Nothing depends on how large the memory is",
    )


def results(claim: Claim, records: Sequence[Record]) -> Verdict:
    """What ran: a run that misses a match, or has one too many, ends the experiment."""
    ran = [r for r in records if r["text"] != EXAMPLE]
    counts, sizes = ({r[name] for r in ran} for name in ("patterns", "size"))
    fewest, most, least, _ = claim.numbers
    matches = sum(r["matches"] for r in ran)
    off = max(map(abs, scans.law_errors(scans.times(records)).values()))
    return claim.verdict(
        {"runs": len(ran), "patterns": [min(counts), max(counts)], "bytes": [min(sizes), max(sizes)]},
        min(counts) <= fewest and max(counts) >= most and min(sizes) <= least,
        f"every position of every text is compared with a search without an automaton, {matches:,} matches. Longer "
        f"texts are not run; their times follow from a linear law, off by {off:.1%} at most where it is tested",
    )


def _example(records: Sequence[Record], approach: str) -> Record:
    return by_key((r for r in records if r["text"] == EXAMPLE), "approach")[(approach,)]


def _per_read(records: Sequence[Record]) -> float:
    row = _example(records, "GM")
    return float(row["copy_transactions"] / row["copies"])


def _within(claim: Claim, values: Sequence[float]) -> bool:
    low, high = claim.numbers
    return low <= min(values) and max(values) <= high


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}" if values else "-"


def _rows(found: dict[tuple[str, int, int], float], axis: int) -> list[list[float]]:
    """Times along one axis of the keys, for each value of the others."""
    rows: dict[tuple[object, ...], list[tuple[object, float]]] = {}
    for key, time in found.items():
        rows.setdefault((*key[:axis], *key[axis + 1 :]), []).append((key[axis], time))
    return [[time for _, time in sorted(row)] for row in rows.values() if len(row) > 1]
