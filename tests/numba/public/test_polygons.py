"""Points and polygons as people write them."""

from __future__ import annotations

import numpy as np

from smmux import cuda


@cuda.jit
def points_in_polygon(points, polygon, inside):
    i = cuda.grid(1)
    if i < points.shape[0]:
        x, y = points[i]
        n = len(polygon)
        odd = False
        j = n - 1
        for k in range(n):
            xi, yi = polygon[k, 0], polygon[k, 1]
            xj, yj = polygon[j, 0], polygon[j, 1]
            if ((yi > y) != (yj > y)) and (x < (xj - xi) * (y - yi) / (yj - yi) + xi):
                odd = not odd
            j = k
        inside[i] = odd


def test_points_in_polygon() -> None:
    points = np.random.default_rng(4).random((60, 2))
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    radius = np.where(np.arange(8) % 2, 0.2, 0.45)
    polygon = 0.5 + np.stack([radius * np.cos(angles), radius * np.sin(angles)], 1)
    inside = np.zeros(60, dtype=bool)
    points_in_polygon[2, 32](points, polygon, inside)
    expected = []
    for x, y in points:
        odd = False
        for (xi, yi), (xj, yj) in zip(polygon, np.roll(polygon, 1, 0), strict=True):
            if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
                odd = not odd
        expected.append(odd)
    np.testing.assert_array_equal(inside, expected)
