"""Kernels that Triton compiles for sm_80 make what NumPy makes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import smmux

triton = pytest.importorskip("triton", reason="Triton is not installed: pip install 'smmux[triton]'")
tl = pytest.importorskip("triton.language")
WARPS = 4
THREADS = 32 * WARPS


@pytest.fixture(autouse=True)
def triton_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its cache is a folder of the test, and its default for contractions is settled."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")


def compiled(kernel, constexprs, floats, arch="sm_80", **types):
    """floats: parameters that point to floats; what has no type in `types` is an integer."""
    types |= dict.fromkeys(floats.split(), "*fp32")
    signature = {name: types.get(name, "i32") for name in kernel.arg_names if name not in constexprs}
    return smmux.from_triton(kernel, signature, constexprs, num_warps=WARPS, arch=arch)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(i < columns, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    w, b = tl.load(weight + i, mask=i < columns), tl.load(bias + i, mask=i < columns)
    tl.store(out + row * columns + i, centred * scale * w + b, mask=i < columns)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, i) > p
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(kept, values / (1 - p), 0.0), mask=i < n)


@triton.jit
def matmul(x, y, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        at = start + inner
        a = tl.load(x + row[:, None] * k + at[None, :], mask=(row[:, None] < m) & (at[None, :] < k), other=0.0)
        b = tl.load(y + at[:, None] * n + column[None, :], mask=(at[:, None] < k) & (column[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(out + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Of one head, causal; a running maximum and sum of each row."""
    row, column, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + d[None, :], mask=row[:, None] < length, other=0.0)
    most = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, tl.minimum(length, (tl.program_id(0) + 1) * M), N):
        at = start + column
        keys = tl.load(k + at[None, :] * D + d[:, None], mask=at[None, :] < length, other=0.0)
        scores = tl.dot(queries, keys) * scale
        scores = tl.where((at[None, :] <= row[:, None]) & (at[None, :] < length), scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.exp(scores - now[:, None])
        shrunk = tl.exp(most - now)
        values = tl.load(v + at[:, None] * D + d[None, :], mask=at[:, None] < length, other=0.0)
        weight = weight * shrunk + tl.sum(powers, axis=1)
        total = tl.dot(powers.to(tl.float16), values, total * shrunk[:, None])
        most = now
    tl.store(out + row[:, None] * D + d[None, :], total / weight[:, None], mask=row[:, None] < length)


def normal(rng: np.random.Generator, *shape: int, kind: str = "f4") -> np.ndarray:
    return rng.standard_normal(shape).astype(kind)


def test_vector_add() -> None:
    rng = np.random.default_rng(1)
    x, y, out = normal(rng, 1000), normal(rng, 1000), np.zeros(1000, "f4")
    compiled(add, {"BLOCK": 256}, "x y out").simulate(4, THREADS, (x, y, out, 1000))
    np.testing.assert_array_equal(out, x + y)
    with pytest.raises(smmux.LaunchError, match=r"takes 4 arguments \(x, y, out, n\), 3 given"):
        compiled(add, {"BLOCK": 256}, "x y out").simulate(4, THREADS, (x, y, out))


def test_softmax() -> None:
    x, out = normal(np.random.default_rng(2), 5, 300), np.zeros((5, 300), "f4")
    compiled(softmax, {"BLOCK": 512}, "x out").simulate(5, THREADS, (x, out, 300))
    powers = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True), rtol=2e-6)


def test_layer_norm() -> None:
    rng = np.random.default_rng(3)
    x, weight, bias, out = normal(rng, 6, 200), normal(rng, 200), normal(rng, 200), np.zeros((6, 200), "f4")
    kernel = compiled(layer_norm, {"BLOCK": 256}, "x weight bias out", epsilon="fp32")
    kernel.simulate(6, THREADS, (x, weight, bias, out, 200, 1e-5))
    wide = x.astype("f8")
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def philox(seed: int, offsets: np.ndarray) -> np.ndarray:
    """The first words of Philox 4x32-10, of Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011)."""
    zero, low = np.zeros(len(offsets), "u8"), np.uint64(0xFFFFFFFF)
    counter, keys = [offsets.astype("u8"), zero, zero, zero], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [
            (second >> np.uint64(32)) ^ counter[1] ^ np.uint64(keys[0]),
            second & low,
            (first >> np.uint64(32)) ^ counter[3] ^ np.uint64(keys[1]),
            first & low,
        ]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter[0].astype("u4")


def test_dropout() -> None:
    x, out = normal(np.random.default_rng(4), 1000), np.zeros(1000, "f4")
    compiled(dropout, {"BLOCK": 256}, "x out", p="fp32").simulate(4, THREADS, (x, out, 1000, 0.5, 77))
    drawn = philox(77, np.arange(1000)).view("i4").astype("i8")
    uniform = np.where(drawn < 0, -drawn - 1, drawn).astype("f4") * np.float32(4.6566127342e-10)
    np.testing.assert_array_equal(out, np.where(uniform > np.float32(0.5), x * 2, 0))


@pytest.mark.parametrize(("kind", "type_"), [("f2", "*fp16"), ("f4", "*fp32")])
def test_matmul(kind: str, type_: str) -> None:
    """Of halves, and of floats that are cut to 19 bits, on tensor units."""
    rng, (m, n, k) = np.random.default_rng(5), (70, 50, 100)
    x, y, out = normal(rng, m, k, kind=kind), normal(rng, k, n, kind=kind), np.zeros((m, n), "f4")
    kernel = compiled(matmul, {"M": 32, "N": 32, "K": 32}, "out", x=type_, y=type_)
    assert any(one.opcode == "HMMA" for one in kernel.instructions)
    kernel.simulate((3, 2), THREADS, (x, y, out, m, n, k))
    tolerance = 1e-4 if kind == "f2" else 3e-2
    np.testing.assert_allclose(out, x.astype("f8") @ y.astype("f8"), rtol=tolerance, atol=tolerance)


def test_fused_attention() -> None:
    rng, (length, width) = np.random.default_rng(6), (100, 32)
    q, k, v = (normal(rng, length, width, kind="f2") for _ in range(3))
    out, scale = np.zeros((length, width), "f4"), width**-0.5
    kernel = compiled(attention, {"M": 64, "N": 32, "D": width}, "out", q="*fp16", k="*fp16", v="*fp16", scale="fp32")
    assert any(one.opcode == "HMMA" for one in kernel.instructions)
    kernel.simulate(2, THREADS, (q, k, v, out, length, scale))
    scores = q.astype("f8") @ k.astype("f8").T * scale
    scores[np.triu_indices(length, 1)] = -np.inf
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True) @ v.astype("f8"), rtol=5e-3, atol=2e-3)
