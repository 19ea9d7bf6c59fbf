"""Blocks that are dealt out by sums of address bits: an H100's, as measured, and others that tell all blocks apart."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import ConfigError, gpus, models
from smmux.gpus.memory import SUMS

H100 = gpus.get("H100")


def places(gpu: gpus.Gpu, addresses: np.ndarray) -> np.ndarray:
    dram = models.Dram(gpu)
    found = [dram.locate(int(address)) for address in addresses]
    return np.array([(place.partition, place.address) for place in found])


@pytest.mark.checkout
def test_an_h100_s_lines_have_the_partitions_that_were_measured() -> None:
    from experiments.hardware.hopper import findings, slice_hash  # an installed package has no experiments

    data = findings.arrays("h100", "l2_slices")
    found = places(H100, 128 * data["lines"].astype(np.int64))[:, 0].tolist()
    both = set(zip(found, data["classes"].tolist(), strict=True))
    assert len(both) == len(set(found)) == H100.partitions
    assert found == slice_hash.pair_of(128 * data["lines"].astype(np.int64)).tolist()


@pytest.mark.parametrize("chunk", [0, 1, 4, 7, 8191, 32767])
def test_five_times_128_kilobytes_fill_their_partitions_without_holes(chunk: int) -> None:
    begin = chunk // 5 * 5 << 17
    addresses = np.arange(begin, min(begin + (5 << 17), 1 << 32), 256)
    found = places(H100, addresses)
    assert len(np.unique(found, axis=0)) == len(addresses)
    if len(addresses) == 5 << 9:
        for partition in range(H100.partitions):
            own = np.sort(found[found[:, 0] == partition, 1])
            assert (np.diff(own) == 256).all()
            assert len(own) == len(addresses) // H100.partitions


@settings(max_examples=80)
@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=6, max_size=6))
def test_masks_are_taken_if_they_tell_the_blocks_of_128_kilobytes_apart(masks: list[int]) -> None:
    blocks = [(n & 1) << 8 | n >> 1 << 10 for n in range(256)]
    told = {(*((block & mask).bit_count() & 1 for mask in masks), block >> 12 & 3) for block in blocks}
    changes = dict(zip(SUMS, masks, strict=True))
    if len(told) < len(blocks):
        with pytest.raises(ConfigError, match="must tell apart the 256 blocks"):
            H100.replace(**changes)
    else:
        found = places(H100.replace(**changes), np.arange(0, 1 << 17, 256))
        assert len(np.unique(found, axis=0)) == len(found)


def test_sums_are_for_forty_partitions_of_pairs() -> None:
    with pytest.raises(ConfigError, match="partition_hash = 2 needs 40 partitions, not 47, and partition_pairs"):
        H100.replace(partitions=47)
    with pytest.raises(ConfigError, match="partition_hash = 2 needs 40 partitions"):
        H100.replace(partition_pairs=0, partition_bytes=256)
