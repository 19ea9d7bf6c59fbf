"""Programs with asynchronous barriers in shared memory, and with those of a cluster of one block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random

ROUNDS = 5


def numbers(rng: Random, count: int) -> Any:
    return rng.integers(-1000, 1000, count).astype(np.int32)


@program(3, 128)
def barrier_scan(rng: Random) -> Case:
    x = numbers(rng, 384)
    return Case([x, np.zeros(384, np.int32)], {1: np.cumsum(x.reshape(3, 128), 1).ravel()})


@program(1, 128)
def barrier_roles(rng: Random) -> Case:
    x = numbers(rng, 96 * ROUNDS)
    total = np.zeros(96, np.int32)
    for row in x.reshape(ROUNDS, 96):
        total = 3 * total + row[::-1]
    return Case([x, np.zeros(96, np.int32), ROUNDS], {1: total})


@program(1, 128)
def barrier_drops(rng: Random) -> Case:
    there = np.array([[0, 1, 2, 3], [0, 0, 2, 3], [0, 0, 0, 3]]).repeat(32, 1)
    counts = np.cumsum([128, 96, 64, 32])[:3].reshape(3, 1)
    alive = np.where(there > np.arange(3).reshape(3, 1), counts, 0)
    return Case([np.zeros(384, np.int32)], {0: alive.ravel()})


@program(1, 128)
def barrier_copies(rng: Random) -> Case:
    x = numbers(rng, 1024)
    return Case([x, np.zeros(1024, np.int32)], {1: x.reshape(4, 256)[:, ::-1].ravel()})


@program(1, 128)
def pipeline_stages(rng: Random) -> Case:
    x = numbers(rng, 128 * ROUNDS)
    return Case([x, np.zeros(128 * ROUNDS, np.int32), ROUNDS], {1: x.reshape(ROUNDS, 128)[:, ::-1].ravel() + 1})


@program(1, 128)
def pipeline_roles(rng: Random) -> Case:
    x = numbers(rng, 96 * ROUNDS)
    return Case([x, np.zeros(96 * ROUNDS, np.int32), ROUNDS], {1: 2 * x.reshape(ROUNDS, 96)[:, ::-1].ravel()})


@program(1, 64, least=80)
def primitive_barriers(rng: Random) -> Case:
    x = numbers(rng, 64)
    most = 2**14 - 1
    return Case([x, np.zeros(128, np.int32)], {}, check=lambda args: check_primitives(x, args[1], most))


def check_primitives(x: Any, y: Any, most: int) -> None:
    np.testing.assert_array_equal(y[:64], x[::-1])
    np.testing.assert_array_equal(y[64:96], x[32:] + most)
    assert not y[96:].any()


@program(1, 32, least=80)
def lanes_wait(rng: Random) -> Case:
    return Case([np.zeros(128, np.int32)], {}, check=check_lanes)


def check_lanes(args: Sequence[Any]) -> None:
    waited, told, states, over = args[0].reshape(4, 32)
    lane = np.arange(32)
    np.testing.assert_array_equal(waited, np.where(lane % 2, 10 * (lane - 1), -lane))
    assert (told == 60).all() or (told == 60 - lane).all()  # CC 9.0: as an H200; 8.x: one after the other
    np.testing.assert_array_equal(states[:9], 28 - 3 * lane[:9])
    np.testing.assert_array_equal(over, np.ones(32))


@program(1, 64, least=90)
def awaited_bytes(rng: Random) -> Case:
    x = numbers(rng, 192)
    return Case([x, np.zeros(192, np.int32)], {1: x.reshape(3, 64)[:, ::-1].ravel()})


@program(2, 64, least=90)
def lone_cluster(rng: Random) -> Case:
    return Case([np.zeros(128, np.int32)], {0: np.arange(128).reshape(2, 64)[:, ::-1].ravel()})


@program(2, 64, least=90, file="barriers.cu")
def cluster_barrier(rng: Random) -> Case:
    return Case([np.zeros(128, np.int32)], {0: np.arange(128).reshape(2, 64)[:, ::-1].ravel()})
