"""Kernels to try the command line with: `python -m smmux run smmux.shell.examples:saxpy ...`."""

from smmux import cuda, float32

__all__ = ["blur", "saxpy"]


@cuda.jit
def saxpy(a, x, y):
    """Add a multiple of one array to another."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def blur(x, y):
    """Average neighbours after long arithmetic; an SM of 16 kB has room for one of its tiles."""
    tile = cuda.shared.array((80, 32), float32)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    row, column = cuda.blockIdx.y * 8 + i, cuda.blockIdx.x * 32 + j
    value = x[row, column]
    for _ in range(200):
        value = value * float32(0.5) + float32(1)
    tile[i, j] = value
    cuda.syncthreads()
    y[row, column] = tile[i, j] + tile[i, (j + 1) % 32]
