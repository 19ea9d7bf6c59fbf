"""What a driver tells a kernel of shared memory that it reserves and of clusters; functions in constants."""

from __future__ import annotations

import numpy as np
import pytest

from smmux.modules.module import Module
from tests.sass.conftest import ARCHITECTURES

SOURCE = "reserved.cu"
RESERVING = ARCHITECTURES[1:]
USED = 288
"""Bytes that an H200's driver has in use of those that it reserves."""


@pytest.mark.parametrize("arch", RESERVING, indirect=True)
@pytest.mark.parametrize("name", ["with_array", "with_dynamic", "without"])
def test_tiles_of_several_warps_have_memory_of_their_own(module: Module, name: str) -> None:
    x = np.arange(256, dtype=np.int32) ** 2 % 1009
    sums, kept = np.zeros((2, 256), np.int32)
    arrays = (x, sums) if name == "without" else (x, sums, kept)
    module[name].simulate(1, 256, arrays, dynamic_shared=1024 if name == "with_dynamic" else 0)
    np.testing.assert_array_equal(sums, np.repeat(x.reshape(4, 64).sum(1), 64))
    if len(arrays) == 3:
        np.testing.assert_array_equal(kept, np.arange(256) + {"with_array": 1000, "with_dynamic": 2000}[name])


@pytest.mark.parametrize("arch", RESERVING, indirect=True)
def test_reserved_memory_is_apart_from_the_kernels_own(module: Module) -> None:
    y = np.zeros(4, np.uint32)
    module["reserved"].simulate(1, 32, (y,))
    begin, end, first, own = y.tolist()
    assert (end - begin, first) == (USED, begin)
    assert (begin, own) == ((0, 1024) if module.arch == "sm_90" else (512, 0))  # behind 400 bytes before sm_90


@pytest.mark.parametrize("arch", ["sm_90"], indirect=True)
@pytest.mark.parametrize("name", ["alone", "asked"])
def test_a_block_is_a_cluster_of_its_own(module: Module, name: str) -> None:
    """As an H200 answers, whose constant bank was read for both kernels."""
    y = np.zeros((2, 3, 5, 10), np.uint32)
    module[name].simulate((5, 3, 2), 64, (y,))
    np.testing.assert_array_equal(y[..., :6], np.broadcast_to([1, 64, 0, 5, 3, 2], (2, 3, 5, 6)))
    np.testing.assert_array_equal(y[..., 6:9], np.moveaxis(np.indices((2, 3, 5))[::-1], 0, -1))
    assert (y[..., 9] == (name == "asked")).all()


@pytest.mark.parametrize("which", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_constants_hold_addresses_of_functions(module: Module, which: tuple[int, int]) -> None:
    y = np.zeros(2, np.int32)
    module["functions"].simulate(1, 1, (np.array(which, np.int32), y))
    assert y.tolist() == [(107, 93)[which[0]], (18, 81)[which[1]]]
