"""What serves the misses of the first levels of constants and of code: how fast, to how many multiprocessors."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from smmux.base import whole_files

from .bench import Bench, Row
from .cuda_driver import MAX_DYNAMIC_SHARED
from .profiler import profiled

SHARED = 200 << 10
"""Of each block, so that a multiprocessor has one."""
TABLE = 65536
"""Bytes of constants."""
PIECE = 32
"""Lines of a piece of code."""
GPC_TPCS = (4, 8, 8, 8, 8, 8, 9, 9)
"""TPCs of each GPC to which they are dealt out."""


class Walks:
    """The kernels of supply.cu, on multiprocessors that are chosen by their numbers."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.card = bench, bench.card
        self.count = self.card.multiprocessors
        self.module = bench.module("supply")
        self.roles, self.places = self.card.alloc(self.count), self.card.alloc(128 * self.count)
        self.out, self.sums = self.card.alloc(256 * self.count), self.card.alloc(128 * self.count)
        self.numbers = np.zeros((self.count, 32), np.uint32)

    def __call__(self, name: str, roles: dict[int, int], warps: int, places: np.ndarray, *numbers: int) -> np.ndarray:
        """Clocks of warm-up and of the rest, of all warps of the multiprocessors that have a role: (SM, warp, 2)."""
        chosen = np.zeros(self.count, np.uint8)
        chosen[list(roles)] = list(roles.values())
        self.card.put(self.roles, chosen)
        self.card.put(self.places, np.broadcast_to(places, (self.count, 32)).astype(np.uint32))
        self.card.put(self.out, np.zeros(64 * self.count, np.uint32))
        function = self.module[name].set(MAX_DYNAMIC_SHARED, SHARED)
        more = (self.sums,) if name == "code" else ()
        values = (self.out, self.roles, self.places, *more, *map(np.uint32, numbers))
        function(self.count, 32 * warps, *values, shared=SHARED)
        clocks: np.ndarray = self.card.get(self.out, 64 * self.count, np.uint32).reshape(-1, 32, 2)[list(roles), :warps]
        return clocks.astype(np.int64)

    def constants(
        self, sms: Sequence[int], warps: int, *, span: int = TABLE, stride: int = 64, lanes: int = 1, apart: int = 0,
        same: bool = False, ahead: int = 1, warm: int = 0, rounds: int = 128, cold: bool = False,
    ) -> np.ndarray:  # fmt: skip
        """Walks through constants; each warp from elsewhere on, or all from the same place on."""
        if cold:
            self.card.put(self.module.address("table"), np.zeros(TABLE // 4, np.uint32))
        sm, warp = np.mgrid[: self.count, :32]
        places = 0 * sm if same else (warp * (span // warps) + sm * 37 * 64) % span // 64 * 64
        name = "one" if ahead == 1 else "four"
        numbers = (span, stride, lanes, apart, warm, rounds)
        return self(name, dict.fromkeys(sms, 1), warps, places, *numbers)

    def code(
        self, roles: dict[int, int], warps: int, count: int, *, same: bool, shift: int = 0, warm: int, rounds: int
    ) -> np.ndarray:
        """Walks through pieces of code, all warps from one on, or each from elsewhere on; those of the next
        multiprocessor `shift` pieces further."""
        sm, warp = np.mgrid[: self.count, :32]
        places = (np.where(same, 0, warp * count // warps) + sm * shift) % count
        return self("code", roles, warps, places, count, 1, warm, rounds)


def gpcs(count: int) -> list[list[int]]:
    """The TPCs of each GPC, which are dealt out in turn; the last four belong to the first one."""
    room, found, at = list(GPC_TPCS), [[] for _ in GPC_TPCS], 0  # type: list[int], list[list[int]], int
    for tpc in range(count):
        if not any(room):
            found[0].append(tpc)
            continue
        while not room[at]:
            at = (at + 1) % len(room)
        found[at].append(tpc)
        room[at] -= 1
        at = (at + 1) % len(room)
    return found


def both(tpcs: Sequence[int]) -> list[int]:
    """The multiprocessors of TPCs."""
    return sorted(sm for tpc in tpcs for sm in (2 * tpc, 2 * tpc + 1))


def groups(bench: Bench) -> Iterator[Row]:
    """Clocks of a line of constants on four TPCs of a GPC, alone and beside each further TPC of the chip."""
    walks = Walks(bench)
    tpcs = walks.count // 2
    for gpc, members in enumerate(gpcs(tpcs)):
        base = members[:4]
        row: Row = {"gpc": gpc}
        for tpc in (-1, *range(tpcs)):
            sms = both(sorted({*base, *([tpc] if tpc >= 0 else [])}))
            clocks = walks.constants(sms, 32, warm=32, rounds=64)[[sms.index(sm) for sm in both(base)], :, 1]
            row["alone" if tpc < 0 else f"tpc_{tpc}"] = round(float(clocks.mean()) / 64 / 32, 2)
        yield row


def sets_of(walks: Walks) -> dict[str, list[int]]:
    """Multiprocessors: one, those of a TPC, of four TPCs of a GPC, of all, of the chip."""
    gpc = gpcs(walks.count // 2)[1]
    return {
        "one": [2], "tpc": both(gpc[:1]), "four": both(gpc[:4]), "gpc": both(gpc), "all": list(range(walks.count)),
    }  # fmt: skip


def constant_supply(bench: Bench) -> Iterator[Row]:
    """Clocks of a line of constants for each warp: cold, and later."""
    walks = Walks(bench)
    sets = sets_of(walks)

    def row(name: str, warps: int, **options: int) -> Row:
        ahead, lanes = options.get("ahead", 1), options.get("lanes", 1)
        warm = max(1, TABLE // 64 // ahead // (1 if warps < 4 else 4))
        clocks = walks.constants(sets[name], warps, warm=warm, cold=True, **options)  # type: ignore[arg-type]
        each = clocks.reshape(-1, 2) / (ahead * lanes * np.array([warm, 128]))
        return {
            "multiprocessors": name, "warps": warps, "span": options.get("span", TABLE),
            "stride": options.get("stride", 64), "lanes": lanes, "ahead": ahead, "same": options.get("same", 0),
            "cold": round(float(each[:, 0].mean()), 2), "clocks": round(float(each[:, 1].mean()), 2),
            "most": round(float(each[:, 1].max()), 2),
        }  # fmt: skip

    for name in sets:
        for warps in (1, 2, 4, 8, 16, 32):
            yield row(name, warps)
        for warps in (1, 8, 32):
            yield row(name, warps, same=1)
            yield row(name, warps, span=4096)
            yield row(name, warps, ahead=4)
            yield row(name, warps, stride=268)
        for lanes in (2, 8, 32):
            for warps in (1, 4, 16):
                yield row(name, warps, lanes=lanes, apart=17 * 64)


def constant_sets(bench: Bench) -> Iterator[Row]:
    """Clocks of a load of constants by one warp, of so many lines so far apart in turn."""
    walks = Walks(bench)
    for stride in (64, 128, 256, 512, 1024, 2048, 4096):
        for lines in (2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 20, 24, 28, 32, 33, 36, 40, 48, 64):
            if lines * stride <= TABLE:
                clocks = walks.constants([0], 1, span=lines * stride, stride=stride, warm=2 * lines, rounds=256)
                yield {"stride": stride, "lines": lines, "clocks": round(float(clocks[0, 0, 1]) / 256, 1)}


def code_supply(bench: Bench) -> Iterator[Row]:
    """Clocks of a line of code for each warp: the first time round, and later."""
    walks = Walks(bench)
    sets = sets_of(walks)
    for count in (4, 12, 24, 48):
        for name, sms in sets.items():
            for warps in (1, 4, 8, 16, 32):
                for same in (True, False):
                    for shift in (0, 5):
                        if (shift and name == "one") or (warps == 1 and not same):
                            continue
                        rounds = max(12, count)
                        clocks = walks.code(
                            dict.fromkeys(sms, 2), warps, count, same=same, shift=shift, warm=count, rounds=rounds
                        )
                        each = clocks.reshape(-1, 2) / (PIECE * np.array([count, rounds]))
                        yield {
                            "kilobytes": 4 * count, "multiprocessors": name, "warps": warps, "same": int(same),
                            "shift": shift, "first": round(float(each[:, 0].mean()), 2),
                            "clocks": round(float(each[:, 1].mean()), 2), "most": round(float(each[:, 1].max()), 2),
                        }  # fmt: skip


def mixed_supply(bench: Bench) -> Iterator[Row]:
    """Clocks of a line of code on one multiprocessor, and of constants on others at the same time."""
    walks = Walks(bench)
    sets = sets_of(walks)
    one, group = sets["one"], sets["gpc"]
    cases = {"nobody": [], "tpc": group[1:2], "gpc": group[2:], "other": both(gpcs(walks.count // 2)[2])}
    for warps in (1, 8, 32):
        for count in (12, 24):
            for name, others in cases.items():
                roles = {one[0]: 2} | dict.fromkeys(others, 1)
                clocks = walks.code(roles, warps, count, same=False, warm=count, rounds=count)[:, :, 1]
                row: Row = {"warps": warps, "kilobytes": 4 * count, "constants": name}
                row["code_clocks"] = round(float(clocks[0].mean()) / count / PIECE, 2)
                row["constant_clocks"] = round(float(clocks[1:].mean()) / count / 64, 2) if others else ""
                yield row


PROBES = {
    "supply_groups": groups, "constant_supply": constant_supply, "constant_sets": constant_sets,
    "code_supply": code_supply, "mixed_supply": mixed_supply,
}  # fmt: skip
METRICS = ("gcc__cache_requests_type_constant.sum", "gcc__cache_requests_type_instruction.sum")


def launches(walks: Walks) -> Iterator[Row]:
    """Launches whose requests of the second level are counted: through constants, and through code."""
    chip = list(range(walks.count))
    for sms in ([2], [2, 3], chip):
        for warps in (1, 32):
            walks.constants(sms, warps, rounds=128)
            yield {"kind": "constants", "multiprocessors": len(sms), "warps": warps, "kilobytes": 64, "shift": 0}
    for count in (4, 12, 24, 48):
        for sms, warps, shift in (([2], 1, 0), ([2], 8, 0), ([2, 3], 1, 0), ([2, 3], 1, 5), (chip, 1, 0), (chip, 8, 5)):
            walks.code(dict.fromkeys(sms, 2), warps, count, same=warps == 1, shift=shift, warm=count, rounds=count)
            yield {
                "kind": "code", "multiprocessors": len(sms), "warps": warps, "kilobytes": 4 * count, "shift": shift,
            }  # fmt: skip


def main() -> None:
    """`python -m experiments.hardware.hopper.probe_supply --out FOLDER --cubins FOLDER`: supply_requests.csv."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cubins", type=Path, default=Path("cub"))
    parser.add_argument("--launch", action="store_true")
    options = parser.parse_args()
    if options.launch:
        rows = list(launches(Walks(Bench(options.cubins))))
        whole_files.write_text(options.out / "supply_launches.json", json.dumps(rows))
        return
    counts = profiled(__spec__.name, options.out, METRICS)
    rows = json.loads((options.out / "supply_launches.json").read_text())
    with whole_files.replacing(options.out / "supply_requests.csv") as (draft,), draft.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "constants", "instructions"], lineterminator="\n")
        writer.writeheader()
        for row, (constants, instructions) in zip(rows, counts, strict=True):
            writer.writerow({**row, "constants": int(constants), "instructions": int(instructions)})


if __name__ == "__main__":
    main()
