"""Strings and sequences."""

from __future__ import annotations

import numpy as np

from experiments.suites import Launch, Random, workload


def letters(rng: Random, shape: int | tuple[int, ...], count: int = 4) -> np.ndarray:
    """Random letters of an alphabet of so many."""
    return rng.integers(0, count, shape).astype(np.uint8)


@workload("divergent")
def search(rng: Random, size: int) -> Launch:
    n = (16_384, 270_000, 1_500_000)[size]
    text = letters(rng, n)
    pattern = text[100:108].copy()
    windows = np.lib.stride_tricks.sliding_window_view(text, 8)
    return Launch(
        -(-n // 256), 256, [n, 8, text, pattern, np.zeros(1, np.int32)], {4: [(windows == pattern).all(1).sum()]}
    )


@workload("shared")
def smith_waterman(rng: Random, size: int) -> Launch:
    pairs = (8, 264, 660)[size]
    a, b = letters(rng, (pairs, 128)), letters(rng, (pairs, 128))
    rows = np.zeros((pairs, 129, 129), np.int32)
    for d in range(255):
        i = np.arange(max(0, d - 127), min(d, 127) + 1)
        j = d - i
        match = np.where(a[:, i] == b[:, j], 2, -1)
        rows[:, i + 1, j + 1] = np.maximum(
            np.maximum(rows[:, i, j] + match, 0), np.maximum(rows[:, i, j + 1], rows[:, i + 1, j]) - 1
        )
    return Launch(pairs, 128, [a, b, np.zeros(pairs, np.int32)], {2: rows.max((1, 2))})


@workload("arithmetic")
def edit_distance(rng: Random, size: int) -> Launch:
    n = (1_024, 67_584, 200_000)[size]
    words, target = letters(rng, (24, n)), letters(rng, 24)
    row = np.repeat(np.arange(25)[:, None], n, 1)
    for i in range(24):
        new = np.empty_like(row)
        new[0] = i + 1
        for j in range(24):
            new[j + 1] = np.minimum(np.minimum(new[j], row[j + 1]) + 1, row[j] + (words[i] != target[j]))
        row = new
    return Launch(-(-n // 128), 128, [n, words, target, np.zeros(n, np.int32)], {3: row[24]})


@workload("atomic")
def count_words(rng: Random, size: int) -> Launch:
    n, slots = ((8_000, 4_096), (270_000, 65_536), (1_000_000, 65_536))[size]
    text = letters(rng, n)
    windows = np.lib.stride_tricks.sliding_window_view(text, 8).astype(np.uint64)
    code = windows @ (4 ** np.arange(7, -1, -1)).astype(np.uint64)
    place = ((code * np.uint64(2654435769)) & np.uint64(0xFFFFFFFF)) >> np.uint64(8) & np.uint64(slots - 1)
    args = [n, np.uint32(slots), text, np.zeros(slots, np.uint32)]
    return Launch(-(-n // 256), 256, args, {3: np.bincount(place.astype(np.int64), minlength=slots)})


@workload("streaming")
def base64(rng: Random, size: int) -> Launch:
    n = (4_096, 270_000, 1_000_000)[size]
    data = rng.integers(0, 256, 3 * n).astype(np.uint8)
    table = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
    bits = data.reshape(n, 3).astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
    out = table[np.stack([bits >> 18, bits >> 12 & 63, bits >> 6 & 63, bits & 63], 1)]
    return Launch(-(-n // 256), 256, [n, data, np.zeros((n, 4), np.uint8)], {2: out})


@workload("shared")
def automaton(rng: Random, size: int) -> Launch:
    lines, length = ((1_024, 48), (67_584, 48), (202_752, 64))[size]
    text, table = letters(rng, (length, lines), 32), letters(rng, (64, 32), 64)
    state, seen = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
    for row in text:
        state = table[state, row].astype(np.int64)
        seen += state == 63
    return Launch(lines // 256, 256, [lines, length, text, table, np.zeros(lines, np.int32)], {4: seen})
