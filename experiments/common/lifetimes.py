"""How much of a thread block's life its shared memory is in use: builds and shares of Figure 1."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.common.cards import GPU
from experiments.common.speedups import MEAN
from smmux import benchmarks
from smmux.plot import geometric_mean
from smmux.sweep import Record

__all__ = ["PUBLISHED", "SLOW_SHARED", "series", "with_shares"]

PUBLISHED = {"STO": "sha1_ring", **dict.fromkeys(("MV", "SP", "HG", "CV", "MM", "TP"), "as_sdk")}
"""The benchmarks' builds as published, where they differ from the default ones."""
SLOW_SHARED = f"{GPU}, shared memory twice as slow"


def with_shares(record: Record) -> Record:
    """The record with two shares of its blocks' lives: `share`, in regions; `span`, from first store to last load."""
    lifetime = record["block_cycles"] or 1
    return {**record, "share": record["region_cycles"] / lifetime, "span": record["shared_span_cycles"] / lifetime}


def series(records: Sequence[Record], variant: str, schedule: str, build: str = "default", gpu: str = GPU) -> Record:
    """The shares by benchmark, and their mean: `share` of the isolated variant, `span` of others.

    build: "default", or "published", which is the default one for benchmarks that are not in `PUBLISHED`.
    """
    column = "share" if variant == "isolated" else "span"
    shares: Record = {}
    for name in benchmarks.names():
        wanted = PUBLISHED.get(name) if build == "published" else None
        wanted = wanted or benchmarks.get(name).builds[0]
        key = {"benchmark": name, "variant": variant, "schedule": schedule, "build": wanted, "gpu": gpu}
        own = [r for r in records if r.items() >= key.items()]
        if own:
            shares[name] = own[0][column]
    return {**shares, MEAN: geometric_mean(shares.values())}
