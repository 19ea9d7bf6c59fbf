"""Judges of what the paper says about the sizes of blocks and cards (Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common import cards
from experiments.common.cards import MEASURED
from experiments.common.probes import memory_mhz, register_bytes, shared_bytes
from experiments.common.runs import program
from experiments.common.speedups import LIMITED, is_limited
from experiments.common.verdicts import Claim, Verdict
from smmux import benchmarks, gpus, models
from smmux.gpus import Gpu
from smmux.sweep import Record

__all__ = [
    "blocks_per_sm", "bytes_in_use", "bytes_per_block", "cv_blocks", "fft_bytes", "limited_benchmarks",
    "measured_cards", "nine_kilobytes", "simulated_card", "threads_per_block", "under_use",
]  # fmt: skip

SEVERE = 0.2  # of the shared memory at least is unused: "severely under-used"
FULL = 0.01  # of it at most is unused by STO, which the paper excepts
FFT_ARRAYS = 8192 + 512  # bytes of data and of padding, which the paper counts apart
SAME_CLOCK = 0.01  # difference up to which a clock is the paper's: times are measured in whole clocks
PROBED = "the largest block that runs, and of the registers of all blocks that run together"
KB = 1024


def _column(claim: Claim, records: Sequence[Record], name: str, note: str = "") -> Verdict:
    """Whether a column of the table is the paper's."""
    ours = [record[name] for record in records]
    return claim.verdict(ours, tuple(ours) == claim.numbers, note)


def bytes_per_block(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The shared memory of a block, with its parameters and what the system reserves."""
    return _column(claim, records, "bytes", "MM and RD with 32-bit pointers (DEVIATIONS D1)")


def threads_per_block(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The threads of a block."""
    return _column(claim, records, "threads")


def blocks_per_sm(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The blocks that fit on an SM."""
    return _column(claim, records, "blocks")


def bytes_in_use(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The shared memory of all blocks on an SM."""
    return _column(claim, records, "used")


def limited_benchmarks(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The benchmarks that shared memory limits."""
    limited = [record["benchmark"] for record in records if is_limited(record)]
    note = "benchmarks with more blocks if shared memory were unlimited (DEVIATIONS D24)"
    return claim.verdict(limited, set(limited) == set(LIMITED), note)


def under_use(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The part of an SM's shared memory that no block holds."""
    idle = {r["benchmark"]: 1 - r["used"] / r["capacity"] for r in records if r["benchmark"] in LIMITED}
    under = all(share >= SEVERE for name, share in idle.items() if name != "STO")
    note = "unused share of 16 kB; 'severely' is taken as at least a fifth, and STO's has to be less than a hundredth"
    return claim.verdict({name: round(share, 3) for name, share in idle.items()}, under and idle["STO"] < FULL, note)


def nine_kilobytes(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The blocks of 9 kB that fit on 16 kB, and what they leave."""
    card = gpus.get(MEASURED[0]).replace(smem_reserved=0)
    blocks = models.occupancy(32, 0, 9 * KB, card).blocks
    ours = [blocks, card.smem_bytes // KB - 9 * blocks]
    return claim.verdict(ours, ours == [1, 7], "blocks that fit, kB wasted")


def measured_cards(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Shared memory and registers of an SM in kB, as kernels on it find them."""
    ours = {name: _sizes(gpus.get(name)) for name in MEASURED}
    as_said = [size for sizes in ours.values() for size in sizes] == list(claim.numbers)
    return claim.verdict(ours, as_said, f"kB of {PROBED}; GTX680 and HD5870 are not modelled")


def _sizes(gpu: Gpu) -> list[int]:
    return [size // KB for size in (shared_bytes(gpu), register_bytes(gpu))]


def fft_bytes(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The bytes of a block of FFT."""
    [fft] = [record for record in records if record["benchmark"] == "FFT"]
    as_said = (fft["bytes"],) == claim.numbers and fft["array_bytes"] == FFT_ARRAYS
    return claim.verdict(fft["bytes"], as_said)


def cv_blocks(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The blocks of CV that fit on GTX480 with 16 and with 48 kB."""
    arrays = program(benchmarks.get("CV")).shared_bytes
    fermi = [models.occupancy(128, 0, arrays, name).blocks for name in MEASURED[1:]]
    return claim.verdict(fermi, tuple(fermi) == claim.numbers)


def simulated_card(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Shared memory, registers and memory clock of the card of Figures 1, 14 and 15, as kernels and loads find them."""
    *sizes, clock = claim.numbers
    ours, mhz = _sizes(cards.card()), memory_mhz(cards.card())
    return claim.verdict(
        [*ours, round(mhz, 1)],
        ours == sizes and abs(mhz / clock - 1) <= SAME_CLOCK,
        f"kB of {PROBED}; MHz at which loads from one bank's rows follow one another, up to {SAME_CLOCK:.0%} off",
    )
