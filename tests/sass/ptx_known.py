"""Random programs of which ptxas makes something else than PTX says, as its SASS shows when it is read: why, by seed.

Of ptxas 13.5 with -O3; `random_ptx` names the reason behind a difference. `ptx_shrink` makes such a program short.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["KNOWN", "known"]

LOWEST = "abs or neg of the lowest integer is taken for a number of the other sign"
ZERO = "the abs of 0 is subtracted by adding its negation, which carries nothing"
CLAMPED = "a number that goes through a float is cut to the target's bits, not clamped to its range"
FTZ = "a branch on a comparison that is combined with a predicate compares anew, without the .ftz"
OWN = "a predicate or-ed with itself is taken for that one, also where that is written anew before it is read"
MOVED = "a selection is moved behind the loop that writes its predicate anew"
NEGATED = "a conversion with .sat takes 1, which cnot left negated, for a negative number"
UPPER = "16 bits that a guarded conversion may write are compared together with the upper half of another value"
SHIFT = "in a loop that is unrolled a shift takes the number of rounds, which has the register of its distance"
NAN = "the abs of a float before slct is taken for no NaN"
SIGNED = "a conversion to an unsigned number and on to a signed one is made in one, which leaves numbers below 0"
BYTE = "a conversion from 8 bits to a float and on to an unsigned number only repeats the sign"

KNOWN: Mapping[tuple[int, int], str] = {
    (202917, 90): LOWEST,
    (203263, 90): NAN,
    (203647, 90): OWN,
    (204333, 90): LOWEST,
    (205007, 90): LOWEST,
    (205941, 90): MOVED,
    (300001, 75): CLAMPED,
    (302290, 80): FTZ,
    (302703, 89): NEGATED,
    (302764, 89): OWN,
    (303529, 86): CLAMPED,
    (304733, 89): LOWEST,
    (304800, 90): ZERO,
    (305497, 86): LOWEST,
    (305896, 90): FTZ,
    (307025, 75): LOWEST,
    (307496, 90): UPPER,
    (307999, 90): LOWEST,
    (318206, 86): FTZ,
    (318492, 90): SHIFT,
    (318989, 90): FTZ,
    (331523, 75): SIGNED,
    (333341, 89): LOWEST,
    (333962, 90): BYTE,
}
"""By seed and architecture."""


def known(seed: int, arch: int, option: str) -> str:
    """Why ptxas is wrong there; empty where nothing is known."""
    return KNOWN.get((seed, arch), "") if option == "-O3" else ""
