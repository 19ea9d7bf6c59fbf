"""The command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import _core, gpus
from smmux.__main__ import main
from smmux.shell.command_words import argument

KERNELS = """
from smmux import cuda

FACTOR = 3


@cuda.jit
def scale(a, out, offset):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = FACTOR * a[i] + offset
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def test_info_names_version_and_machines(capsys):
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("smmux ")
    assert all(name in printed for name in gpus.names())


def test_without_a_command_the_help_is_printed(capsys):
    assert main([]) == 0
    assert "python -m smmux run FILE.py:KERNEL" in capsys.readouterr().out


def test_the_version_is_an_option(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert (left.value.code, capsys.readouterr().out) == (0, f"smmux {smmux.__version__}\n")


def test_gpu_alone_lists_the_machines(capsys):
    assert main(["gpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*gpus.names(), *gpus.compiled_names()]
    assert main(["gpu", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == [*gpus.names(), *gpus.compiled_names()]


def test_another_card_is_no_slip_of_the_fingers(capsys):
    assert main(["gpu", "RTX4090"]) == 1
    error = capsys.readouterr().err
    assert "unknown gpu 'RTX4090'" in error
    assert "did you mean" not in error
    assert f"known: {', '.join((*gpus.names(), *gpus.compiled_names()))};" in error
    assert f"compiled code is measured on {', '.join(gpus.compiled_names())} alone" in error
    assert "gpus.get('K20c').replace(name='mine', sm_count=8)" in error


@pytest.mark.parametrize("command", ["run", "advise", "preload"])
def test_help_is_of_the_options_that_a_command_has(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    words = capsys.readouterr().out
    assert ("--check" in words) == (command == "run")
    assert ("H100" in words) == (command != "preload")


def test_functions_of_the_main_module_have_their_plain_name(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "from smmux import cuda\ndef plain(x): return x\n@cuda.jit\ndef k(a): a[0] = plain(1)\n"
        "import numpy\nk.simulate(1, 1, (numpy.zeros(1, 'f4'),))\n"
    )
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=60)
    assert ": plain is not supported in a kernel" in run.stderr


def test_a_block_that_no_machine_takes_names_the_limit_of_all(file, capsys):
    assert main(["run", f"{file}:scale", "--grid", "1", "--block", "2048", "int32[64]", "int32[64]", "1"]) == 1
    assert "no machine takes it, blocks have at most 1024 threads" in capsys.readouterr().err


def test_a_kernel_of_a_module_is_found_by_its_dotted_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["run", "smmux.shell.examples:saxpy", "--grid", "1", "--block", "32", "--json"]
    assert main([*command, "2.0", "float32[32]=ones", "float32[32]"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "saxpy"
    assert main(["run", "no.such.module:saxpy", "--grid", "1", "--block", "32"]) == 1
    assert "no.such.module" in capsys.readouterr().err


def test_gpu_prints_every_parameter_and_explains_its_sources(capsys):
    assert main(["gpu", "gtx285"]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name, *_ in _core.CONFIG)
    assert "[PG55] NVIDIA CUDA C Programming Guide" in printed


def test_counters_prints_every_definition(capsys):
    assert main(["counters"]) == 0
    printed = capsys.readouterr().out
    assert all(doc in printed for _, _, doc in [*_core.COUNTERS, *_core.PC_COUNTERS])


def test_tables_are_machine_readable(capsys):
    def printed(*words):
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert printed("info")["core"] == _core.BUILD
    assert printed("gpu", "K20c")["sm_count"] == gpus.get("K20c").sm_count
    assert [row["name"] for row in printed("counters")["per run"]] == [row[0] for row in _core.COUNTERS]


def test_the_page_of_counters_is_that_of_the_table(capsys):
    assert main(["counters", "--markdown"]) == 0
    page = (Path(smmux.__file__).parent / "COUNTERS.md").read_text()
    assert page == capsys.readouterr().out, "run: python -m smmux counters --markdown > smmux/COUNTERS.md"


def test_run_writes_the_page_of_a_notebook(file, tmp_path, capsys):
    page = tmp_path / "page.html"
    command = ["run", f"{file}:scale", "--grid", "2", "--block", "32", "int32[64]=arange", "int32[64]", "5"]
    assert main([*command, "--html", str(page)]) == 0
    assert "out[i] = FACTOR * a[i] + offset" in page.read_text()


def test_a_run_meets_its_cycle_limit(file, capsys):
    command = ["run", f"{file}:scale", "--grid", "2", "--block", "32", "int32[64]=arange", "int32[64]", "5"]
    assert main([*command, "--max-cycles", "100", "--host-threads", "2"]) == 1
    assert "cycle limit reached" in capsys.readouterr().err


def test_run_simulates_a_kernel_of_a_file(file, capsys):
    command = ["run", f"{file}:scale", "--grid", "2", "--block", "32"]
    assert main([*command, "int32[64]=arange", "int32[64]", "5", "--lines", "--listing"]) == 0
    printed = capsys.readouterr().out
    assert "<Result scale on GTX285:" in printed
    assert "scheduler time: issue" in printed
    assert "out[i] = FACTOR * a[i] + offset" in printed
    assert "ld.global" in printed


def test_run_prints_json_alone(file, capsys):
    command = ["run", f"{file}:scale", "--grid", "2", "--block", "32", "--gpu", "GTX480-48K", "--json"]
    assert main([*command, "float32[8,8]=random", "float32[64]", "0.5"]) == 1  # two indices wanted for [8, 8]
    assert capsys.readouterr().out == ""
    assert main([*command, "float32[64]=random", "float32[64]", "0.5"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["kernel"], data["gpu"], data["grid"]) == ("scale", "GTX480-48K", [2, 1, 1])
    assert data["lines"] is None
    assert main([*command, "--lines", "float32[64]=random", "float32[64]", "0.5"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    assert lines["11"]["issued"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gpu", "GTX1"], "unknown gpu 'GTX1'"),
        (["run", "nofile.py:k", "--grid", "1", "--block", "1"], "nofile.py"),
        (["run", "k", "--grid", "1", "--block", "1"], "'k' is not FILE.py:KERNEL"),
    ],
)
def test_wrong_requests_end_with_one_line_and_status_1(arguments, message, capsys):
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert message in captured.err


def test_what_fits_no_memory_is_one_line_too(file, capsys):
    command = ["run", f"{file}:scale", "--grid", "2", "--block", "32"]
    for fill in ("", "=ones", "=arange", "=2.5"):
        assert main([*command, f"int32[99999999999999]{fill}", "int32[4]", "1"]) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert "data type int32" in error
    with pytest.raises(SystemExit):
        main([*command[:3], "wide", *command[4:], "int32[64]", "int32[64]", "1"])
    assert "'wide' is none of N, X,Y and X,Y,Z" in capsys.readouterr().err


def test_a_file_that_is_no_python_is_one_line_with_its_place(tmp_path, capsys):
    """Also where the file only imports it, and where it has no lines."""
    for name, source in (("broken", "x = 1\ny = (0\n"), ("importing", "import broken\n"), ("binary", "x\0\n")):
        (tmp_path / f"{name}.py").write_text(source)
        assert main(["run", f"{tmp_path / name}.py:f", "--grid", "1", "--block", "1"]) == 1
        place = "binary.py: " if name == "binary" else "broken.py:2: "
        error = capsys.readouterr().err
        assert error.startswith(f"error: {tmp_path / place}")
        assert error.count("\n") == 1


def test_an_import_that_fails_is_one_line_with_its_place(tmp_path, capsys):
    """Also where the file only imports the one that fails, and where there is no program at all."""
    sources = {
        "missing": "x = 1\nimport no_such_module\n",
        "importing_it": "import missing\n",
        "nameless": "from smmux import nothing_of_that_name\n",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "empty").mkdir()
    for name, place, message in [
        ("missing.py", "missing.py:2: ", "No module named 'no_such_module'"),
        ("importing_it.py", "missing.py:2: ", "No module named 'no_such_module'"),
        ("nameless.py", "nameless.py:1: ", "module 'smmux' has no attribute 'nothing_of_that_name'"),
        ("empty", "empty: ", "can't find '__main__' module"),
    ]:
        assert main(["run", f"{tmp_path / name}:f", "--grid", "1", "--block", "1"]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"error: {tmp_path / place}{message}")
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\ny = undefined\n", 2, "NameError: name 'undefined' is not defined"),
        ("x = 1 // 0\n", 1, "ZeroDivisionError: "),
        ("import json\njson.loads('')\n", 2, "JSONDecodeError: "),
        ("\nopen('no such file')\n", 2, "FileNotFoundError: "),
        ("from smmux import gpus\ngpus.get('GTX1')\n", 2, "ConfigError: unknown gpu 'GTX1'"),
        ("def f():\n    raise KeyError('two\\nlines')\nf()\n", 2, "KeyError: "),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
    ],
)
def test_what_goes_wrong_in_the_file_itself_is_one_line_with_its_place(tmp_path, capsys, source, line, message):
    path = tmp_path / "wrong.py"
    path.write_text(source)
    assert main(["run", f"{path}:f", "--grid", "1", "--block", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}:{line}: {message}")
    assert error.count("\n") == 1


def test_errors_that_say_their_place_say_it_once(tmp_path, capsys):
    path = tmp_path / "generator.py"
    path.write_text("from smmux import cuda\n@cuda.jit\ndef k(a):\n    yield 1\nk.simulate(1, 1, (1,))\n")
    assert main(["run", f"{path}:k", "--grid", "1", "--block", "1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}:4:5: ")
    assert error.count(str(path)) == 1


def test_what_the_file_prints_is_not_among_results(file, capsys):
    file.write_text(f"print('loading')\n{KERNELS}")
    assert main(["run", f"{file}:scale", "--grid", "1", "--block", "32", "--json", "int32[32]", "int32[32]", "1"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["kernel"] == "scale"
    assert captured.err == "loading\n"


@pytest.mark.parametrize("jobs", ["0", "-1", "x"])
def test_jobs_of_advice_are_a_number_of_simulations(file, capsys, jobs):
    with pytest.raises(SystemExit):
        main(["advise", f"{file}:scale", "--grid", "2", "--block", "32", "--jobs", jobs])
    assert f"argument --jobs: '{jobs}' is not a number from 1 on" in capsys.readouterr().err


def test_a_wrong_kernel_name_lists_the_right_ones(file, capsys):
    assert main(["run", f"{file}:scales", "--grid", "1", "--block", "1"]) == 1
    assert "has no kernel 'scales'; it has scale" in capsys.readouterr().err


def test_device_functions_and_kernels_of_numba_are_none_that_run(tmp_path, capsys):
    path = tmp_path / "others.py"
    path.write_text(
        "from smmux import cuda\n@cuda.jit(device=True)\ndef f(x):\n    return x\nclass k: py_func = None\n"
    )
    for name, message in [("f", "it has none"), ("k", "import cuda from smmux")]:
        assert main(["run", f"{path}:{name}", "--grid", "1", "--block", "1"]) == 1
        assert message in capsys.readouterr().err


def test_modules_beside_the_file_are_found_and_bytes_given_at_launch_too(tmp_path, capsys):
    (tmp_path / "beside_the_kernel.py").write_text("N = 32\n")
    path = tmp_path / "uses.py"
    path.write_text(
        "from beside_the_kernel import N\nfrom smmux import cuda, float32\n@cuda.jit\ndef k(a):\n"
        "    t = cuda.shared.array(0, float32)\n    t[cuda.threadIdx.x] = N\n    a[0] = t[0]\n"
    )
    for word in ("--dynshared", "--dynamic-shared"):
        assert main(["run", f"{path}:k", "--grid", "1", "--block", "32", word, "128", "--json", "float32[1]"]) == 0
        assert json.loads(capsys.readouterr().out)["shared_bytes"] == 128


def test_a_reader_that_has_seen_enough_is_no_error(file):
    command = f"{sys.executable} -m smmux counters | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("per run:\n", "")


def test_errors_of_kernels_are_reported_with_their_line(file, capsys):
    assert main(["run", f"{file}:scale", "--grid", "2", "--block", "32", "int32[64]", "int32[60]", "1"]) == 1
    error = capsys.readouterr().err
    assert "array 'out'" in error
    assert "kernels.py:11" in error


def test_unknown_options_are_refused(capsys):
    for words in (["info", "more"], ["run", "f.py:k", "--grid", "1", "--block", "1", "--speed"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "unrecognized arguments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("-1.5", -1.5),
        ("float32[3]", np.zeros(3, np.float32)),
        ("uint8[2,3]=arange", np.arange(6, dtype=np.uint8).reshape(2, 3)),
        ("int32[4]=ones", np.ones(4, np.int32)),
        ("float32[2, 2]=-1.5", np.full((2, 2), -1.5, np.float32)),
        ("True", True),
        ("None", None),
        ("float64(2)", np.float64(2)),
        ("uint8( 255 )", np.uint8(255)),
        ("(1,)", (1,)),
        ("()", ()),
        ("(1, (2.5,int8(3)), None)", (1, (2.5, np.int8(3)), None)),
    ],
)
def test_arguments_from_text(text, expected):
    value = argument(text)
    assert value == expected if isinstance(expected, tuple) else np.array_equal(value, expected)
    assert type(value) is type(expected)
    assert getattr(value, "dtype", None) == getattr(expected, "dtype", None)


def test_a_tuple_may_have_arrays():
    number, array = argument("(1,int32[2,2]=arange)")
    assert (number, array.tolist()) == (1, [[0, 1], [2, 3]])


def test_arguments_from_files(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5, dtype=np.float32))
    assert argument(str(tmp_path / "a.npy")).tolist() == [0, 1, 2, 3, 4]


def test_random_arrays_are_eighths_and_the_same_every_time():
    array = argument("float32[100]=random")
    assert (array * 8 == np.round(array * 8)).all()
    assert (array == argument("float32[100]=random")).all()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("uint8[2]=300", "300 does not fit uint8 (0 to 255)"),
        ("uint8[2]=-1", "-1 does not fit uint8 (0 to 255)"),
        ("uint8[2]=1e30", "1e+30 does not fit uint8 (0 to 255)"),
        ("int8[129]=arange", "128 does not fit int8 (-128 to 127)"),
        ("int32[2]=1.5", "1.5 is no integer, as int32 holds"),
        ("int32[2]=nan", "nan is no integer, as int32 holds"),
        ("bool[2]=2", "2 does not fit bool (0 to 1)"),
        ("float32[2]=1e39", "1e+39 does not fit float32, which ends at 3.4e+38"),
        ("object[2]", "object is no data type of numbers"),
        ("float32[99999999999999999999]", "Maximum allowed dimension exceeded"),
        ("uint8(256)", "256 does not fit uint8 (0 to 255)"),
        ("float32(x)", "'x' is no number"),
        ("object(1)", "object is no data type of numbers"),
        ("missing.npy", "No such file or directory"),
    ],
)
def test_fills_that_would_become_other_values_are_refused(text, reason):
    with pytest.raises(ValueError, match=f"^{re.escape(f'argument {text!r}: {reason}')}$"):
        argument(text)


def test_fills_that_fit_are_kept():
    assert argument("int8[128]=arange").max() == 127
    assert argument("uint32[1]=4294967295").tolist() == [0xFFFFFFFF]
    assert argument("int32[1]=1e3").tolist() == [1000]
    assert np.isinf(argument("float32[1]=-inf")).all()
    assert np.isnan(argument("float32[1]=nan")).all()


@pytest.mark.parametrize("content", [b"", b"junk", b"\x93NUMPY\x01\x00v\x00{'descr'"])
def test_files_that_hold_no_array_are_named(tmp_path, content):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npy': the file is no array of numbers as numpy\.save writes them$"):
        argument(str(path))


@pytest.mark.parametrize("text", ["x", "float32[2]=nonsense", "float99[2]", "float32[]"])
def test_other_arguments_are_refused(text):
    with pytest.raises(ValueError, match=r"none of|not understood|data type"):
        argument(text)
