"""Arguments to parameter words and device addresses."""

import re
import struct

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from smmux import LaunchError, cuda
from smmux.base.dimensions import dim3
from smmux.compiler.program import INSN, UNIFORM, ParamWord, Program
from smmux.kernel import from_source
from smmux.language.placement import ALIGNMENT, FIRST_ADDRESS, flatten
from smmux.running.arguments import pack


def program(*types):
    words, arrays = [], 0
    for position, kind in enumerate(types):
        words.append(ParamWord(f"p{position}", kind, arrays if kind == "ptr" else -1))
        arrays += kind == "ptr"
    return Program("k", "k.py", np.zeros(1, INSN), np.zeros(0, UNIFORM), 1, 0, params=tuple(words))


def pack_one(kind, value):
    return pack(program(kind), (value,)).words[0]


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [
        ("s32", 7, 7),
        ("s32", -1, 0xFFFFFFFF),
        ("s32", -(2**31), 0x80000000),
        ("s32", np.int8(-3), 0xFFFFFFFD),
        ("s32", np.int64(2**31 - 1), 0x7FFFFFFF),
        ("s32", True, 1),
        ("s32", np.bool_(False), 0),
        ("u32", np.uint32(2**32 - 1), 0xFFFFFFFF),
        ("u32", np.uint8(255), 255),
        ("f32", 1.5, 0x3FC00000),
        ("f32", np.float64(0.1), 0x3DCCCCCD),
        ("f32", np.float32(-0.0), 0x80000000),
        ("f32", float("inf"), 0x7F800000),
        ("f32", 3, 0x40400000),
    ],
)
def test_scalars_become_one_word(kind, value, word):
    assert pack_one(kind, value) == word


@given(st.floats(width=32, allow_nan=False))
def test_floats_keep_their_bits(value):
    assert struct.pack("<I", pack_one("f32", value)) == np.float32(value).tobytes()


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("s32", 2**31, "does not fit s32; pass numpy.uint32"),
        ("s32", 2**32, "does not fit s32"),
        ("s32", -(2**31) - 1, "does not fit s32"),
        ("u32", -1, "does not fit u32"),
        ("f32", 1e39, "does not fit float32"),
        pytest.param("f32", 10**400, "does not fit float32", id="huge"),
        ("s32", 1.5, "must be an int, not 1.5"),
        ("s32", "7", "must be an int, not '7'"),
        ("f32", "7", "must be a float, not '7'"),
        ("f32", 1j, "must be a float, not 1j"),
        ("ptr", 3, "must be an array, not int"),
        ("s32", np.zeros(3, np.int32), "must be an int, not ndarray"),
    ],
)
def test_scalars_that_do_not_fit_are_refused(kind, value, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        pack_one(kind, value)


def test_number_of_arguments_is_checked():
    with pytest.raises(LaunchError, match="k takes 2 values, 3 given"):
        pack(program("s32", "s32"), tuple(flatten((1, (2, 3)))))


def test_tuples_are_flattened_in_order():
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    packed = pack(program("s32", "ptr", "f32", "ptr"), tuple(flatten((1, (a, (2.0, b))))))
    assert packed.words == (1, packed.addresses[0], 0x40000000, packed.addresses[1])


def test_none_takes_no_word_and_lenders_of_arrays_are_arrays():
    class Lender:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__

    array = np.zeros(4, np.float32)
    packed = pack(program("ptr", "s32"), tuple(flatten((None, Lender(array), 3))))
    assert packed.words == (FIRST_ADDRESS, 3)
    packed.buffers[0][0].view(np.float32)[:] = 2
    assert array.tolist() == [2, 2, 2, 2]


def test_separate_arrays_follow_each_other_aligned_in_argument_order():
    arrays = [np.zeros(n, np.uint8) for n in (1, 256, 257, 3)]
    packed = pack(program("ptr", "ptr", "ptr", "ptr"), arrays)
    assert packed.addresses == tuple(FIRST_ADDRESS + ALIGNMENT * k for k in (0, 1, 2, 4))
    assert [size for _, _, size, _ in packed.buffers] == [1, 256, 257, 3]
    assert pack(program("ptr", "ptr"), arrays[:2]).addresses == pack(program("ptr", "ptr"), arrays[1::-1]).addresses


def test_views_of_one_buffer_share_it():
    base = np.arange(1000, dtype=np.int32)
    other = np.zeros(5, np.int32)
    packed = pack(program("ptr", "ptr", "ptr", "ptr"), (base[10:20], other, base, base[15:600:3]))
    first, apart, whole, strided = packed.addresses
    assert whole % ALIGNMENT == 0
    assert first - whole == 40
    assert strided - whole == 60
    assert apart >= whole + base.nbytes
    assert packed.buffers[3][2] == (195 - 1) * 12 + 4


def test_a_lone_view_keeps_its_alignment_and_takes_only_its_span():
    base = np.zeros(100_000, np.float32)
    packed = pack(program("ptr", "ptr"), (base[65 : 65 + 64], np.zeros(1, np.float32)))
    assert packed.addresses[0] == FIRST_ADDRESS + 4
    assert packed.addresses[1] == FIRST_ADDRESS + 2 * ALIGNMENT


def test_two_wrappings_of_the_same_bytes_share_them():
    memory = bytearray(512)
    low = np.frombuffer(memory, np.uint8)
    high = np.frombuffer(memory, np.uint8, offset=100)
    packed = pack(program("ptr", "ptr"), (high, low))
    assert packed.addresses[0] - packed.addresses[1] == 100


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[::-1],
        lambda a: a[:, ::-2],
        lambda a: a[1:3, 2:5],
        lambda a: a.reshape(-1)[::3],
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a[0, :1], (4, 4)),
    ],
    ids=["c", "transposed", "rows back", "columns back", "window", "stride", "fortran", "broadcast"],
)
def test_element_addresses_follow_the_strides_and_reach_the_same_memory(view):
    array = view(np.arange(24, dtype=np.int32).reshape(4, 6))
    packed = pack(program("ptr"), (array,))
    ((memory, start, size, writable),) = packed.buffers
    assert memory.nbytes == size
    assert writable == array.flags.writeable
    assert memory.flags.c_contiguous
    for index in np.ndindex(array.shape):
        offset = packed.words[0] + int(np.dot(index, array.strides)) - start
        assert memory[offset : offset + 4].view(np.int32)[0] == array[index]


def test_writing_the_bytes_writes_the_array():
    array = np.zeros((3, 4), np.float32, order="F")
    ((memory, *_),) = pack(program("ptr"), (array,)).buffers
    memory.view(np.float32)[:] = np.arange(12)
    assert array[1, 2] == 7.0


def test_read_only_arrays_are_lent_read_only():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    ((memory, _, _, writable),) = pack(program("ptr"), (array,)).buffers
    assert not writable
    assert not memory.flags.writeable


def test_the_bytes_keep_the_array_alive():
    ((memory, *_),) = pack(program("ptr"), (np.full(1000, 7, np.uint8),)).buffers
    assert memory.tolist() == [7] * 1000


def test_empty_arrays_have_no_bytes_and_a_place():
    packed = pack(program("ptr", "ptr"), (np.zeros(0, np.float32), np.zeros((3, 0), np.float32)))
    assert [size for _, _, size, _ in packed.buffers] == [0, 0]
    assert packed.addresses == (FIRST_ADDRESS, FIRST_ADDRESS)


def test_foreign_byte_order_and_misaligned_arrays_are_refused():
    misaligned = np.zeros(9, np.uint8)[1:].view(np.float32)
    for array in (np.zeros(3, ">f4"), misaligned):
        with pytest.raises(LaunchError, match="copy it first"):
            pack(program("ptr"), (array,))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(1, 60)), min_size=1, max_size=6))
def test_addresses_overlap_exactly_where_memory_does(slices):
    bases = [np.zeros(120, np.uint8) for _ in range(4)]
    arrays = [bases[which][start : start + size] for which, start, size in slices]
    packed = pack(program(*["ptr"] * len(arrays)), arrays)
    for a, at_a, (which_a, start_a, _) in zip(arrays, packed.addresses, slices, strict=True):
        for b, at_b, (which_b, start_b, _) in zip(arrays, packed.addresses, slices, strict=True):
            if which_a == which_b:
                assert at_a - at_b == start_a - start_b
            else:
                assert at_a + a.size <= at_b or at_b + b.size <= at_a


@pytest.mark.parametrize(
    ("value", "expected"),
    [(8, (8, 1, 1)), ((8,), (8, 1, 1)), ([4, 2], (4, 2, 1)), ((4, 2, 3), (4, 2, 3)), (np.int64(5), (5, 1, 1))],
)
def test_sizes_are_ints_or_tuples(value, expected):
    assert dim3("grid", value) == expected


@pytest.mark.parametrize("size", [np.array([4, 2]), np.array(8), np.array([8])])
def test_sizes_may_be_arrays(size):
    kernel, out = from_source("def kernel(out):\n    out[cuda.grid(1)] += 1\n", {"cuda": cuda}), np.zeros(128, int)
    result = kernel.simulate(size, 2 * size, (out,), "GTX480-16K")
    assert result.grid == dim3("grid", size)
    kernel[size, 2 * size](out)
    assert out[0] > 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "grid 0 has a dimension below 1"),
        ((4, -1), "has a dimension below 1"),
        ((), "grid must have 1 to 3 dimensions, not 0"),
        ((1, 1, 1, 1), "grid must have 1 to 3 dimensions, not 4"),
        (2.0, "grid must be an int or a tuple of ints, not 2.0"),
        ("8", "must be an int or a tuple of ints"),
    ],
)
def test_other_sizes_are_refused(value, message):
    with pytest.raises(LaunchError, match=re.escape(message)):
        dim3("grid", value)
