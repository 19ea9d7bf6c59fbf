"""Judges of what the article on Kepler's bank modes says of the banks, by the model of the banks alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.common.filtering import FERMI, KEPLER
from experiments.common.verdicts import Claim, Verdict
from smmux import gpus, models
from smmux.gpus import Gpu
from smmux.models import BankAccess
from smmux.sweep import Record

__all__ = ["doubles", "eight_byte_rule", "four_byte_rule", "half_of_the_bandwidth", "peak", "segments"]

LANES, BANKS, WORD, PAIR = 32, 32, 4, 8
MODES = (4, 8)
OFFSETS = range(4 * LANES)
"""First elements of the accesses that are tried: more than a period of both modes."""


def kepler(mode: int) -> Gpu:
    """The card of the article in one of its modes."""
    return gpus.get(KEPLER).with_banks(mode)


def consecutive(width: int, first: int, gpu: str | Gpu) -> BankAccess:
    """A warp's access to elements of a width that follow one another, from the first one on."""
    return models.bank_passes([width * (first + lane) for lane in range(LANES)], width, gpu)


def peak(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The most bytes of any access without conflicts, per pass."""
    most = {
        name: max(LANES * width // consecutive(width, 0, gpu).passes for width in (4, 8, 16) for gpu in machines)
        for name, machines in ((KEPLER, [kepler(mode) for mode in MODES]), (FERMI, [FERMI]))
    }
    return claim.verdict(most, tuple(most.values()) == claim.numbers, "bytes of a warp's access per pass")


def _pairs(mode: int, conflict: Callable[[int, int], bool]) -> tuple[int, int]:
    """Of two threads that load one word each: the pairs of words tried, and those with other passes than expected."""
    wrong, tried, gpu = 0, 0, kepler(mode)
    for one in range(2 * BANKS):
        for other in range(8 * BANKS):
            passes = models.bank_passes([WORD * one, WORD * other], WORD, gpu).passes
            tried, wrong = tried + 1, wrong + (passes != 1 + conflict(one, other))
    return tried, wrong


def eight_byte_rule(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Every pair of words of two threads against the rule as the sentence has it."""
    tried, wrong = _pairs(8, lambda a, b: a // 2 % BANKS == b // 2 % BANKS and a // 2 != b // 2)
    return claim.verdict({"pairs": tried, "against the rule": wrong}, not wrong, "pairs of 32-bit words of two threads")


def four_byte_rule(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Every pair of words of two threads against the rule as the sentence has it."""
    tried, wrong = _pairs(4, lambda a, b: a % BANKS == b % BANKS and a // (2 * BANKS) != b // (2 * BANKS))
    return claim.verdict({"pairs": tried, "against the rule": wrong}, not wrong, "pairs of 32-bit words of two threads")


def doubles(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The passes of 32 doubles that follow one another, wherever they start."""
    found = {
        name: sorted({consecutive(PAIR, first, gpu).passes for first in OFFSETS})
        for name, gpu in (("8-byte", kepler(8)), ("4-byte", kepler(4)), ("Fermi", FERMI))
    }
    return claim.verdict(
        found,
        (found["8-byte"], min(found["Fermi"])) == ([1], 2),
        f"passes from {len(OFFSETS)} first elements; on Fermi two halves of a warp follow one another, which the "
        "counters do not call a conflict",
    )


def half_of_the_bandwidth(claim: Claim, _: Sequence[Record]) -> Verdict:
    """Bytes per pass of words against those of pairs."""
    words, pairs = (LANES * width / consecutive(width, 0, kepler(8)).passes for width in (WORD, PAIR))
    return claim.verdict(words / pairs, words / pairs == claim.numbers[0], f"{words:.0f} of {pairs:.0f} bytes per pass")


def segments(claim: Claim, _: Sequence[Record]) -> Verdict:
    """The passes of 32 pairs in the 4-byte mode by the first one: only multiples of 32 begin a segment."""
    found = {first: consecutive(PAIR, first, kepler(4)).passes for first in OFFSETS}
    wrong = [first for first, passes in found.items() if passes != (1 if first % LANES == 0 else 2)]
    once = [first for first, passes in found.items() if passes == 1]
    return claim.verdict(
        {"one pass from": once}, not wrong, f"of the first {len(OFFSETS)} pairs; two passes from others"
    )
