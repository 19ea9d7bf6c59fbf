"""Calls of the models alone, with arguments from reasonable to absurd."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from smmux import _core
from smmux.machines.models_memory import DRAM_REQUEST, PACKET

from . import machines
from .corpus import Launch
from .values import JUNK, hostile, log_uniform, number


def random_model_call(rng: Random, corpus: list[Launch]) -> None:
    """One call, or a short life of an Smm table."""
    config = machines.random_machine(rng, rng.choice(corpus).config)
    rng.choice(CALLS)(rng, config)


def _maybe_junk(rng: Random, arguments: list[Any]) -> list[Any]:
    if rng.random() < 0.15:
        arguments[rng.randrange(len(arguments))] = rng.choice(JUNK)
    return arguments


def _addresses(rng: Random) -> list[int]:
    base, stride = hostile(rng), rng.choice((0, 1, 4, 8, 64, 132, hostile(rng)))
    if rng.random() < 0.3:
        return [hostile(rng) for _ in range(32)]
    return [(base + lane * stride) & 0xFFFFFFFF for lane in range(32)]


def _occupancy(rng: Random, config: list[int]) -> None:
    numbers = [hostile(rng, rng.choice((6, 10, 16, 32))) for _ in range(5)]
    _core.occupancy(*_maybe_junk(rng, [config, *numbers]))


def _bank_passes(rng: Random, config: list[int]) -> None:
    width = rng.choice((1, 2, 4, 8, 16, hostile(rng)))
    passes, ideal = _core.bank_passes(*_maybe_junk(rng, [config, _addresses(rng), width, hostile(rng)]))
    assert ideal <= passes <= 160  # an access of 16 bytes that is not aligned lies in five words


def _coalesce(rng: Random, config: list[int]) -> None:
    width = rng.choice((1, 2, 4, 8, 16, hostile(rng)))
    _core.coalesce(*_maybe_junk(rng, [config, _addresses(rng), width, hostile(rng), rng.random() < 0.5]))


def _dram_map(rng: Random, config: list[int]) -> None:
    _core.dram_map(*_maybe_junk(rng, [config, hostile(rng)]))


def _records(rng: Random, count: int, dtype: Any) -> Any:
    return np.frombuffer(rng.randbytes(count * np.dtype(dtype).itemsize), dtype).copy()


def _dram_replay(rng: Random, config: list[int]) -> None:
    count = rng.choice((0, 1, 10, 60))
    requests = _records(rng, count, DRAM_REQUEST)
    if rng.random() < 0.9:
        requests["arrival"] = np.cumsum([log_uniform(rng, 0, 200) for _ in range(count)])
        requests["bytes"] = [rng.choice((32, 64, 128, 1)) for _ in range(count)]
        requests["address"] &= np.uint32(0xFFFFFFFF & ~127)
    if rng.random() < 0.05:
        requests["arrival"] += np.uint64(hostile(rng, 64))
    done = np.zeros(max(0, count + rng.choice((0, 0, 0, 1, -1))), np.uint64)
    log = [bytearray(rng.choice((0, 7, 24, 1000)))] if rng.random() < 0.5 else []
    _core.dram_replay(*_maybe_junk(rng, [config, requests, done, *log]))


def _cache_replay(rng: Random, _: list[int]) -> None:
    line = rng.choice((32, 64, 128, 256, hostile(rng)))
    ways = rng.choice((1, 2, 3, 8, hostile(rng)))
    size = line * ways * rng.randint(0, 40) if rng.random() < 0.9 else hostile(rng, 22)
    sector = rng.choice((32, line, hostile(rng)))
    count = rng.choice((0, 1, 50, 300))
    addresses = _records(rng, count, np.uint32) % np.uint32(rng.choice((1 << 12, 1 << 31)))
    hit = np.zeros(count, np.uint8)
    write = [bytes(rng.randbytes(count))] if rng.random() < 0.5 else []
    size &= (1 << 22) - 1
    _core.cache_replay(*_maybe_junk(rng, [size, line, ways, sector, rng.random() < 0.5, addresses, hit, *write]))


def _memory_replay(rng: Random, config: list[int]) -> None:
    count = rng.choice((0, 1, 10, 60))
    packets = _records(rng, count, PACKET)
    if rng.random() < 0.9:
        packets["cycle"] = [log_uniform(rng, 0, 3000) for _ in range(count)]
        packets["bytes"] = [rng.choice((32, 64, 128)) for _ in range(count)]
        packets["address"] &= np.uint32(0xFFFFFFFF & ~127)
        packets["sm"] = [rng.randrange(3) for _ in range(count)]
        packets["kind"] = [rng.randrange(5) for _ in range(count)]
        packets["lanes"] %= 33
    sent, replied = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    credits = rng.choice((1, 8, 64, number(rng, 0, 4096), hostile(rng)))
    interval = rng.choice((0, 1, 4, log_uniform(rng, 0, 1000), hostile(rng)))
    window = rng.choice((0, 1, 30, hostile(rng)))
    _core.memory_replay(*_maybe_junk(rng, [config, packets, sent, replied, credits, interval, window]))


def _smm(rng: Random, _: list[int]) -> None:
    capacity = rng.choice((16384, 49152, hostile(rng)))
    unit, reserve = rng.choice((16, 1, 512, hostile(rng))), rng.choice((0, 1024, hostile(rng)))
    table = _core.Smm(*_maybe_junk(rng, [capacity, unit, reserve]))
    for _turn in range(rng.randrange(100)):
        kind = rng.random()
        size = hostile(rng, rng.choice((8, 12, 32)))
        if kind < 0.35:
            table.alloc_static(*_maybe_junk(rng, [hostile(rng), size]))
        elif kind < 0.7:
            table.alloc_dynamic(*_maybe_junk(rng, [hostile(rng), size]))
        else:
            starts = [entry[2] for entry in table.entries()] or [0]
            table.release(*_maybe_junk(rng, [rng.choice((*starts, hostile(rng)))]))


CALLS = (_occupancy, _bank_passes, _coalesce, _dram_map, _dram_replay, _cache_replay, _memory_replay, _smm)
