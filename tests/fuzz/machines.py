"""Random machines, over the legal ranges and beyond them."""

from __future__ import annotations

from random import Random

from smmux import _core

from .values import hostile, log_uniform, number

NAMES = tuple(row[0] for row in _core.CONFIG)
RANGES = tuple((row[2], row[3]) for row in _core.CONFIG)
INDEX = {name: i for i, name in enumerate(NAMES)}

# A case has to stay small; the whole range comes now and then.
USUAL = {
    "sm_count": 4,
    "l1_bytes": 1 << 17,
    "l2_bytes": 1 << 20,
    "credits": 512,
    "partitions": 8,
    "max_warps_sm": 64,
    "flat_latency": 2000,
    "const_miss": 2000,
    "lat_icache2": 1000,
    "lat_icache3": 1000,
    "icache3_miss": 2000,
    "block_start": 2000,
}

UNITS = ("smm_unit", "smm_unit", "smem_unit", "smem_reserved", "smem_bytes", "reg_unit", "warp_gran", "packet_header")
"""What sizes are rounded to, or consist of: any number is legal, and addresses follow."""


def small(config: list[int], rng: Random) -> list[int]:
    """The machine with few SMs."""
    config = list(config)
    config[INDEX["sm_count"]] = rng.choice((1, 1, 1, 2, 3))
    return config


def _legal(rng: Random, name: str) -> int:
    low, high = RANGES[INDEX[name]]
    if rng.random() < 0.97:
        high = min(high, max(USUAL.get(name, high), low))
    return number(rng, low, high)


def changed(rng: Random, config: list[int]) -> list[int]:
    """A machine with some parameters changed: to legal values, or to nearly what they were."""
    config = small(config, rng)
    for _ in range(rng.choice((1, 2, 4, 8, 16))):
        i = rng.randrange(len(config))
        low, high = RANGES[i]
        near = (config[i] + rng.choice((-1, 1)), config[i] * 2, config[i] // 2)
        config[i] = min(high, max(low, rng.choice(near))) if rng.random() < 0.4 else _legal(rng, NAMES[i])
    return config


def odd(rng: Random, config: list[int]) -> list[int]:
    """A machine with units that are no powers of two."""
    config = small(config, rng)
    for name in rng.choices(UNITS, k=rng.choice((1, 1, 2, 4))):
        low, high = RANGES[INDEX[name]]
        config[INDEX[name]] = min(high, log_uniform(rng, low, high) | 1)
    return config


def anything(rng: Random) -> list[int]:
    """Every parameter anew; the shapes that must fit together made so, mostly."""
    config = [_legal(rng, name) for name in NAMES]
    if rng.random() < 0.9:
        _make_fit(rng, config)
    return config


def _make_fit(rng: Random, config: list[int]) -> None:
    def put(name: str, value: int) -> int:
        low, high = RANGES[INDEX[name]]
        config[INDEX[name]] = min(high, max(low, value))
        return config[INDEX[name]]

    def power(name: str) -> int:
        return put(name, 1 << config[INDEX[name]].bit_length() - 1)

    for name in ("smem_banks", "smem_bank_bytes", "partition_bytes", "port_bytes", "l2_slices", "dram_burst_bytes"):
        power(name)
    put("coalesce_rule", rng.choice((10, 13, 20, 35, 90)))
    if config[INDEX["smem_rule"]] != 3:
        put("smem_bank_bytes", 4)
    put("max_threads_sm", min(config[INDEX["max_threads_sm"]], 32 * config[INDEX["max_warps_sm"]]))
    put("max_threads_block", min(config[INDEX["max_threads_block"]], config[INDEX["max_threads_sm"]]))
    put("schedulers", min(config[INDEX["schedulers"]], config[INDEX["max_warps_sm"]]))
    if put("sfu_slots", rng.choice((0, 1))):
        put("schedulers", 1)
        put("issue_width", 1)
        put("issue_interval", config[INDEX["issue_interval"]] // 2 * 2 or 2)
    kinds = [i for i, (name, _) in enumerate(_core.UNITS) if config[INDEX[f"{name}_units"]]]
    for name in NAMES:
        if name.startswith("unit_"):
            put(name, rng.choice(kinds))
    put("smem_reserved", min(config[INDEX["smem_reserved"]], config[INDEX["smem_bytes"]] - 1))
    power("pointer_bytes")
    banks = power("dram_banks")
    put("dram_groups", min(banks, power("dram_groups")))
    shift = rng.randrange(20)
    put("dram_bank_mask", (banks - 1) << shift)
    put("dram_row_mask", 0xFFFFFFFF & ~(0xFFFFFFFF >> (32 - shift - 5)))
    sets = rng.randint(1, 64)
    for cache in ("l1", "tex", "icache", "const"):
        line = power(f"{cache}_line")
        put(f"{cache}_bytes", rng.choice((0, 1)) * sets * config[INDEX[f"{cache}_ways"]] * line)
        if f"{cache}_sector" in INDEX:
            put(f"{cache}_sector", rng.choice((0, line, max(line // rng.choice((2, 4, 8)), 32))))
    fetched = put("fetch_bytes", rng.choice((0, 32, 64, config[INDEX["icache_line"]])))
    put("fetch_bytes", min(fetched, config[INDEX["icache_line"]]))
    put("fetch_control", min(config[INDEX["fetch_control"]], max(fetched - config[INDEX["insn_bytes"]], 0), 16))
    line = max(power("icache2_line"), config[INDEX["icache_line"]], config[INDEX["const_line"]])
    put("icache2_line", line)
    second = put("icache2_bytes", rng.choice((0, 1)) * rng.randint(1, 16) * config[INDEX["icache2_ways"]] * line)
    line = put("icache3_line", max(power("icache3_line"), line))
    put("icache3_bytes", rng.choice((0, second > 0)) * rng.randint(1, 8) * config[INDEX["icache3_ways"]] * line)
    put("icache3_miss", max(config[INDEX["icache3_miss"]], config[INDEX["lat_icache3"]]))
    line = power("l2_line")
    sector, slices = power("l2_sector"), config[INDEX["l2_slices"]] * config[INDEX["partitions"]]
    put("l2_sector", max(min(sector, line), line // 8))
    put("l2_fetch", min(power("l2_fetch"), line))
    put("l2_bytes", rng.choice((0, 1)) * sets * config[INDEX["l2_ways"]] * line * slices)


def illegal(rng: Random, config: list[int]) -> list[int]:
    """A machine with a value outside its range, or of another length."""
    config = small(config, rng)
    for _ in range(rng.randint(1, 3)):
        config[rng.randrange(len(config))] = hostile(rng)
    if rng.random() < 0.2:
        config = config[: rng.randrange(len(config))] if rng.random() < 0.5 else [*config, 1]
    return config


def random_machine(rng: Random, config: list[int]) -> list[int]:
    """Mostly machines that exist."""
    kind = rng.random()
    if kind < 0.35:
        return small(config, rng)
    if kind < 0.5:
        return odd(rng, config)
    if kind < 0.75:
        return changed(rng, config)
    return anything(rng) if kind < 0.95 else illegal(rng, config)
