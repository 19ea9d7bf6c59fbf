"""Stores of warps that together write whole sectors, beside a card: which warps go first decides what joins."""

from __future__ import annotations

import numpy as np
import pytest

import smmux
from experiments.hardware.hopper import findings
from tests.sass.conftest import needed

SIZES = [("straight", 1, 32, 1024), ("lines8", 1, 4, 128), ("lines8", 1, 2, 64)]
CHIP = [("straight", 132, 16, 128), ("straight", 132, 16, 512)]


@pytest.mark.parametrize(
    "form, count, warps, threads", [*SIZES, *(pytest.param(*size, marks=pytest.mark.long) for size in CHIP)]
)
def test_stores_take_what_they_take_on_a_card(form: str, count: int, warps: int, threads: int) -> None:
    """Of blocks of 128 threads one stores after the other, and its stores join; the warps of larger ones take turns,
    which parts those of each (9 clocks a store on all multiprocessors, and 38)."""
    needed("nvcc", "nvdisasm")
    kernel = smmux.load(findings.FOLDER / "bursts.cu", "sm_90")[form]
    rounds = 128 // (32 if form == "straight" else int(form.removeprefix("lines")))
    base = np.zeros(count * warps * 128 * 128, np.float32)
    seen = np.tile(np.array([2**63, 0], np.uint64), 132)
    kernel.simulate(count * warps * 32 // threads, threads, (base, rounds, seen), gpu="H100")
    begin, end = seen.reshape(-1, 2)[seen.reshape(-1, 2)[:, 1] > 0].T
    assert len(end) == count
    clocks = float((end - begin).mean()) / (warps * 128)
    card = findings.one("h100", "store_bursts", "clocks", form=form, count=count, warps=warps, threads=threads)
    assert clocks == pytest.approx(card, rel=0.25)
