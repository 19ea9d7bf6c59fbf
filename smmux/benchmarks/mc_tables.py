"""Marching cubes: the triangles of a cell of the grid, for each of the 256 patterns of corners below the iso value.

The table is derived, not listed. On each face the cut edges are joined so that every corner below the iso value is cut
off alone; following these segments from face to face gives closed loops, and each loop becomes a fan of triangles.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["CORNERS", "EDGES", "TRIANGLE_SLOTS", "triangles", "vertex_counts", "vertex_edges"]

CORNERS = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7))
TRIANGLE_SLOTS = 16  # edges per case in the table; at most 15 are used

# Corners of each face in order around it, seen from outside the cell.
FACES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))


def segments(case: int) -> dict[int, int]:
    """The cut edge that follows each cut edge around the cell's surface."""
    edge_between = {frozenset(ends): e for e, ends in enumerate(EDGES)}
    following: dict[int, int] = {}
    for face in FACES:
        for i in range(4):
            before, here = face[i - 1], face[i]
            if case >> here & 1 and not case >> before & 1:
                # The outline enters a run of corners below the iso value; it leaves the run at its far end. Where two
                # opposite corners are below, each is a run of its own.
                last = i
                while case >> face[(last + 1) % 4] & 1:
                    last += 1
                entry = edge_between[frozenset((before, here))]
                leave = edge_between[frozenset((face[last % 4], face[(last + 1) % 4]))]
                following[leave] = entry
    return following


def triangles(case: int) -> tuple[int, ...]:
    """Edges of the cell on which the triangles' vertices lie, three per triangle."""
    following = segments(case)
    vertices: list[int] = []
    while following:
        loop = [min(following)]
        while (edge := following.pop(loop[-1])) != loop[0]:
            loop.append(edge)
        for i in range(1, len(loop) - 1):
            vertices += (loop[0], loop[i], loop[i + 1])
    return tuple(vertices)


@cache
def vertex_counts() -> NDArray[np.uint32]:
    """Vertices of each case."""
    return np.array([len(triangles(case)) for case in range(256)], np.uint32)


@cache
def vertex_edges() -> NDArray[np.uint32]:
    """Edge of each vertex: entry 16 case + i is that of vertex i; unused entries hold 255."""
    table = np.full((256, TRIANGLE_SLOTS), 255, np.uint32)
    for case in range(256):
        edges = triangles(case)
        table[case, : len(edges)] = edges
    return table.ravel()
