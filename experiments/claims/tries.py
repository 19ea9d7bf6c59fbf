"""Judges of what the slides say of three tries at the maximum of a chunk, by what the check for races finds."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.verdicts import Claim, Verdict
from smmux.sweep import Record

__all__ = ["barrier_required", "first", "second", "third"]


def _tries(records: Sequence[Record]) -> dict[tuple[str, str], Record]:
    return {(r["try"], r["inputs"]): r for r in records if r["kind"] == "try"}


def _found(record: Record) -> str:
    return str(record["stopped"] or record["errors"] or "none")


def barrier_required(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The findings with the barrier and without."""
    found = {r["try"]: _found(r) for r in records if r["kind"] == "message"}
    return claim.verdict(found, found == {"with barrier": "none", "without": "race"}, "errors that the check finds")


def first(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The try as printed writes nothing; with its guard mended it is a race, and mostly wrong."""
    own = _tries(records)
    printed, mended = own["try 1", "random"], own["try 1, mended", "random"]
    return claim.verdict(
        {
            "unwritten as printed": printed["unwritten"],
            "mended, right": round(mended["right"], 3),
            "found": _found(mended),
        },
        printed["unwritten"] == 1 and mended["errors"] == "race" and mended["right"] < 1,
        "shares of chunks. As printed the threads that have an element return; mended, a store does not know of others "
        f"since its compare: the check finds a race, and warns of {mended['warnings']}s",
    )


def second(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The try stops at a barrier; where it does not, and in the game of rounds, it is wrong."""
    own = _tries(records)
    alone, same = own["try 2", "random"], own["try 2", "same in a warp"]
    wrong = {r["winner"]: round(1 - r["right"], 3) for r in records if (r["kind"], r["try"]) == ("rounds", "try 2")}
    judged = [share for winner, share in wrong.items() if winner != "largest value"]
    return claim.verdict(
        {"stopped": alone["stopped"], "same in a warp, wrong": round(1 - same["right"], 3), "played, wrong": wrong},
        "divergent" in alone["stopped"] and same["right"] < 1 and "divergence" in same["errors"] and min(judged) > 0,
        "shares of chunks. Where the threads of a warp have the same element, whole warps leave, and the check finds "
        f"{_found(same)}. Played with barriers that count warps, and those that have left as arrived, by who wins",
    )


def third(claim: Claim, records: Sequence[Record]) -> Verdict:
    """The try is right for random chunks and for all inputs of small blocks, whichever threads win."""
    own = [r for r in records if r["kind"] in ("try", "small") and r["try"] == "try 3"]
    small = [r for r in own if r["kind"] == "small"]
    games = [r for r in records if (r["kind"], r["try"]) == ("rounds", "try 3")]
    chunks = sum(r["blocks"] for r in own)
    warned = {r["warnings"] for r in own if r["warnings"]}
    return claim.verdict(
        {"chunks": chunks, "right": min(r["right"] for r in own), "errors": sorted({_found(r) for r in own})},
        all(r["right"] == 1 and not r["errors"] and not r["stopped"] for r in own)
        and warned == {"conflict"}
        and all(r["outcomes"] == r["blocks"] for r in small)
        and all(r["right"] == 1 for r in games),
        f"{sum(r['blocks'] for r in small)} of them are all inputs of small blocks "
        f"({'; '.join(r['inputs'] for r in small)}), for which every order of winners ends with the maximum too. "
        "Warnings: stores of different values by one line, of which any may win. Rounds by winner: "
        + ", ".join(f"{r['winner']} {r['mean_rounds']:.1f} (most {r['most_rounds']})" for r in games),
    )
