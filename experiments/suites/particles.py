"""Particles."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


@workload("arithmetic")
def bodies(rng: Random, size: int) -> Launch:
    n, sources = ((512, 512), (16_896, 1_024), (50_688, 1_024))[size]
    body = rng.random((n, 4)).astype(np.float32)
    looked = np.arange(0, n, n // 256)
    off = body[None, :sources, :3].astype(np.float64) - body[looked, None, :3]
    scale = body[:sources, 3] / ((off**2).sum(2) + 0.01) ** 1.5
    out = np.full((n, 4), np.nan)
    out[looked, :3], out[looked, 3] = (off * scale[:, :, None]).sum(1), 0
    return Launch(n // 128, 128, [sources, body, np.zeros_like(body)], {2: out}, 1e-3, 0.1)


@workload("fp64")
def bodies_double(rng: Random, size: int) -> Launch:
    n, sources = ((512, 512), (8_448, 512), (33_792, 512))[size]
    x, y, mass = rng.random((3, n))
    looked = np.arange(0, n, n // 256)
    dx, dy = x[:sources] - x[looked, None], y[:sources] - y[looked, None]
    scale = mass[:sources] / (dx * dx + dy * dy + 0.01) ** 2
    fx, fy = np.full(n, np.nan), np.full(n, np.nan)
    fx[looked], fy[looked] = (dx * scale).sum(1), (dy * scale).sum(1)
    return Launch(n // 64, 64, [sources, x, y, mass, np.zeros(n), np.zeros(n)], {4: fx, 5: fy}, 1e-9, 1e-6)


@workload("cache")
def lennard_jones(rng: Random, size: int) -> Launch:
    n, neighbours = ((1_024, 24), (50_000, 24), (135_168, 32))[size]
    place = np.zeros((n, 4), np.float32)
    place[:, :3] = rng.random((n, 3)) * 3 + np.arange(n)[:, None] // 64
    listed = np.clip(np.arange(n) + rng.integers(-100, 101, (neighbours, n)), 0, n - 1).astype(np.int32)
    off = place[None, :, :3].astype(np.float64) - place[listed, :3]
    square = (off**2).sum(2)
    near = (square < 4) & (square > 0)
    inverse = 1 / np.where(near, square, 1)
    scale = np.where(near, inverse**3 * (inverse**3 - 0.5) * inverse, 0)
    out = np.zeros((n, 4))
    out[:, :3] = (off * scale[:, :, None]).sum(0)
    edge = np.abs(square - 4).min(0) < 1e-4  # a float decides otherwise what is near
    out[edge] = np.nan
    args = [n, neighbours, place, listed, np.zeros((n, 4), np.float32)]
    return Launch(-(-n // 128), 128, args, {4: out}, 0.02, 0.02 * float(np.nanmedian(np.abs(out[:, :3]))))


@workload("atomic")
def deposit(rng: Random, size: int) -> Launch:
    n, cells = ((8_000, 1_024), (270_000, 16_384), (1_000_000, 65_536))[size]
    place = rng.random(n).astype(np.float32) * np.float32(0.999)
    charge = rng.random(n).astype(np.float32)
    at = place * np.float32(cells - 1)
    cell = at.astype(np.int64)
    right = at - cell
    out = np.bincount(cell, charge * (1 - right), cells) + np.bincount(cell + 1, charge * right, cells)
    args = [n, cells, place, charge, np.zeros(cells, np.float32)]
    return Launch(-(-n // 256), 256, args, {4: out}, 1e-3, 1e-3)


@workload("divergent")
def spins(rng: Random, size: int) -> Launch:
    n = (64, 512, 1_024)[size]
    spin = rng.choice(np.array([-1, 1], np.int8), (n, n))
    random = rng.integers(0, 1 << 32, (n, n), np.uint32)
    chance4, chance8 = np.uint32(0x40000000), np.uint32(0x08000000)
    y, x = np.mgrid[:n, :n]
    gain = spin.astype(int) * sum(np.roll(spin, by, axis) for by in (-1, 1) for axis in (0, 1))
    turn = ((x + y) % 2 == 0) & ((gain <= 0) | (random < np.where(gain == 2, chance4, chance8)))
    args = [n, 0, random, chance4, chance8, spin, np.zeros_like(spin)]
    return Launch((n // 32, n // 8), (32, 8), args, {6: np.where(turn, -spin, spin)})


@workload("streaming")
def thomas(rng: Random, size: int) -> Launch:
    systems, n = ((1_024, 16), (33_792, 24), (135_168, 32))[size]
    low, high, x = (rng.random((n, systems)).astype(np.float32) for _ in range(3))
    middle = (2.5 + rng.random((n, systems))).astype(np.float32)
    right = middle * x
    right[1:] += low[1:] * x[:-1]
    right[:-1] += high[:-1] * x[1:]
    args = [systems, n, low, middle, high.copy(), right.astype(np.float32)]
    return Launch(systems // 128, 128, args, {5: x}, 1e-3, 1e-4)
