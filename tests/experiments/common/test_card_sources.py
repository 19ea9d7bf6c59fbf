"""What is measured on a card: Numba's simulator runs it, its compiler types it, and its outputs are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.common.card_sources import FORMS, UNSIGNED, Source
from experiments.common.preloading import BASELINE, HAND, OURS, PROGRAMS
from tests.numba import card, simulator

pytest.importorskip("numba")

SMALL: dict[str, dict[str, float]] = {
    **dict.fromkeys(("MMA", "MMAC", "EDS", "SRD1", "SRD2"), {"n": 17}),
    **dict.fromkeys(("JAC", "HSP"), {"n": 20}),
    "BKP1": {"inputs": 128},
    "BKP2": {"inputs": 32},
    "NN": {"images": 1},
    "NNC": {"records": 100},
    "LPS": {"n": 32, "planes": 3},
    "RDC5": {"elements": 512},
    "RDC6": {"elements": 4096, "each": 8},
    "FWL": {"elements": 512},
    "HIS1": {"elements": 1000, "blocks": 2},
    "HIS2": {"many": 40},
}


def sources(name: str) -> list[Source]:
    """Small sources of a program with tiles, and with indices that are new."""
    found = [s for s in FORMS["tiles"].of(name, SMALL[name]) if s.variant != BASELINE and s.spelling == UNSIGNED]
    assert HAND in {source.variant for source in found}
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_outputs_in_the_simulator(name: str) -> None:
    for source in sources(name):
        assert "uint64(" in source.text
        text = f"{source.text}\nkernel = {source.kernel}\n"
        given = [*source.problem.arguments()]
        after = simulator.shared().launch(text, f"<{name} {source.variant}>", source.grid, source.block, given)
        source.problem.check(tuple(after))


@pytest.mark.long
def test_the_compiler_for_cards_types_them(tmp_path: Path) -> None:
    """It refuses shapes that are sums, which the simulator takes."""
    kernels = []
    for name in PROGRAMS:
        for source in sources(name):
            path = tmp_path / f"{name} {source.variant}.py"
            path.write_text(source.text)
            build = BASELINE if source.variant == OURS else source.variant
            kernels.append((path, source.kernel, name, build))
    card.check_types(kernels)
