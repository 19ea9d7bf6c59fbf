"""Memory of compiled code: every space, width and atomic operation, variables, printf, malloc, and what goes wrong."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux.errors import KernelAssertionError, KernelError, LaunchError, OutOfBoundsError
from smmux.modules.module import Module, load
from tests.sass.conftest import needed
from tests.sass.single import run_lanes

SOURCES = Path(__file__).parent / "sources"
SLOW = [("sm_80", "-O3"), ("sm_86", "-O3"), ("sm_89", "-O3"), ("sm_75", "-G")]
BUILDS = [
    ("sm_75", "-O3"),
    ("sm_90", "-O3"),
    ("sm_90", "-G"),
    *(pytest.param(*b, marks=pytest.mark.slow) for b in SLOW),
]
builds = pytest.mark.parametrize(("arch", "option"), BUILDS)


@lru_cache
def built(name: str, arch: str, option: str) -> Module:
    needed("nvcc", "nvdisasm")
    return load(SOURCES / name, arch, [option, "-lineinfo"] if option != "-G" else [option])


def module(arch: str, option: str) -> Module:
    return built("memory.cu", arch, option)


@builds
def test_atomics(arch: str, option: str) -> None:
    n, t = 128, np.arange(128)
    g, u, wide = np.zeros(8, "i4"), np.zeros(8, "u4"), np.zeros(4, "u8")
    f, d, out = np.zeros(4, "f4"), np.zeros(4, "f8"), np.zeros(2048, "i4")
    g[3], u[2] = -1, 99
    module(arch, option)["atomics"].simulate(1, n, [g, u, wide, f, d, out])
    assert g[:6].tolist() == [t.sum(), 0, 0, 0, 127, 0]
    assert u[[0, 2, 3]].tolist() == [n % 8, 0, 127]
    assert wide[0] == t.sum()
    assert f[:2].tolist() == [1.5 * n, 2 * n]
    assert d[:2].tolist() == [1.5 * n, 2 * n]
    shared = out[1024:1056]
    assert shared[[0, 1, 2, 3, 6, 7]].tolist() == [t.sum(), t.sum(), n, 0, n % 6, 0]
    assert out[1023] == n
    assert out[1100] == t.sum()
    assert out[1103] == 127


@builds
def test_lanes_of_one_access_go_to_different_spaces(arch: str, option: str) -> None:
    g = np.random.default_rng(3).integers(0, 8, 256).astype("i4")
    before = g.copy()
    module(arch, option)["spaces"].simulate(1, 64, [g, 9])
    for t, x in enumerate(before[:64]):
        where = 4 if (x & 6) == 4 else 1 if x & 1 else 2
        value = {4: [1, 2, 3, 9][x & 3], 1: 2 * t, 2: before[64 + t]}[where]
        assert (g[t], g[128 + t], g[192 + t]) == (value, where, t + 3)


@builds
def test_local_arrays_of_wide_elements(arch: str, option: str) -> None:
    g = np.random.default_rng(4).random(80)
    before, k = g.copy(), 3
    module(arch, option)["locals"].simulate(1, 64, [g, k])
    for t in range(64):
        own, total = before[:16] * t, 0.0
        own[k] += 1
        for i in range(16):
            total += own[(i * k + t) & 15]
        assert g[16 + t] == total


@builds
def test_all_widths(arch: str, option: str) -> None:
    n = 64
    data, out = np.random.default_rng(5).integers(0, 256, 16 * n).astype("u1"), np.zeros(28 * n, "u1")
    module(arch, option)["widths"].simulate(1, n, [data, out, n])
    assert (out[: 16 * n] == data).all()
    assert (out[16 * n : 24 * n] == data[: 8 * n]).all()
    assert (out[24 * n : 26 * n].view("i2") == data[:n].view("i1").astype("i2") * 3).all()
    assert (out[26 * n :].view("u2") == data[: 2 * n].view("u2") // 3).all()


@builds
def test_dynamic_shared_memory(arch: str, option: str) -> None:
    g = np.arange(64, dtype="i4")
    module(arch, option)["reversed"].simulate(1, 64, [g, 64], dynamic_shared=256)
    assert (g == np.arange(64)[::-1]).all()


@builds
def test_variables_and_structures(arch: str, option: str) -> None:
    kernel = module(arch, option)["variables"]
    pair = np.array([(2.5, 7)], [("scale", "f4"), ("shift", "i4")])[0]
    out, t = np.zeros(64, "f4"), np.arange(64)
    weights, counter = np.arange(16, dtype="f4"), np.full(1, 5, "i4")
    kernel.simulate(1, 64, [out, pair], variables={"weights": weights, "counter": counter})
    table = np.array([1, 2, 3, 4], "f4")
    assert (out == weights[t & 15] * np.float32(2.5) + table[t & 3] + table[1 + (t & 1)] + 7).all()
    assert counter[0] == 69
    with pytest.raises(LaunchError, match="variable 'weights' has 64 bytes"):
        kernel.simulate(1, 64, [out, pair], variables={"weights": weights[:3]})
    with pytest.raises(LaunchError, match="did you mean 'weights'"):
        kernel.simulate(1, 64, [out, pair], variables={"weight": weights})


@builds
def test_printf_and_malloc(arch: str, option: str) -> None:
    g, name = np.array([3], "i4"), np.frombuffer(b"abc\0", "u1").copy()
    printed = module(arch, option)["prints"].simulate(1, 3, [g, np.float32(2.5), name]).printed
    lines = [f"{t}:  2.50 abc {3 << 33}% q|7   |00000abc\n" + "(nil)\n" * (t == 1) for t in range(3)]
    assert printed == "".join(lines)


@builds
def test_printf_takes_widths_and_precisions_from_arguments(arch: str, option: str) -> None:
    name = np.frombuffer(b"abc\0", "u1").copy()
    printed = module(arch, option)["prints_widths"].simulate(1, 1, [3.1415, name]).printed
    assert printed == "    12|3.14     |ab|     -3|  abc|-1|0x1.921cac083126fp+1|0X1.92P+1\n"


@builds
def test_assert_and_trap(arch: str, option: str) -> None:
    g = np.array([1, 2, 5, 4], "i4")
    with pytest.raises(KernelAssertionError, match=r"g\[threadIdx.x\] < 5, .*memory.cu:\d+, in .*asserts") as caught:
        module(arch, option)["asserts"].simulate(1, 4, [g])
    assert caught.value.thread == (2, 0, 0)
    with pytest.raises(KernelError, match="stops itself") as caught:
        module(arch, option)["traps"].simulate(1, 4, [g])
    assert caught.value.thread == (2, 0, 0)
    assert str(caught.value.filename).endswith("memory.cu")


@builds
def test_an_access_outside_names_array_thread_and_line(arch: str, option: str) -> None:
    g, other = np.zeros(64, "i4"), np.zeros(4, "i4")
    with pytest.raises(OutOfBoundsError) as caught:
        module(arch, option)["outside"].simulate(1, 32, [g, 40])
    error: Any = caught.value
    assert error.thread == (24, 0, 0)
    assert error.line
    assert str(error.filename).endswith("memory.cu")
    assert other.sum() == 0


def test_blocks_that_a_kernel_is_not_compiled_for_are_refused() -> None:
    with pytest.raises(LaunchError, match="at most 64 threads"):
        module("sm_90", "-O3")["bounded"].simulate(1, 65, [np.zeros(65, "i4")])


@pytest.mark.parametrize(
    ("store", "load", "place"), [("STG.E", "", "[R28.64]"), ("STS", "LDS", "[R30]"), ("STL", "LDL", "[R31]")]
)
def test_four_words_of_zeros_are_stored(store: str, load: str, place: str) -> None:
    memory = np.full((64, 4), 7, np.uint32)
    code = ["IMAD.WIDE R28, R216, 0x10, R214", "IMAD R30, R217, 0x10, RZ", "MOV R31, RZ", f"{store}.128 {place}, RZ"]
    if load:
        code += [f"{load}.128 R24, {place}", "STG.E.128 [R28.64], R24"]
    registers = {24 + n: np.full(64, 9, np.uint32) for n in range(4)}
    run_lanes(code, registers, [24], None, memory, 1024, 16)
    assert not memory.any()


@pytest.mark.parametrize("to", ["UR4+0x20", "R30+UR4+0x10", "R30+0x20", "0x30"])
def test_copies_and_matrices_take_uniform_and_shared_addresses_together(to: str) -> None:
    """Lane 0 copies 16 bytes to place 0x30 of shared memory; a matrix is loaded from there, of which each quad of
    lanes has a row: all have that one."""
    memory = np.arange(100, 132, dtype=np.uint32)
    code = ["UMOV UR4, 0x10", "IADD3 R30, R217, 0x10, RZ", "ISETP.EQ.AND P0, PT, R217, RZ, PT"]
    code += [f"@P0 LDGSTS.E.BYPASS.128 [{to}], [R214.64+0x40]", "LDGDEPBAR", "DEPBAR.LE SB0, 0x0"]
    code += ["LDSM.16.M88 R24, [UR4+0x20]", "MOV R30, RZ", "LDSM.16.M88 R25, [R30+UR4+0x20]", "LDS R26, [UR4+0x20]"]
    got, _ = run_lanes(code, {20: np.zeros(32, np.uint32)}, [24, 25, 26], None, memory, 1024)
    np.testing.assert_array_equal(got[:2], np.broadcast_to(116 + np.arange(32) % 4, (2, 32)))
    assert (got[2] == 116).all()


@builds
def test_hints_on_caches_change_no_value(arch: str, option: str) -> None:
    x, y = np.arange(32, dtype=np.int32) ** 2, np.zeros(32, np.int32)
    module(arch, option)["hints"].simulate(1, 32, [x, y])
    np.testing.assert_array_equal(x, y)


def test_a_stack_that_is_too_large_is_refused_by_name() -> None:
    y, kernel = np.zeros(32, np.int32), module("sm_90", "-G")["recursive"]
    kernel.simulate(1, 32, [y], stack=1 << 13)
    assert y.tolist() == np.arange(32).cumsum().tolist()
    with pytest.raises(LaunchError, match=r"of which stack=100000 asks for 100000: at most 65536 are simulated"):
        kernel.simulate(1, 32, [y], stack=100_000)
