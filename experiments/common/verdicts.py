"""Claims of the paper, the numbers in them, and verdicts on them.

`claims.toml` names the judge of each claim, a function of a module in `experiments.claims`. It gets the claim and the
records of a script, and returns the verdict, or None where the records are not of what the claim is about.
"""

from __future__ import annotations

import pkgutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from smmux.sweep import Record

__all__ = [
    "MARGIN", "TOLERANCE", "Claim", "Judge", "Verdict", "claims", "close", "exceeds", "judge", "judge_of", "judged",
    "load_judges",
    "paper", "word_of",
]  # fmt: skip

CLAIMS = Path(__file__).parents[1] / "claims" / "claims.toml"
TOLERANCE = 0.1
"""Relative difference up to which a number of ours counts as the paper's."""
MARGIN = 0.05
"""Relative difference of two numbers of ours from which on one counts as more than the other."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim of the paper beside what was simulated.

    reproduced: None where the runs cannot tell.
    """

    id: str
    text: str
    paper: Any
    ours: Any
    reproduced: bool | None
    note: str = ""

    @property
    def word(self) -> str:
        """The verdict in one word or two."""
        return word_of(self.reproduced)


def word_of(reproduced: bool | None) -> str:
    """A verdict in one word or two."""
    return {True: "reproduced", False: "deviates", None: "not judged"}[reproduced]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, in the words of `claims.toml`.

    script: the one whose records answer it. judge: the function that does, `module:name` inside `experiments.claims`.
    paper: the number or numbers that the sentence gives.
    """

    id: str
    script: str
    text: str
    judge: str
    paper: Any = None

    @property
    def numbers(self) -> tuple[float, ...]:
        """The paper's numbers; raises KeyError where the sentence gives none."""
        if self.paper is None:
            raise KeyError(f"claim {self.id} has no number in claims.toml")
        return tuple(self.paper) if isinstance(self.paper, list) else (self.paper,)

    def verdict(self, ours: Any, reproduced: bool | None, note: str = "") -> Verdict:
        """The verdict on this claim."""
        return Verdict(self.id, self.text, self.paper, ours, None if reproduced is None else bool(reproduced), note)


Judge = Callable[[Claim, Sequence[Record]], Verdict | None]


@cache
def claims() -> Mapping[str, Claim]:
    """All claims by id, those of a script next to each other."""
    scripts = tomllib.loads(CLAIMS.read_text(encoding="utf-8"))
    return {id: Claim(id, script, **rest) for script, own in scripts.items() for id, rest in own.items()}


def paper(claim: str) -> tuple[float, ...]:
    """The paper's numbers in a claim, by its id; raises KeyError where it gives none."""
    return claims()[claim].numbers


def judge_of(claim: Claim) -> Judge:
    """The function that judges a claim."""
    judge: Judge = pkgutil.resolve_name(f"experiments.claims.{claim.judge}")
    return judge


def load_judges() -> None:
    """Import the modules of all judges."""
    for claim in claims().values():
        judge_of(claim)


def judge(claim: str, records: Sequence[Record]) -> Verdict | None:
    """The verdict on a claim, by its id; raises KeyError for an id that claims.toml lacks."""
    sentence = claims()[claim]
    return judge_of(sentence)(sentence, records)


def judged(script: str, records: Sequence[Record]) -> list[Verdict]:
    """The verdicts on all claims of a script that its records can answer."""
    verdicts = [judge(id, records) for id, claim in claims().items() if claim.script == script]
    return [verdict for verdict in verdicts if verdict]


def close(ours: Sequence[float], expected: Sequence[float]) -> tuple[bool, str]:
    """Whether numbers are the expected ones, all of them up to `TOLERANCE`, and a note how far off each of them is."""
    off = [value / wanted - 1 for value, wanted in zip(ours, expected, strict=True)]
    note = f"{', '.join(f'{o:+.1%}' for o in off)}; up to {TOLERANCE:.0%} counts as reproduced"
    return all(abs(o) <= TOLERANCE for o in off), note


def exceeds(one: float, other: float, margin: float = MARGIN) -> bool:
    """Whether one number of ours counts as more than another."""
    return one > other and one >= (1 + margin) * other
