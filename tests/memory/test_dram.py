"""The DRAM channel: closed forms, then every command against the timing table and every choice against the policies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from smmux import gpus, policies
from smmux.machines.models_memory import COMMAND_KINDS, DRAM_REQUEST, Dram, DramReplay
from tests.reference import dram

MACHINES = ("GTX285", "GTX285-1100", "GTX480-48K", "K20c")
MIXES = ("random", "local", "stream", "bursty")


def requests(mix: str, count: int, seed: int, gpu: gpus.Gpu) -> np.ndarray:
    """Requests with few or many row hits, saturating or with gaps in which rows close for refresh."""
    rng = np.random.default_rng(seed)
    out = np.zeros(count, DRAM_REQUEST)
    out["bytes"] = rng.choice([32, 64, 128, 256], count)
    if mix == "stream":
        out["bytes"] = 128
        at = np.arange(count, dtype=np.uint32) * 128
        out["write"] = np.arange(count) // 16 % 2
        out["address"] = np.where(out["write"] == 1, at + (1 << 26), at)
        out["arrival"] = np.arange(count) * 3
    else:
        span = 1 << 28 if mix == "random" else 1 << 17
        out["address"] = rng.integers(0, span // 256, count) * 256 + rng.integers(0, 256 // out["bytes"]) * out["bytes"]
        out["write"] = rng.random(count) < (0.5 if mix == "random" else 0.3)
        gap = rng.integers(0, 8, count) if mix != "bursty" else np.where(rng.random(count) < 0.01, 6000, 0)
        out["arrival"] = np.cumsum(gap)
    return out


def as_defined(gpu: gpus.Gpu, records: np.ndarray) -> list[dram.Request]:
    """Bank, row and bursts by shifting and masking, not with the core's address map."""

    def gather(addresses: np.ndarray, mask: int) -> np.ndarray:
        bits = [bit for bit in range(32) if mask >> bit & 1]
        return sum((addresses.astype(np.int64) >> bit & 1) << place for place, bit in enumerate(bits))

    banks, rows = gather(records["address"], gpu.dram_bank_mask), gather(records["address"], gpu.dram_row_mask)
    banks = (banks + rows) % gpu.dram_banks if gpu.dram_bank_hash else banks
    first = records["address"] // gpu.dram_burst_bytes
    bursts = (records["address"] + records["bytes"] - 1) // gpu.dram_burst_bytes - first + 1
    columns = (records["arrival"], banks, rows, bursts, records["write"] == 1)
    return [dram.Request(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def next_row(gpu: gpus.Gpu) -> int:
    """The distance of two rows of one bank: as many rows as there are banks, so that folding them changes nothing."""
    return (gpu.dram_row_mask & -gpu.dram_row_mask) * gpu.dram_banks


def commands(replay: DramReplay) -> list[tuple[int, int, int, int]]:
    assert replay.log is not None
    return list(zip(*(replay.log[name].tolist() for name in ("clock", "kind", "bank", "row")), strict=True))


def check(gpu: gpus.Gpu, records: np.ndarray) -> DramReplay:
    replay = Dram(gpu).replay(records, log=True)
    dram.check(dram.Timing.of(gpu), as_defined(gpu, records), commands(replay), replay.done.tolist())
    assert replay.row_hits + replay.row_misses + replay.row_conflicts == len(records)
    assert replay.busy == (replay.reads + replay.writes) * gpu.dram_burst_clk
    return replay


@pytest.mark.parametrize("name", MACHINES)
def test_one_read_and_one_write_take_the_timing_table(name: str) -> None:
    gpu = gpus.get(name)
    t = dram.Timing.of(gpu)
    channel, one = Dram(gpu), gpu.dram_burst_bytes
    row = next_row(gpu)
    assert channel.replay([0], nbytes=one).clocks == t.rcd + t.cl + t.burst
    assert channel.replay([0], nbytes=one, write=True).clocks == t.rcd + t.wl + t.burst
    hit = channel.replay([0, one], nbytes=one)
    assert hit.clocks == t.rcd + max(t.ccd, t.ccdl) + t.cl + t.burst
    assert hit.row_hits == 1
    conflict = channel.replay([0, row], nbytes=one)
    reopened = max(max(t.ras, t.rcd + max(t.rtp, t.rtpl)) + t.rp, t.rc)
    assert conflict.clocks == reopened + t.rcd + t.cl + t.burst
    assert conflict.row_conflicts == 1
    assert conflict.precharges == 1
    assert conflict.activates == 2


@pytest.mark.parametrize("name", MACHINES)
def test_writes_and_reads_turn_the_bus(name: str) -> None:
    gpu = gpus.get(name)
    t = dram.Timing.of(gpu)
    one = gpu.dram_burst_bytes
    read_after_write = Dram(gpu).replay([0, one], nbytes=one, write=[True, False])
    assert read_after_write.clocks == t.rcd + t.wl + t.burst + t.wtr + t.cl + t.burst
    write_after_read = Dram(gpu).replay([0, one], nbytes=one, write=[False, True])
    assert write_after_read.clocks == t.rcd + t.cl + t.burst + 2 + t.burst


@pytest.mark.parametrize("name", MACHINES)
def test_a_stream_of_reads_nearly_fills_the_bus(name: str) -> None:
    gpu = gpus.get(name)
    replay = Dram(gpu).replay(np.arange(0, 1 << 20, 256), nbytes=256)
    assert 0.9 < replay.share_of_peak <= 1
    assert replay.row_hits > 0.8 * len(replay.done)


def test_idle_channels_refresh_too() -> None:
    gpu = gpus.get("GTX285")
    replay = check(gpu, np.array([(0, 0, 32, 0, 0), (10 * gpu.t_refi, 0, 32, 0, 0)], DRAM_REQUEST))
    assert replay.refreshes == 10
    assert replay.row_misses == 2
    assert Dram(gpu.replace(t_refi=0)).replay([0, 0], arrival=[0, 10 * gpu.t_refi]).refreshes == 0


@pytest.mark.quick
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("name", MACHINES)
def test_no_timing_is_violated(name: str, mix: str) -> None:
    gpu = gpus.get(name)
    check(gpu, requests(mix, 5_000, 1, gpu))


@pytest.mark.parametrize(
    "change",
    [
        {"t_rc": 70}, {"t_faw": 60}, {"t_rtpl": 12}, {"t_ccdl": 6}, {"t_ccd": 20}, {"t_ccd": 1, "t_ccdl": 0},
        {"t_cl": 2, "t_wl": 30, "t_ccd": 8}, {"dram_burst_clk": 4}, {"dram_groups": 2}, {"dram_window": 1},
        {"dram_row_slots": 1},
        {"dram_refresh_single": 1, "t_rtpl": 0, "t_refi": 400},
        {"dram_refresh_single": 1, "t_rtpl": 0, "t_refi": 900, "t_rfc": 300, "dram_row_slots": 1},
        {"dram_row_slots": 1, "dram_page": "closed", "t_ccd": 1, "t_ccdl": 0, "dram_burst_clk": 1},
        {"dram_banks": 64, "dram_bank_mask": 0x3F00, "dram_row_mask": 0xFFFF_C000},
    ],
)  # fmt: skip
def test_no_timing_is_violated_in_variants(change: dict[str, int]) -> None:
    gpu = gpus.get("GTX480-48K").replace(**change)
    for mix in MIXES:
        check(gpu, requests(mix, 2_000, 2, gpu))


@pytest.mark.quick(10)
@pytest.mark.parametrize("single", [0, 1])
@pytest.mark.parametrize("window", [1, 4, 16, 64])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K"])
def test_schedule_is_that_of_the_reference(name: str, mix: str, window: int, single: int) -> None:
    gpu = gpus.get(name).replace(dram_window=window, t_refi=400, t_rtpl=0, dram_refresh_single=single)
    records = requests(mix, 600, 3, gpu)
    replay = Dram(gpu).replay(records, log=True)
    expected = dram.serve(dram.Timing.of(gpu), as_defined(gpu, records), window)
    assert scheduled(command[:3] for command in commands(replay)) == scheduled(expected.log)
    assert outcomes(replay) == (expected.hits, expected.misses, expected.conflicts)


@pytest.mark.parametrize("gap", [4, 20, 40, 80])
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K", "H100", "H200"])
def test_a_channel_that_keeps_a_log_serves_the_same(name: str, gap: int) -> None:
    """Of few rows. With a log each column command is chosen by itself, without one several of a bank go together, and
    may not look at what has not arrived by then."""
    gpu, count = gpus.get(name), 500
    bank = gpu.dram_row_mask & -gpu.dram_row_mask
    for seed in range(16):
        rng = np.random.default_rng(seed)
        records = np.zeros(count, DRAM_REQUEST)
        records["address"] = next_row(gpu) * rng.integers(0, 3, count) + bank * rng.integers(0, 1 + seed % 2, count)
        records["address"] += 64 * rng.integers(0, 4, count, np.uint32)
        records["bytes"], records["write"] = 64, rng.random(count) < 0.1
        records["arrival"] = np.cumsum(rng.integers(0, gap, count))
        alone, together = Dram(gpu).replay(records, log=True), Dram(gpu).replay(records)
        np.testing.assert_array_equal(alone.done, together.done)
        assert outcomes(alone) == outcomes(together)


def scheduled(log: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """All commands but refreshes of single banks, which are told where a bank is used next."""
    return [command for command in log if command[1] != dram.REFRESH_BANK]


def outcomes(replay: DramReplay) -> tuple[int, int, int]:
    """How requests found the row of their bank."""
    return replay.row_hits, replay.row_misses, replay.row_conflicts


def test_kinds_of_commands_have_names() -> None:
    gpu = gpus.get("GTX285").replace(dram_page="closed", t_refi=400)
    log = Dram(gpu).replay(requests("random", 400, 7, gpu), log=True).log
    assert log is not None
    kinds = {COMMAND_KINDS[kind] for kind in log["kind"].tolist()}
    assert kinds >= {"read with auto-precharge", "write with auto-precharge", "activate", "refresh"}
    assert COMMAND_KINDS.index("read with auto-precharge") == dram.READ_CLOSING
    assert len(COMMAND_KINDS) == dram.REFRESH_BANK + 1
    log = Dram(gpu.replace(dram_refresh_single=1)).replay(requests("random", 400, 7, gpu), log=True).log
    assert log is not None
    assert "refresh of a bank" in {COMMAND_KINDS[kind] for kind in log["kind"].tolist()}


def test_a_bank_that_is_refreshed_alone_holds_up_its_own_requests() -> None:
    """Reads of closed rows, one at a time: each waits for what is left of its bank's refresh, and for nothing else."""
    gpu = gpus.get("H200")
    t = dram.Timing.of(gpu)
    rng = np.random.default_rng(9)
    arrival = np.arange(1, 2_001) * 10 * t.refi + rng.integers(0, t.refi, 2_000)
    records = np.zeros(2_000, DRAM_REQUEST)
    records["arrival"], records["bytes"] = arrival, gpu.dram_burst_bytes
    records["address"] = rng.integers(0, 1 << 31, 2_000) // 128 * 128
    replay = check(gpu, records)
    banks = np.array([request.bank for request in as_defined(gpu, records)])
    left = t.rfc - (arrival - t.refi * banks // t.banks) % t.refi
    idle = t.rcd + t.cl + t.burst
    assert (replay.done.astype(np.int64) - arrival == idle + np.maximum(left, 0)).all()
    assert 0.11 < (left > 0).mean() < 0.155  # 260 of 1,963 ns


@pytest.mark.quick(16)
@pytest.mark.parametrize("page", policies.names("page"))
@pytest.mark.parametrize("policy", policies.names("dram"))
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K"])
def test_every_policy_is_that_of_its_definition(name: str, mix: str, policy: str, page: str) -> None:
    """Command by command, and within the timing table."""
    gpu = gpus.get(name).replace(dram_policy=policy, dram_page=page, dram_age_cap=150, t_refi=400)
    records = requests(mix, 400, 6, gpu)
    replay = check(gpu, records)
    expected = dram.serve(
        dram.Timing.of(gpu), as_defined(gpu, records), gpu.dram_window, policy, page, gpu.dram_age_cap
    )
    assert [command[:3] for command in commands(replay)] == expected.log
    assert outcomes(replay) == (expected.hits, expected.misses, expected.conflicts)


def finished(gpu: gpus.Gpu) -> list[list[int]]:
    """When the requests of every mix are done."""
    return [Dram(gpu).replay(requests(mix, 2_000, 4, gpu)).done.tolist() for mix in MIXES]


def test_every_policy_changes_something() -> None:
    gpu = gpus.get("GTX480-48K").replace(dram_age_cap=150)
    variants = [{"dram_policy": policy} for policy in policies.names("dram")] + [{"dram_page": "closed"}]
    results = [finished(gpu.replace(**change)) for change in variants]
    assert all(a != b for i, a in enumerate(results) for b in results[:i])


@pytest.mark.parametrize("page", policies.names("page"))
def test_laws_between_policies(page: str) -> None:
    """A window of one request leaves no choice; nobody waits for ever, and everybody longer than no time at all."""
    gpu = gpus.get("GTX480-48K").replace(dram_page=page)
    expected = finished(gpu)
    assert finished(gpu.replace(dram_policy="fcfs")) == finished(gpu.replace(dram_window=1))
    assert finished(gpu.replace(dram_policy="fr_fcfs_cap", dram_age_cap=1_000_000)) == expected
    assert finished(gpu.replace(dram_policy="fr_fcfs_cap", dram_age_cap=0)) != expected


def test_a_capped_request_is_not_passed_over_for_ever() -> None:
    """Under a stream of hits to one row the request to another row waits for the stream's end, or for the cap."""
    gpu = gpus.get("GTX285")
    row = next_row(gpu)
    addresses = np.arange(2_000) * 32 % 2048
    addresses[8] = row
    waits = {
        policy: int(Dram(gpu.replace(dram_policy=policy, t_refi=0)).replay(addresses, arrival=np.arange(2_000)).done[8])
        for policy in ("fr_fcfs", "fr_fcfs_cap")
    }
    assert waits["fr_fcfs"] > 4_000 - gpu.dram_window
    assert waits["fr_fcfs_cap"] < gpu.dram_age_cap + 200


def test_a_closed_page_has_no_conflicts_without_a_queue() -> None:
    """Requests far apart find every row closed, and wait for no precharge."""
    for name in MACHINES:
        gpu = gpus.get(name).replace(t_refi=0)
        row = next_row(gpu)
        addresses, arrival = np.arange(50) % 2 * row, np.arange(50) * 1_000
        runs = {
            page: Dram(gpu.replace(dram_page=page)).replay(addresses, arrival=arrival) for page in ("open", "closed")
        }
        assert outcomes(runs["open"]) == (0, 1, 49)
        assert outcomes(runs["closed"]) == (0, 50, 0)
        assert (runs["open"].precharges, runs["closed"].precharges) == (49, 50)
        waited = runs["open"].done[1:] - runs["closed"].done[1:]
        assert (waited == gpu.t_rp).all()


@pytest.mark.parametrize("name", MACHINES)
def test_folded_banks_keep_neighbouring_rows_apart(name: str) -> None:
    """Rows that follow one another in memory, at one place: one bank where banks are bits of the address, else all."""
    gpu = gpus.get(name).replace(t_refi=0)
    row = gpu.dram_row_mask & -gpu.dram_row_mask
    addresses = np.arange(4 * gpu.dram_banks) % gpu.dram_banks * row
    linear, folded = (
        Dram(gpu.replace(dram_bank_hash=value)).replay(addresses, arrival=np.arange(len(addresses)) * 500)
        for value in (0, 1)
    )
    assert outcomes(linear) == (0, 1, len(addresses) - 1)
    assert outcomes(folded) == (3 * gpu.dram_banks, gpu.dram_banks, 0)


@pytest.mark.parametrize(
    "parameter",
    [
        "t_rcd", "t_rp", "t_ras", "t_rc", "t_rrd", "t_cl", "t_wl", "t_ccd", "t_ccdl", "t_wtr", "t_wr", "t_rtp",
        "t_rtpl", "t_refi", "t_rfc", "t_faw", "dram_window", "dram_banks", "dram_groups", "dram_burst_clk",
        "dram_bank_hash", "dram_row_slots", "dram_refresh_single",
    ],
)  # fmt: skip
def test_every_parameter_matters(parameter: str) -> None:
    gpu = gpus.get("GTX480-48K")
    if parameter == "dram_refresh_single":
        gpu = gpu.replace(t_rtpl=0)
    new = {
        "dram_bank_hash": 0,
        "dram_row_slots": 1,
        "dram_refresh_single": 1,
        "dram_banks": 8,
        "dram_groups": 1,
        "dram_window": 4,
        "t_rtp": 40,
        "t_rtpl": 40,
    }
    changed = {parameter: new.get(parameter, getattr(gpu, parameter) + 30)}
    if parameter == "dram_banks":
        changed["dram_bank_mask"] = 0x6100
    mixed = [requests(mix, 2_000, 4, gpu) for mix in MIXES]
    variant = gpu.replace(**changed)
    assert any((Dram(gpu).replay(r).done != Dram(variant).replay(r).done).any() for r in mixed)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arrival": [5, 4]}, "request 1 arrives before"),
        ({"arrival": [0, 1 << 41]}, "request 1 arrives later"),
        ({"nbytes": 0}, "request 0 has no bytes"),
        ({"nbytes": [64, 300]}, "request 1 leaves its block of partition_bytes: 300 bytes at 64, time 0"),
        ({"nbytes": 1 << 16}, r"nbytes must be below 2\*\*16"),
        ({"requests": [0, 1 << 32]}, r"requests must be below 2\*\*32"),
        ({"requests": [-1]}, "not be negative"),
        ({"requests": [0.5]}, "integers"),
        ({"requests": [[0, 64]]}, r"vector, not of shape \(1, 2\)"),
        ({"requests": 64}, "vector"),
        ({"requests": np.zeros((1, 1), DRAM_REQUEST)}, "vector"),
    ],
)
def test_malformed_requests_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Dram("GTX285").replay(**{"requests": [0, 64], **arguments})


def test_no_request_has_more_bursts_than_the_channel_counts() -> None:
    gpu = gpus.get("GTX285").replace(partition_bytes=8192, dram_burst_bytes=16)
    assert Dram(gpu).replay([0], nbytes=255 * 16).reads == 255
    with pytest.raises(ValueError, match="request 1 has more bursts"):
        Dram(gpu).replay([0, 0], nbytes=[16, 255 * 16 + 1])


def test_any_address_is_a_request_by_default() -> None:
    addresses = np.random.default_rng(5).integers(0, 1 << 32, 500)
    found = Dram("GTX285").replay(addresses)
    assert found.reads == np.where(addresses % 64 < 32, 2, 1).sum()


@pytest.mark.parametrize("address", [-1, 1 << 32])
def test_no_address_outside_32_bits_is_located(address: int) -> None:
    with pytest.raises(ValueError, match="outside 32 bits"):
        Dram("GTX285").locate(address)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GTX285", "GTX480-48K"])
def test_a_million_requests(name: str) -> None:
    gpu = gpus.get(name)
    for seed, mix in enumerate(MIXES):
        check(gpu, requests(mix, 250_000, seed, gpu))
        records = requests(mix, 10_000, seed, gpu)
        expected = dram.serve(dram.Timing.of(gpu), as_defined(gpu, records), gpu.dram_window)
        assert outcomes(Dram(gpu).replay(records)) == (expected.hits, expected.misses, expected.conflicts)
