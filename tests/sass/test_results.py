"""What a result of a Python kernel can do, that of compiled code can: counters by instruction and line, checks,
records, pictures, time lines, pickles, sweeps."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import gpus
from smmux.__main__ import main
from smmux.errors import ConfigError, OutOfBoundsError
from smmux.gpus import policies
from smmux.modules.module import CompiledKernel, Module
from smmux.results.result import Result
from smmux.sweep import Cache, sweep
from smmux.sweep.workers import Workers
from tests.sass.conftest import needed

pytestmark = pytest.mark.usefixtures("few_modules")

HEADER = "__device__ inline float twice(float x)\n{\n    return x + x;\n}\n"
SOURCE = """#include "twice.h"
__device__ float kept[32];
namespace ours {
__global__ void reverse(float *out, const float *in, int n)
{
    __shared__ float tile[128];
    int i = threadIdx.x;
    tile[i] = in[blockIdx.x * 128 + i];
    __syncthreads();
    if (i < n)
        out[blockIdx.x * 128 + i] = twice(tile[127 - i]);
}
}
extern "C" __global__ void racing(float *out)
{
    __shared__ float tile[128];
    tile[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = tile[127 - threadIdx.x];
}
extern "C" __global__ void crowded(float *out)
{
    out[0] = threadIdx.x;
}
extern "C" __global__ void beyond(int i)
{
    kept[i] = 1;
}
"""
LINES = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}
STORE = LINES["out[blockIdx.x * 128 + i] = twice(tile[127 - i]);"]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    needed("nvcc", "nvdisasm")
    folder = tmp_path_factory.mktemp("results")
    (folder / "twice.h").write_text(HEADER)
    (folder / "code.cu").write_text(SOURCE)
    return smmux.load(folder / "code.cu")


def run(module: Module, blocks: int = 4, **options: object) -> Result:
    values = np.arange(128 * blocks, dtype=np.float32)
    out = np.zeros_like(values)
    result = module["reverse"].simulate(blocks, 128, (out, values, 128), **options)  # type: ignore[arg-type]
    assert (out.reshape(-1, 128) == 2 * values.reshape(-1, 128)[:, ::-1]).all()
    return result


def test_a_result_says_what_ran_and_on_what(module: Module) -> None:
    result = run(module)
    assert result.kernel == "reverse"
    assert "H100" in repr(result)
    assert "provisional" not in repr(result)
    assert result.occupancy.limiter == result.limiter
    assert sum(result.stalls.values()) == pytest.approx(1)
    assert result.program.nregs >= module["reverse"].registers


def test_each_instruction_has_its_counters(module: Module) -> None:
    result = run(module, profile=True)
    records = result.instructions()
    assert len(records) == len(result.program)
    assert sum(record["issued"] for record in records) == result["instructions"]
    (barrier,) = (record for record in records if record["op"].startswith("BAR.SYNC"))
    assert (barrier["issued"], barrier["threads"]) == (16, 512)
    assert barrier["line"] == LINES["__syncthreads();"]
    (shared,) = (record for record in records if record["op"] == "LDS")
    assert shared["passes"] == 16
    assert not {"issued", "idle"} & run(module).instructions()[0].keys()


def test_counters_are_folded_to_the_lines_of_each_file(module: Module) -> None:
    result = run(module, profile=True)
    own, header = result.files
    assert own == result.program.filename
    assert (Path(own).name, Path(header).name) == ("code.cu", "twice.h")
    total = sum(each["issued"] for file in result.files for each in result.lines(file=file).values())
    assert total == result["instructions"]
    assert result.lines(file=header)[3]["threads"] == 512  # one addition a thread
    assert result.lines(sort="idle").keys() == result.lines().keys()
    assert result.source(STORE) == SOURCE.splitlines()[STORE - 1]
    assert result.source(3, header) == "    return x + x;"
    shares = [share for file in result.files for share in result.line_time(file).values()]
    assert 0 < sum(shares) < 1
    with pytest.raises(ConfigError, match="no lines of 'cod.cu'"):
        result.lines(file="cod.cu")


def test_a_listing_has_issue_counts(module: Module) -> None:
    result = run(module, profile=True)
    plain, counted = run(module).listing().splitlines(), result.listing().splitlines()
    assert plain == result.program.listing().splitlines()
    assert len(counted) == len(plain) + 1
    (line,) = (line for line in counted if "BAR.SYNC" in line)
    assert line.split()[0] == "16"


def test_from_a_shell(module: Module, capsys: pytest.CaptureFixture[str]) -> None:
    place = run(module).program.filename
    words = ["--grid", "2", "--block", "128", "float32[256]", "float32[256]=arange", "128"]
    assert main(["run", f"{place}:reverse", "--listing", *words]) == 0
    text = capsys.readouterr().out
    assert any("BAR.SYNC" in line and line.split()[0] == "8" for line in text.splitlines())
    assert "twice.h:" in text


def test_a_run_has_options_of_the_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed("nvcc", "nvdisasm")
    (tmp_path / "fill.cu").write_text('extern "C" __global__ void fill(int *x) { x[threadIdx.x] = NUMBER; }')
    command = ["run", f"{tmp_path / 'fill.cu'}:fill", "--grid", "1", "--block", "32", "int32[32]"]
    assert main([*command, "--option=-DNUMBER=7"]) == 0
    assert "<Result fill on H100" in capsys.readouterr().out
    assert main(command) == 1
    assert "NUMBER" in capsys.readouterr().err
    python = ["run", "smmux.shell.examples:saxpy", "--grid", "1", "--block", "32", "--option=-G"]
    assert main(python) == 1
    assert "--option is of compiled code" in capsys.readouterr().err


def test_commands_take_names_of_namespaces(module: Module, capsys: pytest.CaptureFixture[str]) -> None:
    place = run(module).program.filename
    words = ["--grid", "2", "--block", "128", "float32[256]", "float32[256]=arange", "128"]
    assert main(["run", f"{place}:ours::reverse", *words]) == 0
    assert "<Result reverse on H100" in capsys.readouterr().out
    assert main(["sass", f"{place}:ours::reverse"]) == 0
    assert "BAR.SYNC" in capsys.readouterr().out
    for command in ("advise", "preload"):
        assert main([command, f"{place}:reverse", *words]) == 1
        assert "is no kernel in Python, which this command needs" in capsys.readouterr().err


def test_data_and_pages(module: Module) -> None:
    result = run(module, profile=True)
    data = json.loads(result.to_json())
    assert data["lines"][str(STORE)]["issued"] == result.lines()[STORE]["issued"]
    assert list(data["lines_of"]) == [result.files[1]]
    page = result._repr_html_()
    assert "out[blockIdx.x * 128 + i] = twice(tile[127 - i]);" in page
    assert "lines of" in page
    assert "return x + x;" in page
    assert "lines_of" not in run(module).to_dict()


def test_a_race_names_lines_threads_and_remedy(module: Module) -> None:
    out = np.arange(128, dtype=np.float32)
    result = module["racing"].simulate(1, 128, (out,), check="races")
    race = result.races[0]
    assert set(race.lines) == {
        LINES["tile[threadIdx.x] = out[threadIdx.x];"],
        LINES["out[threadIdx.x] = tile[127 - threadIdx.x];"],
    }
    assert {race.first.action, race.second.action} == {"load", "store"}
    assert Path(race.first.filename).name == "code.cu"
    assert "tile[127 - threadIdx.x]" in race.explain()
    assert "put __syncthreads() between" in race.explain()
    assert not run(module, check="races").findings


def test_a_race_in_device_memory_names_the_argument(module: Module) -> None:
    result = module["crowded"].simulate(2, 64, (np.zeros(4, np.float32),), check="races")
    assert {(finding.array, finding.index) for finding in result.races} == {("argument 0", 0)}


def test_an_access_outside_names_argument_line_block_and_thread(module: Module) -> None:
    values = np.zeros(128, np.float32)
    with pytest.raises(OutOfBoundsError) as caught:
        module["reverse"].simulate(2, 128, (np.zeros(256, np.float32), values, 128))
    error = caught.value
    assert error.thread is not None
    first = 128 + error.thread[0]
    assert (error.array, error.element) == ("argument 1", f"flat index {first} of 128")
    assert (error.kernel, error.block, error.address) == ("reverse", (1, 0, 0), 4 * first)
    assert error.line == LINES["tile[i] = in[blockIdx.x * 128 + i];"]
    assert error.filename == run(module).program.filename
    with pytest.raises(OutOfBoundsError, match="'kept', flat index 1000 of 32"):
        module["beyond"].simulate(1, 1, (1000,))


def test_accesses_are_recorded(module: Module) -> None:
    result = run(module, blocks=1, accesses=1000)
    stores = [r for r in result.accesses if result.program.instructions[r["pc"]].opcode == "STG"]
    assert len(stores) == 4
    lanes = stores[0]["address"].astype(np.int64)
    assert (np.diff(lanes) == 4).all()
    picture = smmux.models.coalesce(lanes, gpu="H100")
    assert (len(picture), picture.efficiency) == (1, 1.0)  # a line, all its sectors
    shared = [r for r in result.accesses if result.program.instructions[r["pc"]].opcode == "LDS"]
    assert smmux.models.bank_passes(shared[0]["address"], gpu="H100").conflicts == 0


def test_time_lines(module: Module, tmp_path: Path) -> None:
    result = run(module, trace=True)
    assert result.trace is not None
    assert len(result.trace.blocks()) == 4
    assert len(result.trace.waits()) == 16
    result.trace.to_perfetto(tmp_path / "run.json")
    assert "reverse" in (tmp_path / "run.json").read_text()


def test_schedulers(module: Module) -> None:
    names = [policy.name for policy in policies.of("scheduler")]
    card = gpus.get("H100")
    cycles = [run(module, gpu=card.replace(sched_policy=name), blocks=300).cycles for name in names]
    assert len(cycles) > 2
    assert min(cycles) > 0


def test_results_can_be_pickled_and_compared(module: Module) -> None:
    result = run(module, profile=True, trace=True)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.to_dict() == result.to_dict()
    assert copy.listing() == result.listing()
    longer = run(module, blocks=400)
    assert longer.compare(result).speedup < 1
    assert "instructions" in str(longer.compare(result))


def test_texts_have_their_lines() -> None:
    needed("nvcc", "nvdisasm")
    text = 'extern "C" __global__ void racing(int *p)\n{\n    *p = threadIdx.x;\n}\n'
    result = smmux.load(text)["racing"].simulate(1, 64, (np.zeros(1, np.int32),), check="races", profile=True)
    assert "*p = threadIdx.x;" in result.races[0].explain()
    assert "cuda." not in result.races[0].explain()
    assert result.source(3) == "    *p = threadIdx.x;"
    assert "*p = threadIdx.x;" in result._repr_html_()


def ran(kernel: CompiledKernel, factor: float) -> dict[str, Any]:
    values = np.ones(64, np.float32)
    return {"cycles": kernel.simulate(1, 64, (values, factor)).cycles, "value": float(values[0])}


@pytest.mark.long
def test_modules_and_kernels_go_to_other_processes() -> None:
    """With the types of their parameters, names and sources."""
    needed("nvcc", "nvdisasm")
    text = 'extern "C" __global__ void scaled(float *x, float by) { x[threadIdx.x] *= by; }'
    module = smmux.load(text)
    again = pickle.loads(pickle.dumps(module))
    assert repr(again) == repr(module)
    assert again["scaled"].listing() == module["scaled"].listing()
    assert again["scaled"].fingerprint() == module["scaled"].fingerprint()
    with Workers(1) as workers:
        (record,) = sweep(ran, [{"kernel": module["scaled"], "factor": 3}], executor=workers)
    assert record["value"] == 3
    assert record["cycles"] == ran(module["scaled"], 3)["cycles"]


@pytest.mark.long
def test_a_sweep_knows_that_a_file_has_changed(tmp_path: Path) -> None:
    needed("nvcc", "nvdisasm")
    place, header = tmp_path / "fill.cu", tmp_path / "value.h"
    place.write_text('#include "value.h"\nextern "C" __global__ void fill(int *p)\n{\n    *p = VALUE;\n}\n')

    def point(path: str) -> dict[str, int]:
        found = np.zeros(1, np.int32)
        smmux.load(path)["fill"].simulate(1, 1, (found,))
        return {"value": int(found[0])}

    def value() -> tuple[int, int]:
        cache = Cache(tmp_path / "records.db")
        (record,) = sweep(point, [{"path": str(place)}], cache=cache, jobs=1)
        return record["value"], cache.found

    for wanted in (7, 8):
        header.write_text(f"#define VALUE {wanted}\n")
        assert value() == (wanted, 0)
        assert value() == (wanted, 1)


def test_a_sweep_knows_kernels_by_their_code(module: Module, tmp_path: Path) -> None:
    def cycles(kernel: object, n: int) -> dict[str, int]:
        out = np.zeros(128, np.float32)
        return {"cycles": kernel.simulate(1, 128, (out, out.copy(), n)).cycles}  # type: ignore[attr-defined]

    points = [{"kernel": module["reverse"], "n": n} for n in (32, 128)]
    first = sweep(cycles, points, cache=Cache(tmp_path / "records.db"), jobs=1)
    cache = Cache(tmp_path / "records.db")
    assert [r["cycles"] for r in sweep(cycles, points, cache=cache, jobs=1)] == [r["cycles"] for r in first]
    assert cache.found == 2
