"""What `smmux.models` accepts, refuses and shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smmux import gpus, models


def test_numpy_in_dataclasses_out() -> None:
    addresses = np.arange(32, dtype=np.uint64) * 8
    access = models.bank_passes(addresses, mask=np.arange(32) < 16)
    assert (access.passes, access.ideal, access.conflicts, access.clk) == (2, 1, 1, 4)
    assert access.banks[:3] == (0, 2, 4)
    assert access.banks[16] is None
    found = models.coalesce(addresses, gpu=gpus.get("K20c"), mask=0xFF)
    assert [segment.lanes for segment in found.segments] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert (found.bytes, found.requested_bytes, found.efficiency) == (64, 32, 0.5)


def test_fewer_addresses_are_fewer_lanes() -> None:
    assert models.bank_passes([0, 4, 8]).ideal == 1
    assert models.coalesce([]).segments == ()
    assert models.coalesce([]).efficiency == 0


def test_reprs() -> None:
    access = models.bank_passes(range(0, 256, 8))
    assert repr(access) == "<BankAccess 4 passes, 2 from conflicts, 8 clk on GTX285>"
    assert "bank 14: lane 31, byte address 248" in access._repr_html_()
    found = models.coalesce(range(132, 260, 4))
    assert repr(found) == "<Transactions 3: 128@128, 64@192, 32@256; 224 bytes on GTX285>"
    assert "16-30" in found._repr_html_()
    occupancy = models.occupancy(64, 10, 8192, param_bytes=16)
    assert repr(occupancy) == "<Occupancy 1 block of 64 threads on GTX285: 2 warps, 6%, limited by shared memory>"
    assert "font-weight:bold'><td style='text-align:right'>shared memory" in occupancy._repr_html_()


@pytest.mark.parametrize(
    ("addresses", "options", "message"),
    [
        (range(33), {}, "at most 32"),
        ([[0, 4]], {}, "shape"),
        ([0.0], {}, "integers"),
        ([-4], {}, "outside 32 bits"),
        ([1 << 32], {}, "outside 32 bits"),
        ([0, 6], {}, "address 6 of lane 1 is not a multiple"),
        ([0], {"width": 3}, "width"),
        ([0], {"mask": [True, False]}, "mask"),
        ([0], {"mask": -1}, "mask"),
        ([0], {"mask": 1.5}, "mask"),
    ],
)
def test_refusals(addresses: Any, options: dict[str, Any], message: str) -> None:
    for model in (models.bank_passes, models.coalesce):
        with pytest.raises(ValueError, match=message):
            model(addresses, **options)


def test_lanes_that_take_no_part_may_point_anywhere() -> None:
    assert models.bank_passes([0, -1, 4], mask=0b101).passes == 1


@pytest.mark.parametrize(("gpu", "mode"), [("GTX285", 4), ("GTX480-48K", 8), ("K20c", 16)])
def test_bank_modes_of_kepler_only(gpu: str, mode: int) -> None:
    with pytest.raises(ValueError, match="bank modes"):
        models.bank_passes([0], gpu=gpu, mode=mode)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 1, 0), "threads"), ((513, 1, 0), "threads"), ((32, 125, 0), "registers"), ((32, 1, -1), "size")],
)
def test_occupancy_refusals(arguments: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        models.occupancy(*arguments)
