"""Judges of what the paper says about the sizes of blocks and cards (Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import cards
from experiments.common.cards import MEASURED
from experiments.common.runs import program
from experiments.common.speedups import LIMITED
from experiments.common.verdicts import Claim, Verdict
from smmux import benchmarks, gpus, models
from smmux.sweep import Record

__all__ = [
    "blocks_per_sm", "bytes_in_use", "bytes_per_block", "cv_blocks", "fft_bytes", "is_limited", "limited_benchmarks",
    "measured_cards", "nine_kilobytes", "simulated_card", "threads_per_block", "under_use",
]  # fmt: skip

SEVERE = 0.2  # of the shared memory is not used: "severely under-used"
FULL = 0.01  # is not used by STO, which the paper excepts
FFT_ARRAYS = 8192 + 512  # bytes of data and of padding, which the paper counts apart


def is_limited(record: Record) -> bool:
    """Whether more blocks would fit if shared memory were unlimited."""
    return bool(record["blocks_without_shared"] > record["blocks"])


def _column(claim: Claim, records: Sequence[Record], name: str, note: str = "") -> Verdict:
    """Whether a column of the table is the paper's."""
    ours = [record[name] for record in records]
    return claim.verdict(ours, tuple(ours) == claim.numbers, note)


def bytes_per_block(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Shared memory of a block, with parameters and what the system reserves."""
    return _column(claim, records, "bytes", "MM, RD with 32-bit pointers (DEVIATIONS D1)")


def threads_per_block(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Threads of a block."""
    return _column(claim, records, "threads")


def blocks_per_sm(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Blocks that fit on an SM."""
    return _column(claim, records, "blocks")


def bytes_in_use(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Shared memory of these blocks."""
    return _column(claim, records, "used")


def limited_benchmarks(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Which benchmarks shared memory limits."""
    limited = [record["benchmark"] for record in records if is_limited(record)]
    note = "benchmarks with more blocks if shared memory were unlimited (DEVIATIONS D24)"
    return claim.verdict(limited, set(limited) == set(LIMITED), note)


def under_use(claim: Claim, records: Sequence[Record]) -> Verdict:
    """How much of an SM's shared memory no block holds."""
    idle = {r["benchmark"]: 1 - r["used"] / r["capacity"] for r in records if r["benchmark"] in LIMITED}
    under = all(share >= SEVERE for name, share in idle.items() if name != "STO")
    note = "unused share of 16 kB; severe taken as a fifth, and less than a hundredth of STO"
    return claim.verdict({name: round(share, 3) for name, share in idle.items()}, under and idle["STO"] < FULL, note)


def nine_kilobytes(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Blocks of 9 kB on 16 kB, and what they leave."""
    card = gpus.get(MEASURED[0]).replace(smem_reserved=0)
    blocks = models.occupancy(32, 0, 9 * 1024, card).blocks
    ours = [blocks, card.smem_bytes // 1024 - 9 * blocks]
    return claim.verdict(ours, ours == [1, 7], "blocks, kB wasted")


def measured_cards(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Shared memory and registers of an SM, and the L1 that shares its storage on Fermi, in kB."""
    cards = {name: gpus.get(name) for name in MEASURED}
    ours = {name: [g.smem_bytes >> 10, g.regs_sm >> 8, g.l1_bytes >> 10] for name, g in cards.items()}
    expected = dict(zip(MEASURED, ([16, 64, 0], [16, 128, 48], [48, 128, 16]), strict=True))
    note = "kB of shared memory, registers, L1; GTX680 and HD5870 are not modelled"
    return claim.verdict(ours, ours == expected, note)


def fft_bytes(claim: Claim, records: Sequence[Record]) -> Verdict:
    """Bytes of a block of FFT."""
    [fft] = [record for record in records if record["benchmark"] == "FFT"]
    as_said = (fft["bytes"],) == claim.numbers and fft["array_bytes"] == FFT_ARRAYS
    return claim.verdict(fft["bytes"], as_said)


def cv_blocks(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Blocks of CV on GTX480 with 16 and with 48 kB."""
    arrays = program(benchmarks.get("CV")).shared_bytes
    fermi = [models.occupancy(128, 0, arrays, name).blocks for name in MEASURED[1:]]
    return claim.verdict(fermi, tuple(fermi) == claim.numbers)


def simulated_card(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The card of Figures 1, 14 and 15."""
    card = cards.card()
    ours = [card.smem_bytes, 4 * card.regs_sm, card.dram_khz]
    return claim.verdict(ours, ours == [16384, 65536, 1_100_000], "bytes, bytes, kHz")
