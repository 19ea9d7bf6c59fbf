"""BKP1, BKP2, NN and NNC: neural networks and nearest neighbours, whose blocks read vectors, windows and records.

Builds: `baseline` loads from global memory where it needs a number; `hand-written` brings a block's inputs to shared
memory first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from smmux import cuda, float32, int32, uint8
from smmux.benchmarks.base import Problem, Workload, eighths, equal, frozen, multiples, poisoned

__all__ = ["WORKLOADS"]

UNITS = 16
"""Hidden units, threads of a block along x, and inputs that a thread adds up."""
GROUPS = 4
"""Groups of inputs of a block of BKP1."""
ROWS = UNITS * GROUPS
PITCH = UNITS + 1
"""Weights of an input: the first one is not a hidden unit's."""


@cuda.jit
def forward(inputs, weights, partial, hidden):
    """What 16 inputs send to each hidden unit; row and column 0 are the bias's."""
    tx = cuda.threadIdx.x
    group = GROUPS * cuda.blockIdx.y + cuda.threadIdx.y
    total = float32(0)
    for k in range(UNITS):
        row = UNITS * group + k + 1
        total += inputs[row] * weights[row * (hidden + 1) + tx + 1]
    partial[group * UNITS + tx] = total


@cuda.jit
def forward_tiled(inputs, weights, partial, hidden):
    values = cuda.shared.array(ROWS, float32)
    tile = cuda.shared.array(ROWS * PITCH, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * UNITS + tx
    first = ROWS * cuda.blockIdx.y + 1
    values[t] = inputs[first + t]
    for i in range(t, ROWS * PITCH, ROWS):
        tile[i] = weights[first * (hidden + 1) + i]
    cuda.syncthreads()
    total = float32(0)
    for k in range(UNITS):
        row = UNITS * ty + k
        total += values[row] * tile[row * PITCH + tx + 1]
    partial[(GROUPS * cuda.blockIdx.y + ty) * UNITS + tx] = total


@cuda.jit
def adjust(delta, inputs, weights, change, out, moved, hidden, rate, momentum):
    """Weights after a step of learning, and how far they went."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = UNITS * cuda.blockIdx.y + ty + 1
    i = row * (hidden + 1) + tx + 1
    step = rate * delta[tx + 1] * inputs[row] + momentum * change[i]
    out[i] = weights[i] + step
    moved[i] = step


@cuda.jit
def adjust_tiled(delta, inputs, weights, change, out, moved, hidden, rate, momentum):
    deltas = cuda.shared.array(UNITS, float32)
    values = cuda.shared.array(UNITS, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = UNITS * cuda.blockIdx.y + 1
    if ty == 0:
        deltas[tx] = delta[tx + 1]
        values[tx] = inputs[first + tx]
    cuda.syncthreads()
    i = (first + ty) * (hidden + 1) + tx + 1
    step = rate * deltas[tx] * values[ty] + momentum * change[i]
    out[i] = weights[i] + step
    moved[i] = step


IMAGE, MAP, WINDOW = 29, 13, 5
"""Sides of an image, of a feature map and of the window that each of its neurons sees, two pixels after the other."""
KERNEL = 1 + WINDOW * WINDOW
"""Weights of a feature map, the bias first."""
MAPS = 6


@cuda.jit
def neurons(weights, inputs, out):
    """The first layer of a network that reads digits, before the sigmoid: a block per feature map and image."""
    bx, by, tx, ty = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x, cuda.threadIdx.y
    total = weights[bx * KERNEL]
    for r in range(WINDOW):
        for c in range(WINDOW):
            pixel = inputs[by * (IMAGE * IMAGE) + (2 * ty + r) * IMAGE + 2 * tx + c]
            total += pixel * weights[bx * KERNEL + 1 + WINDOW * r + c]
    out[(by * MAPS + bx) * (MAP * MAP) + ty * MAP + tx] = total


@cuda.jit
def neurons_tiled(weights, inputs, out):
    image = cuda.shared.array((IMAGE, IMAGE), float32)
    window = cuda.shared.array(KERNEL, float32)
    bx, by, tx, ty = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(ty, IMAGE, MAP):
        for i in range(tx, IMAGE, MAP):
            image[j, i] = inputs[by * (IMAGE * IMAGE) + j * IMAGE + i]
    t = ty * MAP + tx
    if t < KERNEL:
        window[t] = weights[bx * KERNEL + t]
    cuda.syncthreads()
    total = window[0]
    for r in range(WINDOW):
        for c in range(WINDOW):
            total += image[2 * ty + r, 2 * tx + c] * window[1 + WINDOW * r + c]
    out[(by * MAPS + bx) * (MAP * MAP) + ty * MAP + tx] = total


RECORDS, WIDTH = 64, 10
"""Threads of a block of NNC, and bytes of a record."""


@cuda.jit
def nearest(records, target, distances, width, count):
    """The squared distance of each record from a target."""
    i = cuda.grid(1)
    total = int32(0)
    if i < count:
        for k in range(width):
            apart = int32(int32(records[i * width + k]) - int32(target[k]))
            total = int32(total + apart * apart)
        distances[i] = total


@cuda.jit
def nearest_tiled(records, target, distances, width, count):
    tile = cuda.shared.array(RECORDS * WIDTH, uint8)
    goal = cuda.shared.array(WIDTH, uint8)
    t = cuda.threadIdx.x
    first = RECORDS * cuda.blockIdx.x * width
    for k in range(t, int32(RECORDS * width), RECORDS):
        if int32(first + k) < int32(count * width):
            tile[k] = records[first + k]
    if t < width:
        goal[t] = target[t]
    cuda.syncthreads()
    i = cuda.grid(1)
    total = int32(0)
    if i < count:
        for k in range(width):
            apart = int32(int32(tile[t * width + k]) - int32(goal[k]))
            total = int32(total + apart * apart)
        distances[i] = total


def _forward(build: str, inputs: int) -> Problem:
    """So many inputs, a multiple of 64."""
    multiples(ROWS, inputs=inputs)
    rng = np.random.default_rng(1)
    values, weights = eighths(rng, inputs + 1), eighths(rng, (inputs + 1) * PITCH)
    products = values[1:, None] * weights.reshape(-1, PITCH)[1:, 1:]
    answer = products.reshape(-1, UNITS, UNITS).sum(1).reshape(-1)
    return Problem(
        grid=(1, inputs // ROWS),
        block=(UNITS, GROUPS),
        arguments=lambda: (values, weights, poisoned(inputs, np.float32), np.int32(UNITS)),
        check=lambda args: equal(f"BKP1: partial, build {build}", args[2], answer),
    )


RATE, MOMENTUM = np.float32(0.25), np.float32(0.5)


def _adjust(build: str, inputs: int) -> Problem:
    """So many inputs, a multiple of 16."""
    multiples(UNITS, inputs=inputs)
    rng = np.random.default_rng(2)
    delta, values = eighths(rng, PITCH), eighths(rng, inputs + 1)
    weights, change = (eighths(rng, (inputs + 1) * PITCH) for _ in range(2))
    before, moves = (a.reshape(-1, PITCH)[1:, 1:] for a in (weights, change))
    step = RATE * np.outer(values[1:], delta[1:]) + MOMENTUM * moves

    def check(args: tuple[Any, ...]) -> None:
        for name, got, wanted in (("out", args[4], before + step), ("moved", args[5], step)):
            equal(f"BKP2: {name}, build {build}", got.reshape(-1, PITCH)[1:, 1:], wanted)

    outputs = 2
    return Problem(
        grid=(1, inputs // UNITS),
        block=(UNITS, UNITS),
        arguments=lambda: (
            delta, values, weights, change, *(poisoned(weights.size, np.float32) for _ in range(outputs)),
            np.int32(UNITS), RATE, MOMENTUM,
        ),
        check=check,
    )  # fmt: skip


def _neurons(build: str, images: int) -> Problem:
    """So many images of 29 x 29 pixels."""
    multiples(1, images=images)
    rng = np.random.default_rng(3)
    weights, inputs = eighths(rng, MAPS * KERNEL), eighths(rng, images * IMAGE * IMAGE)
    windows = np.lib.stride_tricks.sliding_window_view(inputs.reshape(images, IMAGE, IMAGE), (WINDOW, WINDOW), (1, 2))
    each = weights.reshape(MAPS, KERNEL)
    sums = np.einsum("iyxrc,mrc->imyx", windows[:, ::2, ::2], each[:, 1:].reshape(MAPS, WINDOW, WINDOW))
    answer = (sums + each[:, 0, None, None]).reshape(-1)
    return Problem(
        grid=(MAPS, images),
        block=(MAP, MAP),
        arguments=lambda: (weights, inputs, poisoned(answer.size, np.float32)),
        check=lambda args: equal(f"NN: out, build {build}", args[2], answer),
    )


def _nearest(build: str, records: int) -> Problem:
    """So many records of ten bytes, any count."""
    multiples(1, records=records)
    rng = np.random.default_rng(4)
    data, target = (frozen(rng.integers(0, 256, count * WIDTH, np.uint8)) for count in (records, 1))
    apart = data.reshape(-1, WIDTH).astype(np.int64) - target
    answer = (apart**2).sum(1)
    return Problem(
        grid=(-(-records // RECORDS),),
        block=(RECORDS,),
        arguments=lambda: (data, target, poisoned(records, np.int32), np.int32(WIDTH), np.int32(records)),
        check=lambda args: equal(f"NNC: distances, build {build}", args[2], answer),
    )


def _row(name: str, title: str, problems: Any, baseline: Any, tiled: Any, **sizes: dict[str, float]) -> Workload:
    return Workload(name, title, {"baseline": baseline, "hand-written": tiled}, problems, sizes)


def _sizes(name: str, default: int, quick: int, tiny: int) -> dict[str, dict[str, float]]:
    return {"default": {name: default}, "quick": {name: quick}, "tiny": {name: tiny}}


WORKLOADS = (
    _row("BKP1", "Back-propagation, forward", _forward, forward, forward_tiled, **_sizes("inputs", 1 << 14, 2048, 256)),
    _row("BKP2", "Back-propagation, weights", _adjust, adjust, adjust_tiled, **_sizes("inputs", 1 << 14, 2048, 64)),
    _row("NN", "Neural network", _neurons, neurons, neurons_tiled, **_sizes("images", 64, 16, 2)),
    _row("NNC", "Nearest neighbours", _nearest, nearest, nearest_tiled, **_sizes("records", 1 << 16, 1 << 13, 500)),
)
