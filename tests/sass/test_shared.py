"""How much shared memory a block is told that it has, and asynchronous copies to it that add zeros."""

from __future__ import annotations

import numpy as np
import pytest

from smmux.modules.module import Module
from tests.sass.conftest import ARCHITECTURES

SOURCE = "shared.cu"
NEWER = ARCHITECTURES[1:]
SIZES = {
    (0, 0): (0, 1024), (0, 4): (128, 1028), (0, 500): (512, 1524), (0, 1040): (1152, 2064), (0, 4097): (4224, 5121),
    (100, 0): (128, 1124), (100, 16): (128, 1140), (100, 100): (256, 1224), (100, 128): (256, 1252),
    (1000, 0): (1024, 2024), (1000, 16): (1024, 2040), (1000, 100): (1152, 2124), (1000, 4096): (5120, 6120),
}  # fmt: skip
"""Of static and dynamic bytes: %total_smem_size and %aggr_smem_size, as an H200 has answered."""


@pytest.mark.parametrize("arch", NEWER, indirect=True)
@pytest.mark.parametrize(("static", "dynamic"), SIZES)
def test_a_block_is_told_how_much_it_has(module: Module, static: int, dynamic: int) -> None:
    y = np.zeros(4, np.uint32)
    module[f"sizes_{static}"].simulate(1, 1, (y,), dynamic_shared=dynamic)
    total, every = SIZES[static, dynamic]
    assert y[:3].tolist() == [total, dynamic, every if module.arch == "sm_90" else 0]


@pytest.mark.parametrize("arch", NEWER, indirect=True)
@pytest.mark.parametrize("size", [1, 4, 13, 16, 20, 31, 100, 511])
def test_a_copy_that_adds_zeros_reads_no_further_than_its_array(module: Module, size: int) -> None:
    x = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    y, lanes = np.zeros(512, np.uint8), 1 + size // 16
    module["copy"].simulate(1, 32, (x, y, np.int32(size), np.int32(lanes)), check="races")
    expected = np.full(512, 0xEE, np.uint8)
    expected[: 16 * lanes] = 0
    expected[:size] = x
    np.testing.assert_array_equal(y, expected)
