"""Kernels in Triton, which its compiler makes GPU code of: `python -m experiments.hardware.compile_triton`.

What is launched has multiples of 16 bytes and of 16 elements throughout. Triton's own launcher would see that in the
arguments; here `at` and `sixteens` say it, so that loads and stores become as wide as they are for its users.
"""

from dataclasses import dataclass, field
from typing import Any

import triton
import triton.language as tl


@triton.jit
def at(x, offset):
    """The place so many elements behind x, a multiple of 16 bytes."""
    return tl.multiple_of(x + offset, 16)


@triton.jit
def sixteens(n):
    """The number, which is a multiple of 16."""
    return n // 16 * 16


@triton.jit
def softmax(x, out, rows, columns, BLOCK: tl.constexpr):
    """Of each row; a program takes every so many rows."""
    columns = sixteens(columns)
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(at(x, row * columns) + i, mask=i < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(at(out, row * columns) + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def layer_norm(x, weight, bias, out, mean, scale, columns, epsilon, BLOCK: tl.constexpr):
    """Of each row, in bfloat16; mean and scale are kept for the way back."""
    columns = sixteens(columns)
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    live = i < columns
    values = tl.load(at(x, row * columns) + i, mask=live, other=0.0).to(tl.float32)
    middle = tl.sum(values, axis=0) / columns
    centred = tl.where(live, values - middle, 0.0)
    factor = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + epsilon)
    w = tl.load(tl.multiple_of(weight + i, 16), mask=live)
    b = tl.load(tl.multiple_of(bias + i, 16), mask=live)
    tl.store(at(out, row * columns) + i, centred * factor * w + b, mask=live)
    tl.store(mean + row, middle)
    tl.store(scale + row, factor)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    """Zero where a number drawn by Philox is not above p."""
    start = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    live = start + i < sixteens(n)
    values = tl.load(at(x, start) + i, mask=live)
    tl.store(at(out, start) + i, tl.where(tl.rand(seed, start + i) > p, values / (1 - p), 0.0), mask=live)


@triton.jit
def cross_entropy(logits, labels, loss, columns, BLOCK: tl.constexpr):
    """The loss of each row, whose greatest value and sum are found in one pass."""
    columns = sixteens(columns)
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    logits += row * columns
    most, total = -float("inf"), 0.0
    for start in range(0, columns, BLOCK):
        values = tl.load(at(logits, start) + i, mask=start + i < columns, other=-float("inf"))
        now = tl.maximum(most, tl.max(values, axis=0))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(values - now), axis=0)
        most = now
    label = tl.load(labels + row)
    tl.store(loss + row, tl.log(total) + most - tl.load(logits + label))


@triton.jit
def adamw(values, slope, first, second, n, rate, beta1, beta2, epsilon, decay, right1, right2, BLOCK: tl.constexpr):
    """A step of the optimizer. right1, right2: what sets the averages right that began with zero."""
    start = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    live = start + i < sixteens(n)
    w, g = tl.load(at(values, start) + i, mask=live), tl.load(at(slope, start) + i, mask=live)
    m, v = tl.load(at(first, start) + i, mask=live), tl.load(at(second, start) + i, mask=live)
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    w = w * (1 - rate * decay) - rate * m * right1 / (tl.sqrt(v * right2) + epsilon)
    tl.store(at(values, start) + i, w, mask=live)
    tl.store(at(first, start) + i, m, mask=live)
    tl.store(at(second, start) + i, v, mask=live)


@triton.jit
def transpose(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """A tile, read along its rows and written along its columns."""
    rows, columns = sixteens(rows), sixteens(columns)
    i, j = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tile = tl.load(tl.multiple_of(x + i[:, None] * columns + j[None, :], (1, 16)), mask=inside)
    tl.store(tl.multiple_of(out + j[:, None] * rows + i[None, :], (1, 16)), tile.trans(), mask=inside.trans())


@triton.jit
def then(a, x, b, y):
    """Two steps of a recurrence as one."""
    return a * b, x * b + y


@triton.jit
def recurrence(factors, x, out, length, BLOCK: tl.constexpr):
    """h = factor h + x along each row, as in models of states: all steps of a row at once, by halving."""
    length = sixteens(length)
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    live = i < length
    a = tl.load(at(factors, row * length) + i, mask=live, other=1.0)
    b = tl.load(at(x, row * length) + i, mask=live, other=0.0)
    _, h = tl.associative_scan((a, b), 0, then)
    tl.store(at(out, row * length) + i, h, mask=live)


@triton.jit
def route(scores, weights, experts, tokens, ROWS: tl.constexpr, EXPERTS: tl.constexpr):
    """The two best experts of each token, and how much each counts."""
    row, e = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, EXPERTS)
    live = row < tokens
    places = tl.multiple_of(scores + row[:, None] * EXPERTS + e[None, :], (1, 16))
    values = tl.load(places, mask=live[:, None], other=0.0).to(tl.float32)
    first, best = tl.max(values, axis=1, return_indices=True)
    rest = tl.where(e[None, :] == best[:, None], -float("inf"), values)
    second, next_best = tl.max(rest, axis=1, return_indices=True)
    share = 1 / (1 + tl.exp(second - first))
    tl.store(weights + 2 * row, share, mask=live)
    tl.store(weights + 2 * row + 1, 1 - share, mask=live)
    tl.store(experts + 2 * row, best, mask=live)
    tl.store(experts + 2 * row + 1, next_best, mask=live)


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """How often each value occurs: of a program in shared memory, then of all."""
    total = tl.zeros((BINS,), dtype=tl.int32)
    i = tl.arange(0, BLOCK)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        total += tl.histogram(tl.load(at(x, start) + i, mask=start + i < n, other=0), BINS, mask=start + i < n)
    tl.atomic_add(bins + tl.arange(0, BINS), total, sem="relaxed")


@triton.jit
def embedding_bag(table, tokens, starts, out, WIDTH: tl.constexpr):
    """The mean of the rows that each bag names; bags differ in length."""
    bag, i = tl.program_id(0), tl.arange(0, WIDTH)
    begin, end = tl.load(starts + bag), tl.load(starts + bag + 1)
    total = tl.zeros((WIDTH,), dtype=tl.float32)
    for place in range(begin, end):
        total += tl.load(at(table, tl.load(tokens + place) * WIDTH) + i).to(tl.float32)
    tl.store(at(out, bag * WIDTH) + i, total / tl.maximum(end - begin, 1))


@triton.jit
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    """A product of halves; programs go through groups of rows, so that columns are still in the L2."""
    n, k = sixteens(n), sixteens(k)
    columns = tl.cdiv(n, N)
    group = tl.program_id(0) // (GROUP * columns)
    height = min(tl.cdiv(m, M) - group * GROUP, GROUP)
    within = tl.program_id(0) % (GROUP * columns)
    row = (group * GROUP + within % height) * M + tl.arange(0, M)
    column = within // height * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.multiple_of(a + row[:, None] * k + (start + inner)[None, :], (1, 16))
        right = tl.multiple_of(b + (start + inner)[:, None] * n + column[None, :], (1, 16))
        total = tl.dot(tl.load(left), tl.load(right), total)
    tl.store(tl.multiple_of(out + row[:, None] * n + column[None, :], (1, 16)), total.to(tl.float16))


@triton.jit
def split_k(a, b, out, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of bfloat16 of few rows, the inner dimension shared out among programs that add to the result."""
    n, k = sixteens(n), sixteens(k)
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(tl.program_id(2) * K, k, tl.num_programs(2) * K):
        left = tl.multiple_of(a + row[:, None] * k + (start + inner)[None, :], (1, 16))
        right = tl.multiple_of(b + (start + inner)[:, None] * n + column[None, :], (1, 16))
        total = tl.dot(tl.load(left), tl.load(right), total)
    tl.atomic_add(out + row[:, None] * n + column[None, :], total, sem="relaxed")


@triton.jit
def bytes_product(a, b, scales, out, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of bytes, of which the second is transposed, with a scale for each column."""
    n, k = sixteens(n), sixteens(k)
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.int32)
    for start in range(0, k, K):
        left = tl.multiple_of(a + row[:, None] * k + (start + inner)[None, :], (1, 16))
        right = tl.multiple_of(b + column[None, :] * k + (start + inner)[:, None], (16, 1))
        total = tl.dot(tl.load(left), tl.load(right), total)
    scaled = total.to(tl.float32) * tl.load(scales + column)[None, :]
    tl.store(tl.multiple_of(out + row[:, None] * n + column[None, :], (1, 16)), scaled)


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Of a head, causal; a running maximum and sum of each row, in powers of two."""
    length = sixteens(length)
    head = tl.program_id(1) * length * D
    row, column, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    queries = tl.load(tl.multiple_of(q + head + row[:, None] * D + d[None, :], (1, 16)))
    most = tl.full((M,), -float("inf"), tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * M, N):
        now_at = start + column
        keys = tl.load(tl.multiple_of(k + head + now_at[None, :] * D + d[:, None], (16, 1)))
        values = tl.load(tl.multiple_of(v + head + now_at[:, None] * D + d[None, :], (1, 16)))
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(now_at[None, :] <= row[:, None], scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.exp2(scores - now[:, None])
        shrunk = tl.exp2(most - now)
        weight = weight * shrunk + tl.sum(powers, axis=1)
        total = tl.dot(powers.to(tl.float16), values, total * shrunk[:, None])
        most = now
    places = tl.multiple_of(out + head + row[:, None] * D + d[None, :], (1, 16))
    tl.store(places, (total / weight[:, None]).to(tl.float16))


@dataclass(frozen=True)
class Recipe:
    """How a kernel is compiled.

    types: of its parameters that are no constants, in their order. warps: of a block; products of matrices go by
    `wgmma`, which the simulator refuses, where they are a multiple of four, and else by `mma.sync`.
    """

    kernel: Any
    types: str
    constants: dict[str, int]
    warps: int = 4
    options: dict[str, int] = field(default_factory=dict)

    def signature(self) -> dict[str, str]:
        """The types by parameter."""
        names = [name for name in self.kernel.arg_names if name not in self.constants]
        return dict(zip(names, self.types.split(), strict=True))


TILES = {"M": 32, "N": 64, "K": 32}
RECIPES = {
    "softmax": Recipe(softmax, "*fp32 *fp32 i32 i32", {"BLOCK": 1024}),
    "layer_norm": Recipe(layer_norm, "*bf16 *fp32 *fp32 *fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 1024}),
    "dropout": Recipe(dropout, "*fp32 *fp32 i32 fp32 i32", {"BLOCK": 512}),
    "cross_entropy": Recipe(cross_entropy, "*fp32 *i32 *fp32 i32", {"BLOCK": 2048}, 8),
    "adamw": Recipe(adamw, "*fp32 *fp32 *fp32 *fp32 i32 " + "fp32 " * 7, {"BLOCK": 512}),
    "transpose": Recipe(transpose, "*fp16 *fp16 i32 i32", {"M": 64, "N": 64}),
    "recurrence": Recipe(recurrence, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    "route": Recipe(route, "*fp16 *fp32 *i32 i32", {"ROWS": 32, "EXPERTS": 64}),
    "histogram": Recipe(histogram, "*i32 *i32 i32", {"BLOCK": 1024, "BINS": 256}),
    "embedding_bag": Recipe(embedding_bag, "*fp16 *i32 *i32 *fp32", {"WIDTH": 256}, 1),
    "matmul": Recipe(matmul, "*fp16 *fp16 *fp16 i32 i32 i32", TILES | {"GROUP": 4}, 2, {"num_stages": 3}),
    "split_k": Recipe(split_k, "*bf16 *bf16 *fp32 i32 i32", {"M": 16, "N": 64, "K": 64}, 1, {"num_stages": 2}),
    "bytes_product": Recipe(bytes_product, "*i8 *i8 *fp32 *fp32 i32 i32", {"M": 64, "N": 32, "K": 64}, 2),
    "attention": Recipe(attention, "*fp16 *fp16 *fp16 *fp16 i32 fp32", {"M": 32, "N": 32, "D": 64}, 2),
}
