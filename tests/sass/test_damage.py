"""Damaged cubins: an error of ours or a result, and never anything else."""

from __future__ import annotations

import random
import struct

import pytest

import smmux
from smmux.compiler.sass.cubin import read_cubin
from smmux.compiler.sass.elf import Elf
from smmux.compiler.sass.lines import read_lines
from tests.sass.conftest import KERNELS, needed

HOSTILE = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


def read(data: bytes) -> None:
    """Read all that is read without the disassembler."""
    try:
        cubin = read_cubin(data)
        read_lines(Elf(data))
    except smmux.ConfigError:
        return
    for image in cubin.kernels.values():
        assert image.words.shape == (len(image.words), 2)
        assert 0 <= image.param_base <= 0xFFFF


def damaged(data: bytes, chance: random.Random) -> bytes:
    """One of many ways to damage a file."""
    made = bytearray(data)
    way = chance.randrange(4)
    if way == 0:
        return bytes(made[: chance.randrange(len(made))])
    if way == 1:  # anywhere
        for _ in range(chance.choice((1, 1, 4, 64))):
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
        return bytes(made)
    start, count = struct.unpack_from("<Q", made, 40)[0], struct.unpack_from("<H", made, 60)[0]
    if way == 2:  # a number of the header, or of a section's
        at = chance.choice((chance.randrange(16, 64), start + chance.randrange(64 * count)))
    else:  # a number of a table: not of the code
        offsets = [struct.unpack_from("<IIQQQQ", made, start + 64 * i) for i in range(1, count)]
        _, kind, flags, _, offset, size = chance.choice([row for row in offsets if row[1] != 8 and row[5]])
        at = offset + chance.randrange(size)
        del kind, flags
    width = chance.choice((1, 2, 4, 8))
    value = chance.choice(HOSTILE) & (1 << 8 * width) - 1
    made[at : at + width] = value.to_bytes(width, "little")
    return bytes(made[: len(data)])


@pytest.mark.parametrize(
    ("name", "arch"), [("constants", "sm_75"), ("printing", "sm_90"), ("function_pointers", "sm_90")]
)
def test_a_damaged_file_gives_an_error_of_ours_or_a_result(name: str, arch: str) -> None:
    needed("nvcc")
    data = smmux.load(KERNELS / f"{name}.cu", arch).cubins[0].data
    chance = random.Random(30)
    for _ in range(400):
        read(damaged(data, chance))


@pytest.mark.slow
def test_a_thousand_times_damaged() -> None:
    needed("nvcc")
    chance = random.Random(32)
    for name in ("switch_loop", "half_pairs", "tiled_matmul"):
        for arch in ("sm_75", "sm_80", "sm_90"):
            data = smmux.load(KERNELS / f"{name}.cu", arch).cubins[0].data
            for _ in range(1000):
                read(damaged(data, chance))


def test_damaged_code_gives_an_error_of_ours_or_a_listing() -> None:
    needed("nvcc", "nvdisasm")
    module = smmux.load(KERNELS / "saxpy.cu")
    chance = random.Random(31)
    words = module["saxpy"].image.words
    refused = 0
    for _ in range(3):
        data = bytearray(module.cubins[0].data)
        start = data.index(words.tobytes())
        for _ in range(4):
            data[start + chance.randrange(words.nbytes)] ^= 1 << chance.randrange(8)
        kernel = smmux.load(bytes(data))["saxpy"]
        try:
            assert len(kernel.instructions) == len(words)
        except smmux.ConfigError:
            refused += 1
    assert refused < 3


def test_texts_that_are_no_cubins() -> None:
    for data in (b"", b"\x7fELF", b"\x7fELF" * 100, bytes(64), b"\x7fELF\2\1\1" + bytes(57)):
        with pytest.raises(smmux.ConfigError, match="compile it anew"):
            read_cubin(data)
