"""Particles, molecules and places on the globe, as people write them."""

from __future__ import annotations

import math

import numpy as np

from smmux import cuda, float64

BLOCK = 32
SOFTENING = 1e-2


@cuda.jit(device=True)
def body_body(bi, bj, ai):
    rx = bj[0] - bi[0]
    ry = bj[1] - bi[1]
    rz = bj[2] - bi[2]
    dist2 = rx * rx + ry * ry + rz * rz + SOFTENING
    inv = 1.0 / math.sqrt(dist2 * dist2 * dist2)
    s = bj[3] * inv
    return ai[0] + rx * s, ai[1] + ry * s, ai[2] + rz * s


@cuda.jit
def nbody(bodies, acc):
    tile = cuda.shared.array((BLOCK, 4), float64)
    i = cuda.grid(1)
    n = bodies.shape[0]
    me = (0.0, 0.0, 0.0, 0.0)
    if i < n:
        me = (bodies[i, 0], bodies[i, 1], bodies[i, 2], bodies[i, 3])
    a = (0.0, 0.0, 0.0)
    for start in range(0, n, BLOCK):
        j = start + cuda.threadIdx.x
        for k in range(4):
            tile[cuda.threadIdx.x, k] = bodies[j, k] if j < n else 0.0
        cuda.syncthreads()
        for k in range(BLOCK):
            a = body_body(me, tile[k], a)
        cuda.syncthreads()
    if i < n:
        acc[i, 0], acc[i, 1], acc[i, 2] = a


def test_nbody() -> None:
    bodies = np.random.default_rng(0).random((50, 4))
    acc = np.zeros((50, 3))
    nbody[2, BLOCK](bodies, acc)
    r = bodies[None, :, :3] - bodies[:, None, :3]
    d2 = (r**2).sum(-1) + SOFTENING
    np.testing.assert_allclose(acc, (r * (bodies[:, 3] / d2**1.5)[..., None]).sum(1), rtol=1e-10)


@cuda.jit
def lennard_jones(pos, force, energy, box, cutoff, epsilon, sigma):
    i = cuda.grid(1)
    n = pos.shape[0]
    if i >= n:
        return
    f = cuda.local.array(3, dtype=float64)
    d = cuda.local.array(3, dtype=float64)
    for k in range(3):
        f[k] = 0.0
    e = 0.0
    for j in range(n):
        if j == i:
            continue
        r2 = 0.0
        for k in range(3):
            d[k] = pos[i, k] - pos[j, k]
            d[k] -= box * round(d[k] / box)
            r2 += d[k] ** 2
        if r2 < cutoff**2:
            s6 = (sigma**2 / r2) ** 3
            e += 4 * epsilon * (s6 * s6 - s6)
            common = 24 * epsilon * (2 * s6 * s6 - s6) / r2
            for k in range(3):
                f[k] += common * d[k]
    for k in range(3):
        force[i, k] = f[k]
    energy[i] = e / 2


def test_molecular_dynamics() -> None:
    grid = np.arange(3) * 1.2
    pos = np.stack(np.meshgrid(grid, grid, grid), -1).reshape(-1, 3) + np.random.default_rng(1).random((27, 3)) / 8
    force, energy = np.zeros((27, 3)), np.zeros(27)
    lennard_jones[1, 32](pos, force, energy, 3.6, 1.7, 1.0, 1.0)
    d = pos[:, None] - pos[None]
    d -= 3.6 * np.round(d / 3.6)
    r2 = (d**2).sum(-1) + 100 * np.eye(27)
    s6 = np.where(r2 < 1.7**2, r2**-3.0, 0)
    np.testing.assert_allclose(energy, (2 * (s6**2 - s6)).sum(1), rtol=1e-9)
    expected = (24 * (2 * s6**2 - s6) / r2)[..., None] * d
    np.testing.assert_allclose(force, expected.sum(1), rtol=1e-8, atol=1e-9)


@cuda.jit(device=True)
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@cuda.jit(device=True)
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@cuda.jit
def dihedrals(atoms, angles):
    i = cuda.grid(1)
    if i < angles.shape[0]:
        b = cuda.local.array((3, 3), float64)
        for k in range(3):
            for axis in range(3):
                b[k, axis] = atoms[i + k + 1, axis] - atoms[i + k, axis]
        n1 = cross(b[0], b[1])
        n2 = cross(b[1], b[2])
        length = math.sqrt(dot3(b[1], b[1]))
        m1 = cross(n1, (b[1, 0] / length, b[1, 1] / length, b[1, 2] / length))
        angles[i] = math.degrees(math.atan2(-dot3(m1, n2), dot3(n1, n2)))


def test_dihedral_angles() -> None:
    atoms = np.random.default_rng(2).random((40, 3))
    angles = np.zeros(37)
    dihedrals[2, 32](atoms, angles)
    b = np.diff(atoms, axis=0)
    n1, n2 = np.cross(b[:-2], b[1:-1]), np.cross(b[1:-1], b[2:])
    m1 = np.cross(n1, b[1:-1] / np.linalg.norm(b[1:-1], axis=1, keepdims=True))
    expected = np.degrees(np.arctan2(-(m1 * n2).sum(1), (n1 * n2).sum(1)))
    np.testing.assert_allclose(angles, expected, atol=1e-9)


@cuda.jit
def haversine(lat1, lon1, lat2, lon2, out):
    i = cuda.grid(1)
    if i < out.size:
        p1, p2 = math.radians(lat1[i]), math.radians(lat2[i])
        dlat = p2 - p1
        dlon = math.radians(lon2[i] - lon1[i])
        a = math.sin(dlat / 2) ** 2 + math.cos(p1) * math.cos(p2) * math.sin(dlon / 2) ** 2
        out[i] = 2 * 6371.0 * math.asin(math.sqrt(a))


def test_haversine() -> None:
    rng = np.random.default_rng(3)
    lat1, lat2 = rng.uniform(-90, 90, (2, 60))
    lon1, lon2 = rng.uniform(-180, 180, (2, 60))
    out = np.zeros(60)
    haversine[2, 32](lat1, lon1, lat2, lon2, out)
    p, q = (np.radians(v) for v in (lat1, lat2))
    a = np.sin((q - p) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(np.radians(lon2 - lon1) / 2) ** 2
    np.testing.assert_allclose(out, 2 * 6371 * np.arcsin(np.sqrt(a)), rtol=1e-12)


@cuda.jit
def pairwise_distance(X, D):
    i, j = cuda.grid(2)
    if i < D.shape[0] and j < D.shape[1]:
        d = 0.0
        for k in range(X.shape[1]):
            diff = X[i, k] - X[j, k]
            d += diff * diff
        D[i, j] = math.sqrt(d)


def test_pairwise_distances() -> None:
    x = np.random.default_rng(5).random((20, 3))
    d = np.zeros((20, 20))
    pairwise_distance[(3, 3), (8, 8)](x, d)
    np.testing.assert_allclose(d, np.linalg.norm(x[:, None] - x[None], axis=-1), rtol=1e-12)


@cuda.jit
def interpolate(x, xs, ys, out):
    """Linear interpolation after a binary search."""
    i = cuda.grid(1)
    if i < x.size:
        lo, hi = 0, len(xs) - 1
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if xs[mid] > x[i]:
                hi = mid
            else:
                lo = mid
        t = (x[i] - xs[lo]) / (xs[hi] - xs[lo])
        out[i] = ys[lo] * (1 - t) + ys[hi] * t


def test_interpolation() -> None:
    rng = np.random.default_rng(6)
    xs = np.sort(rng.random(20))
    ys, x = rng.random(20), rng.uniform(xs[0], xs[-1], 50)
    out = np.zeros(50)
    interpolate[2, 32](x, xs, ys, out)
    np.testing.assert_allclose(out, np.interp(x, xs, ys), rtol=1e-10)
