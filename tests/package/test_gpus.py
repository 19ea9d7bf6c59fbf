"""Machines: every parameter of the core has a value and a source on every machine; variants and choice of machine."""

import copy
import dataclasses
import json
import pickle
import re
import threading
from pathlib import Path

import pytest

from smmux import ConfigError, _core, gpus
from smmux.gpus.sources import keys


@pytest.fixture(params=gpus.names())
def gpu(request):
    return gpus.get(request.param)


def test_fields_are_the_parameters_of_the_core(gpu):
    values = {f.name: getattr(gpu, f.name) for f in dataclasses.fields(gpu)}
    assert [row[0] for row in _core.CONFIG] == [name for name in values if name in gpus.PARAMETERS]
    for number, row in zip(gpus.as_tuple(gpu), _core.CONFIG, strict=True):
        names = gpus.PARAMETERS[row[0]].names
        assert values[row[0]] == (names[number] if names else number)


def test_every_value_is_in_range_and_has_a_known_source(gpu):
    assert set(gpu.sources) == {row[0] for row in _core.CONFIG}
    for name, unit, low, high, doc in _core.CONFIG:
        value = getattr(gpu, name)
        assert value in gpus.PARAMETERS[name].names if unit in ("policy", "unit") else low <= value <= high
        assert unit
        assert doc
        assert all(key in gpus.TITLES and key != gpus.CHANGED for key in keys(gpu.sources[name])), name


@pytest.mark.checkout
def test_sources_in_comments_have_a_title():
    root = Path(__file__).parents[2]
    texts = [
        path.read_text() for path in (*(root / "smmux/gpus").glob("*.py"), *(root / "smmux/compiler").rglob("*.py"))
    ]
    texts += ["\n".join(re.findall(r"/\*.*?\*/", p.read_text(), re.DOTALL)) for p in (root / "csrc").rglob("*.[chd]*")]
    found = {
        key
        for text in texts
        for key in re.findall(r"(?<![\w\])])\[([A-Z][A-Z0-9]+(?:-[A-Z0-9]+)?)(?: [^\[\]:]*)?\]", text)
    }
    assert {"ATOM-STR", "EST", "PG55", "GMB"} <= found
    assert found <= set(gpus.TITLES)


def test_every_source_has_a_title_and_no_two_share_one():
    assert all(gpus.TITLES.values())
    assert len(set(gpus.TITLES.values())) == len(gpus.TITLES)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GTX285", {"sm_count": 30, "shader_khz": 1_476_000, "lat_alu": 24, "issue_sfu": 16, "smem_unit": 512}),
        ("GTX285-1100", {"issue_width": 2, "sched_policy": "lrr", "smem_unit": 1, "warp_gran": 1, "lat_bar": 4}),
        ("C1060", {"sm_count": 30, "shader_khz": 1_296_000, "icnt_khz": 602_000, "dram_khz": 800_000, "t_cl": 10}),
        ("GTX480-16K", {"sm_count": 15, "smem_bytes": 16384, "lat_alu": 18, "schedulers": 2, "smem_rule": 2}),
        ("GTX480-48K", {"smem_bytes": 49152, "regs_sm": 32768, "max_warps_sm": 48, "fused_mad": 1}),
        ("K20c", {"sm_count": 13, "schedulers": 4, "issue_width": 2, "lat_alu": 9, "smem_rule": 3}),
    ],
)
def test_the_values_that_name_each_machine(name, expected):
    assert {key: getattr(gpus.get(name), key) for key in expected} == expected


def test_idle_memory_latency_is_the_measured_one():
    measured = {"GTX285": 440, "GTX285-1100": 440, "C1060": 440, "GTX480-16K": 650, "GTX480-48K": 650, "K20c": 331}
    assert {n: gpus.get(n).lat_global + gpus.get(n).flat_latency for n in gpus.names()} == measured


def test_peak_bandwidth_is_bus_width_times_data_rate():
    def gb_per_s(name):
        machine = gpus.get(name)
        return machine.flat_bytes_per_kclk / 1000 * machine.shader_khz * 1e3 / 1e9

    assert gb_per_s("GTX285") == pytest.approx(512 / 8 * 2 * 1.242, rel=1e-5)
    assert gb_per_s("GTX285-1100") == pytest.approx(512 / 8 * 2 * 1.100, rel=1e-5)
    assert gb_per_s("C1060") == pytest.approx(512 / 8 * 2 * 0.800, rel=1e-5)
    assert gb_per_s("GTX480-48K") == pytest.approx(384 / 8 * 2 * 1.848, rel=1e-5)
    assert gb_per_s("K20c") == pytest.approx(320 / 8 * 2 * 2.600, rel=1e-5)


def test_a_variant_says_what_was_changed(gpu):
    variant = dataclasses.replace(gpu, credits=17)
    assert variant.credits == 17
    assert variant.sources["credits"] == gpus.CHANGED
    assert "credits=17" in repr(variant)
    assert variant != gpu
    assert gpu.replace(credits=17) == variant
    assert variant.replace(credits=gpu.credits) == gpu


def test_machines_are_values(gpu):
    assert pickle.loads(pickle.dumps(gpu)) == gpu
    assert copy.deepcopy(gpu) == gpu
    assert len({gpu, gpu.replace(), gpu.replace(credits=1)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        gpu.credits = 3


def test_a_machine_goes_through_json():
    for name in (*gpus.names(), *gpus.compiled_names()):
        machine = gpus.get(name).replace(name="mine", credits=17)
        again = gpus.Gpu(**json.loads(json.dumps(machine.to_dict())))
        assert again == machine
        assert hash(again) == hash(machine)
        assert again.to_dict() == machine.to_dict()
        for size, _ in machine.carveouts:
            assert again.with_carveout(size) == machine.with_carveout(size)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "mine", "sm_count": 4}, "needs a value for each of [0-9]+ parameters, and shader_khz has none: make"),
        (gpus.get("K20c").to_dict() | {"name": 20}, "the name of a machine must be a text, not 20"),
        (gpus.get("K20c").to_dict() | {"description": None}, "the description of a machine must be a text, not None"),
    ],
)
def test_machines_of_other_values_are_refused_in_words(given, message):
    with pytest.raises(ConfigError, match=message):
        gpus.Gpu(**given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"smem_bytes": 100}, "smem_bytes = 100 bytes is outside 1024"),
        ({"lat_alu": 0}, "lat_alu = 0 clk is outside 1"),
        ({"sm_count": 2.5}, "sm_count must be an integer, not 2.5"),
        ({"coalesce_rule": 14}, "coalesce_rule must be 10, 13, 20, 35 or 90"),
        ({"coalesce_rule": 9}, "coalesce_rule = 9 is outside 10..90 (coalescing rules of"),
        ({"smem_bank_bytes": 5}, "smem_bank_bytes must be 4 or 8"),
        ({"smem_bank_bytes": 8}, "smem_bank_bytes = 8 is a bank mode of smem_rule = 3, not of 1"),
        ({"smem_banks": 24}, "power of two"),
        ({"max_threads_sm": 256}, "max_threads_block = 512 exceeds max_threads_sm = 256"),
        ({"max_warps_sm": 16}, "max_threads_sm = 1024 exceeds 32 * max_warps_sm = 512"),
        ({"smem_reserved": 4096, "smem_bytes": 4096}, "smem_reserved = 4096 leaves nothing of smem_bytes = 4096"),
        ({"pointer_bytes": 6}, "pointer_bytes must be 4 or 8, not 6"),
        ({"tex_line": 48}, "tex_line must be a power of two, not 48"),
        ({"icache_bytes": 1000}, "icache_bytes = 1000 is no multiple of icache_ways * icache_line"),
        ({"partition_bytes": 384}, "partition_bytes must be a power of two, not 384"),
        ({"dram_groups": 32, "dram_banks": 8}, "dram_groups = 32 exceeds dram_banks = 8"),
        ({"dram_bank_mask": 0}, "dram_bank_mask has 0 bits, which do not number dram_banks"),
        ({"dram_row_mask": 0xFFFFFFFF}, "dram_bank_mask and dram_row_mask share the address bits"),
        ({"t_refi": 1}, "t_refi = 1 leaves no time for data"),
        ({"sched_policy": 1}, "sched_policy must be one of lrr, gto, two_level, oldest, gty, not 1"),
        ({"dram_policy": "frfcfs"}, "not 'frfcfs'; did you mean 'fr_fcfs'?"),
        ({"dram_page": None}, "dram_page must be one of open, closed, not None"),
        ({"shared_bytes": 1}, "no parameter 'shared_bytes'"),
        ({"smem_byte": 1}, "did you mean 'smem_bytes'"),
    ],
)
def test_wrong_values_are_refused_with_the_reason(changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        gpus.get("GTX285").replace(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"l1_bytes": 16000}, "l1_bytes = 16000 is no multiple of l1_ways * l1_line = 768"),
        ({"schedulers": 2, "max_warps_sm": 1, "max_threads_sm": 32, "max_threads_block": 32}, "schedulers = 2 exceeds"),
        ({"l2_fetch": 256}, "l2_fetch = 256 exceeds l2_line = 128"),
        ({"l2_line": 256, "partition_bytes": 128}, "l2_line = 256 exceeds partition_bytes = 128"),
        ({"l2_sector": 256}, "l2_sector = 256 must be from an eighth of l2_line = 128"),
        ({"l2_bytes": 1}, "l2_bytes = 1 leaves nothing for each of partitions * l2_slices"),
        ({"l2_bytes": 786432 + 1200}, "is no multiple of l2_ways * l2_line"),
    ],
)
def test_shapes_of_caches_that_do_not_fit_are_refused_with_the_reason(changes, message):
    fermi = gpus.get("GTX480-16K")
    with pytest.raises(ConfigError, match=re.escape(message)):
        fermi.replace(**changes)


def test_flat_memory_keeps_no_rule_of_detailed_memory():
    assert gpus.get("GTX285").replace(mem_model=0, partition_bytes=384).partition_bytes == 384


def test_names_are_found_in_any_case_and_misspelt_ones_suggest():
    assert gpus.get("gtx285-1100").name == "GTX285-1100"
    assert gpus.get(gpus.get("K20c")) is gpus.get("K20c")
    with pytest.raises(ConfigError, match="did you mean 'GTX480-48K'"):
        gpus.get("GTX480-48")
    with pytest.raises(ConfigError, match="must be a name or a Gpu, not int"):
        gpus.get(285)


def test_current_machine_is_restored_and_belongs_to_the_thread():
    assert gpus.current().name == gpus.DEFAULT
    seen = []
    with gpus.set_current("K20c") as chosen:
        assert gpus.current() is chosen
        with gpus.set_current(chosen.replace(credits=1)):
            assert gpus.current().credits == 1
        assert gpus.current().name == "K20c"
        thread = threading.Thread(target=lambda: seen.append(gpus.current().name))
        thread.start()
        thread.join()
    assert gpus.current().name == gpus.DEFAULT
    assert seen == [gpus.DEFAULT]


def test_time_follows_from_the_shader_clock():
    assert gpus.get("GTX285-1100").time_us(1476) == pytest.approx(1.0)
    assert gpus.get("GTX285").shader_mhz == 1476.0


def test_html_shows_every_parameter_with_its_source(gpu):
    page = gpu._repr_html_()
    assert page.count("<tr>") == 1 + len(_core.CONFIG)
    assert all(f"<code>{name}</code>" in page for name in gpus.PARAMETERS)
