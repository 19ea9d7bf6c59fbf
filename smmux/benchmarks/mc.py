"""MC: marching cubes over an implicit surface, one active cell of the grid per thread.

A thread evaluates the field and its gradient at the eight corners of its cell, interpolates position and normal on all
twelve edges, and keeps these 24 vectors in shared memory, because which of them the triangles need is known only
through a table. Threads share nothing; a block is one warp. The two tables are textures.

One build, `staged`: all field evaluations come before the region, which holds the edges and the output loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smmux import cuda, float32, uint32
from smmux.benchmarks.base import Benchmark, Problem, Table1, WrongOutputError, close, frozen, poisoned
from smmux.benchmarks.mc_tables import CORNERS, EDGES, TRIANGLE_SLOTS, vertex_counts, vertex_edges
from smmux.language.textures import texture

__all__ = ["BENCHMARK"]

THREADS = 32
GRADIENT_STEP = 0.001


@cuda.jit(device=True)
def tangle(x, y, z):
    """The implicit surface."""
    x = x * float32(3)
    y = y * float32(3)
    z = z * float32(3)
    sixfold = x * x * x * x - float32(5) * x * x + y * y * y * y - float32(5) * y * y + z * z * z * z
    return (sixfold - float32(5) * z * z + float32(11.8)) * float32(0.2) + float32(0.5)


@cuda.jit(device=True)
def corner(coordinate, size, k, axis):
    """One coordinate of corner k of the cell whose first corner is given."""
    return coordinate + size if CORNERS[k][axis] else coordinate


@cuda.jit(device=True)
def evaluate(k, x, y, z, field, gradients):
    """Field and unscaled forward differences at corner k."""
    value = tangle(x, y, z)
    field[k] = value
    gradients[3 * k] = tangle(x + float32(GRADIENT_STEP), y, z) - value
    gradients[3 * k + 1] = tangle(x, y + float32(GRADIENT_STEP), z) - value
    gradients[3 * k + 2] = tangle(x, y, z + float32(GRADIENT_STEP)) - value


@cuda.jit(device=True)
def interpolate(vertices, edge, t, cell, size, iso, field, gradients):
    """Position to row `edge`, normal to row 12 + `edge`; infinite or NaN on an edge that the surface does not cut."""
    a, b = EDGES[edge]
    u = (iso - field[a]) / (field[b] - field[a])
    for axis in range(3):
        start = corner(cell[axis], size[axis], a, axis)
        end = corner(cell[axis], size[axis], b, axis)
        vertices[edge, t, axis] = start + u * (end - start)
    for axis in range(3):
        start = gradients[3 * a + axis]
        end = gradients[3 * b + axis]
        vertices[12 + edge, t, axis] = start + u * (end - start)


@cuda.jit
def generate_triangles(
    positions,
    normals,
    active_cells,
    first_vertex,
    grid_size,
    grid_shift,
    grid_mask,
    cell_size,
    iso,
    active,
    max_vertices,
    counts,
    edges,
):
    """Baseline. Threads past the last active cell do that one again, so that all reach the barrier."""
    vertices = cuda.shared.array((24, THREADS, 3), float32)
    field = cuda.local.array(8, float32)
    gradients = cuda.local.array(24, float32)
    t = cuda.threadIdx.x
    voxel = active_cells[min(uint32(cuda.grid(1)), uint32(active - 1))]
    x = float32(-1) + float32(voxel & grid_mask[0]) * cell_size[0]
    y = float32(-1) + float32((voxel >> grid_shift[1]) & grid_mask[1]) * cell_size[1]
    z = float32(-1) + float32((voxel >> grid_shift[2]) & grid_mask[2]) * cell_size[2]

    case = uint32(0)
    for k in range(8):
        evaluate(
            k,
            corner(x, cell_size[0], k, 0),
            corner(y, cell_size[1], k, 1),
            corner(z, cell_size[2], k, 2),
            field,
            gradients,
        )
        case |= uint32(1 << k if field[k] < iso else 0)

    for edge in range(12):
        interpolate(vertices, edge, t, (x, y, z), cell_size, iso, field, gradients)
    cuda.syncthreads()

    for i in range(counts[case]):
        assert i < TRIANGLE_SLOTS
        row = edges[case * TRIANGLE_SLOTS + i]
        assert row < 12
        assert voxel < first_vertex.size
        vertex = uint32(first_vertex[voxel] + i)
        if vertex < max_vertices:
            for axis in range(3):
                positions[vertex, axis] = vertices[row, t, axis]
            positions[vertex, 3] = float32(1)
            for axis in range(3):
                normals[vertex, axis] = vertices[12 + row, t, axis]
            normals[vertex, 3] = float32(0)


def tangle_model(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The kernel's field at points (..., 3), with its order of operations, in float32."""
    x, y, z = (points[..., axis] * np.float32(3) for axis in range(3))
    five = np.float32(5)
    sixfold = x * x * x * x - five * x * x + y * y * y * y - five * y * y + z * z * z * z
    field: NDArray[np.float32] = (sixfold - five * z * z + np.float32(11.8)) * np.float32(0.2) + np.float32(0.5)
    return field


def corner_points(cells: NDArray[np.uint32], n: int) -> NDArray[np.float32]:
    """Coordinates of the eight corners of cells of a grid of n^3: shape (cells, 8, 3)."""
    shift = n.bit_length() - 1
    size = np.float32(2 / n)
    place = np.stack([cells & (n - 1), cells >> shift & (n - 1), cells >> 2 * shift], -1)
    first = np.float32(-1) + place.astype(np.float32) * size
    return np.where(np.array(CORNERS, bool), first[:, None] + size, first[:, None])


def cases(n: int, iso: float) -> NDArray[np.uint32]:
    """Index into the tables of every cell; bit k is set when corner k is below the iso value."""
    index = np.empty(n**3, np.uint32)
    weights = np.uint32(1) << np.arange(8, dtype=np.uint32)
    layer = n * n
    for start in range(0, n**3, layer):  # a layer at a time: little memory
        points = corner_points(np.arange(start, start + layer, dtype=np.uint32), n)
        index[start : start + layer] = ((tangle_model(points) < np.float32(iso)) * weights).sum(-1)
    return index


def reference(
    cells: NDArray[np.uint32], case: NDArray[np.uint32], n: int, iso: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Positions and normals of all vertices in the cells' order, each (vertices, 4)."""
    points = corner_points(cells, n)
    field = tangle_model(points)
    step = np.float32(GRADIENT_STEP) * np.eye(3, dtype=np.float32)
    gradients = np.stack([tangle_model(points + step[axis]) - field for axis in range(3)], -1)
    a, b = np.array(EDGES).T
    with np.errstate(divide="ignore", invalid="ignore"):
        u = ((np.float32(iso) - field[:, a]) / (field[:, b] - field[:, a]))[..., None]
        on_edges = [v[:, a] + u * (v[:, b] - v[:, a]) for v in (points, gradients)]
    edge = vertex_edges().reshape(256, TRIANGLE_SLOTS)[case]
    used = np.arange(TRIANGLE_SLOTS) < vertex_counts()[case][:, None]
    cell = np.nonzero(used)[0]
    positions, normals = (v[cell, edge[used]] for v in on_edges)
    tail = np.ones((len(cell), 1), np.float32)
    return np.hstack([positions, tail]), np.hstack([normals, 0 * tail])


def problem(build: str, n: int, iso: float = 0.2) -> Problem:
    """The surface at `iso` on a grid of n^3 cells, n a power of two."""
    if n < 2 or n & (n - 1):
        raise ValueError(f"n must be a power of two from 2 on, not {n}")
    case = cases(n, iso)
    counts = vertex_counts()[case]
    cells = np.nonzero(counts)[0].astype(np.uint32)
    if not len(cells):
        raise ValueError(f"a grid of {n}^3 cells has no surface at {iso}")
    first_vertex = (np.cumsum(counts, dtype=np.uint32) - counts).astype(np.uint32)
    positions, normals = reference(cells, case[cells], n, iso)
    inputs = frozen(cells), frozen(first_vertex)
    tables = texture(vertex_counts()), texture(vertex_edges())
    max_vertices = 100 * n * n
    shift = n.bit_length() - 1

    def arguments():
        return (
            poisoned((max_vertices, 4), np.float32),
            poisoned((max_vertices, 4), np.float32),
            *inputs,
            (np.uint32(n),) * 3,
            (np.uint32(0), np.uint32(shift), np.uint32(2 * shift)),
            (np.uint32(n - 1),) * 3,
            (np.float32(2 / n),) * 3,
            np.float32(iso),
            np.uint32(len(cells)),
            np.uint32(max_vertices),
            *tables,
        )

    def check(args):
        total = len(positions)
        close("MC: positions", args[0][:total], positions, 1e-4, "max")
        close("MC: normals", args[1][:total], normals, 1e-3, "max")
        if not (np.isnan(args[0][total:]).all() and np.isnan(args[1][total:]).all()):
            raise WrongOutputError("MC: stores beyond the last vertex")

    return Problem(grid=(-(-len(cells) // THREADS),), block=(THREADS,), arguments=arguments, check=check)


BENCHMARK = Benchmark(
    name="MC",
    title="Marching cubes",
    kernels={"staged": generate_triangles},
    problems=problem,
    sizes={"default": {"n": 128}, "large": {"n": 128, "iso": 1.0}, "quick": {"n": 64}, "tiny": {"n": 8}},
    table1=Table1(bytes=9324, threads=32, blocks=1),
    divided={"array": "vertices", "private": 16, "threads": THREADS},  # the paper's Figure 6
    combined=4,  # its Section 4.1
)
