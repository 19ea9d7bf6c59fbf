"""The command line of smmux.

    python -m smmux info                    version, build and machines
    python -m smmux gpu GTX285              parameters of a machine, each with its source
    python -m smmux counters                every counter with unit and definition
    python -m smmux policies                the rules that a machine or a launch chooses by name
    python -m smmux run FILE.py:KERNEL --grid 4 --block 32,2 ARGUMENT ...
    python -m smmux advise FILE.py:KERNEL --grid 4 --block 32,2 --gpu GTX480-16K ARGUMENT ...

An argument of `run` and `advise` is a number, True, False, None, `dtype[shape]` (zeros), `dtype[shape]=FILL` with ones,
arange, random or a number for FILL, or a file NAME.npy:

    python -m smmux run kernels.py:saxpy --grid 8 --block 128 2.0 float32[1024]=arange float32[1024]

With `--check` the exit status of `run` is 1 if the check finds an error.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import math
import os
import platform
import re
import runpy
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smmux
from smmux import _core, gpus, policies
from smmux.advice import Advice
from smmux.kernel import Kernel
from smmux.launch_options import OPTIONS
from smmux.report import counters_page
from smmux.result import Result, counter_info, line_counters
from smmux.sweep import count_of_jobs

__all__ = ["argument", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0 unless something is wrong with the request or the kernel."""
    parser = argparse.ArgumentParser(
        prog="python -m smmux", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_tables(commands)
    _add_run(commands.add_parser("run", help="simulate a kernel of a file"))
    _add_advise(commands.add_parser("advise", help="would multiplexing shared memory pay for a kernel, and how"))
    # argparse lets the kernel's arguments follow options only as words that it does not know.
    options, words = parser.parse_known_args(argv)
    if unknown := [word for word in words if "arguments" not in options or word.startswith("--")]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.arguments = words
    try:
        options.status = 0
        options.action(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (smmux.Error, OSError, ValueError, MemoryError) as error:
        sys.stdout.flush()
        print(f"error: {str(error) or 'out of memory'}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return int(options.status)


def _add_tables(commands: Any) -> None:
    """The commands that print what is known without a kernel."""
    info = commands.add_parser("info", help="version, build and machines")
    info.set_defaults(action=_info)
    gpu = commands.add_parser("gpu", help="parameters of a machine, each with its source")
    gpu.add_argument("name")
    gpu.set_defaults(action=_gpu)
    counters = commands.add_parser("counters", help="every counter with unit and definition")
    counters.add_argument("--markdown", action="store_true", help="as the page smmux/COUNTERS.md")
    counters.set_defaults(action=_counters)
    listed = commands.add_parser("policies", help="the rules that a machine or a launch chooses by name")
    listed.set_defaults(action=_policies)
    for parser in (info, gpu, counters, listed):
        parser.add_argument("--json", action="store_true", help="print JSON")


def _add_option(parser: argparse.ArgumentParser, name: str) -> None:
    """An option of a run, as the list of options has it."""
    option = OPTIONS[name]
    default = " (default: %(default)s)" * (option.default is not None)
    parser.add_argument(
        f"--{name.replace('_', '-')}", type=option.text or str, default=option.default, help=option.meaning + default
    )


def _add_launch(parser: argparse.ArgumentParser, name: str, schedule: str, options: Iterable[str]) -> None:
    """Options of the commands that launch a kernel of a file; options: those of a run that the command has."""
    parser.usage = f"python -m smmux {name} FILE.py:KERNEL --grid DIMS --block DIMS [options] [ARGUMENT ...]"
    parser.set_defaults(arguments=[])
    parser.epilog = __doc__[__doc__.index("An argument of") :]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("--grid", required=True, type=_dims, help="blocks: N or X,Y or X,Y,Z")
    parser.add_argument("--block", required=True, type=_dims, help="threads per block: N or X,Y or X,Y,Z")
    parser.add_argument(
        "--dynshared", type=int, default=0, metavar="BYTES", help="of shared memory for arrays of shape 0"
    )
    parser.add_argument("--gpu", default=gpus.DEFAULT, help=f"one of {', '.join(gpus.names())} (default: %(default)s)")
    parser.add_argument("--schedule", default=schedule, help="of the compiler: source or list (default: %(default)s)")
    for option in options:
        _add_option(parser, option)
    parser.add_argument("--json", action="store_true", help="print the result as JSON alone")


def _add_advise(advise: argparse.ArgumentParser) -> None:
    _add_launch(advise, "advise", "list", ["max_cycles"])
    advise.add_argument(
        "--private",
        type=_private,
        metavar="ARRAY=N",
        help="rows 0..N-1 of a shared array are private, the others public: tries CO-VTB and CO-HW too",
    )
    advise.add_argument(
        "--source", type=Path, metavar="FILE.py", help="write the best kernel there, if one gains (default: print it)"
    )
    advise.add_argument(
        "--jobs", type=count_of_jobs, metavar="N", help="simulations at a time (default: one per processor)"
    )
    advise.set_defaults(action=_advise)


def _options_of_run() -> list[str]:
    """The options of a run that a word of the command line can give."""
    return [name for name, option in OPTIONS.items() if option.text is not None]


def _add_run(run: argparse.ArgumentParser) -> None:
    _add_launch(run, "run", "source", _options_of_run())
    run.add_argument(
        "--html", type=Path, metavar="PAGE.html", help="write the result there as a notebook would show it"
    )
    run.add_argument("--lines", action="store_true", help="counters per source line")
    run.add_argument("--listing", action="store_true", help="print the compiled program first")
    run.set_defaults(action=_run)


def _info(options: argparse.Namespace) -> None:
    facts = {
        "smmux": smmux.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "core": _core.BUILD,
        "operations": len(_core.OPS),
        "machine parameters": len(_core.CONFIG),
        "counters": len(_core.COUNTERS),
    }
    machines = {name: gpus.get(name).description for name in gpus.names()}
    if options.json:
        print(json.dumps(facts | {"machines": machines}, indent=2))
        return
    for name, fact in facts.items():
        print(f"{name} {fact}")
    for name, description in machines.items():
        print(f"  {name:12} {description}")


def _gpu(options: argparse.Namespace) -> None:
    machine = gpus.get(options.name)
    if options.json:
        print(json.dumps(machine.to_dict() | {"sources": dict(machine.sources)}, indent=2))
        return
    print(f"{machine.name}: {machine.description}")
    for parameter in gpus.PARAMETERS.values():
        value, source = getattr(machine, parameter.name), machine.sources[parameter.name]
        print(f"  {parameter.name:20}{value:>10} {parameter.unit:22} [{source}] {parameter.doc}")
    used = {key for source in machine.sources.values() for key in gpus.keys(source)}
    for key, title in gpus.TITLES.items():
        if key in used:
            print(f"[{key}] {title}")


def _counters(options: argparse.Namespace) -> None:
    tables = {"per run": counter_info(), "per instruction and line": line_counters()}
    if options.json:
        rows = {title: [dataclasses.asdict(info) for info in table.values()] for title, table in tables.items()}
        print(json.dumps(rows, indent=2))
        return
    if options.markdown:
        print(counters_page(), end="")
        return
    for title, table in tables.items():
        print(f"{title}:")
        for info in table.values():
            print(f"  {info.name:24} {info.unit:20} {info.doc}")


def _policies(options: argparse.Namespace) -> None:
    """Print the policies by kind, each kind with the option that chooses among them."""
    if options.json:
        kinds = [dataclasses.asdict(kind) for kind in policies.KINDS.values()]
        print(
            json.dumps({"kinds": kinds, "policies": [dataclasses.asdict(row) for row in policies.POLICIES]}, indent=2)
        )
        return
    for kind in policies.KINDS.values():
        print(f"{kind.name}: {kind.doc} ({kind.chosen})")
        for policy in policies.of(kind.name):
            print(f"  {policy.name:14} {policy.doc}")


def _run(options: argparse.Namespace) -> None:
    kernel = _load(options.kernel)
    result = kernel.simulate(
        options.grid,
        options.block,
        tuple(argument(text) for text in options.arguments),
        gpu=options.gpu,
        schedule=options.schedule,
        dynshared=options.dynshared,
        profile=options.lines or options.html is not None,
        **{name: getattr(options, name) for name in _options_of_run()},
    )
    options.status = int(bool(result.findings and result.findings.errors))
    if options.html:
        options.html.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{result._repr_html_()}", encoding="utf-8")
    if options.json:
        print(result.to_json(indent=2))
        return
    if options.listing:
        print(result.program.listing())
    print(result)
    _print_result(result)


def _advise(options: argparse.Namespace) -> None:
    if options.source:
        _check_place(options.source)
    advice = smmux.advise(
        _load(options.kernel),
        options.grid,
        options.block,
        tuple(argument(text) for text in options.arguments),
        gpu=options.gpu,
        schedule=options.schedule,
        dynshared=options.dynshared,
        divided=options.private,
        max_cycles=options.max_cycles,
        jobs=options.jobs,
    )
    if options.source and advice.best:
        options.source.write_text(_commented(advice), encoding="utf-8")
    elif options.source:
        print(f"{options.source} is not written: no scheme gains 2 %", file=sys.stderr)
    if options.json:
        print(advice.to_json(indent=2))
        return
    print(advice)
    if advice.best and not options.source:
        print(f"\n{_commented(advice)}")


def _check_place(path: Path) -> None:
    """Refuse a file that cannot be written before the simulations rather than behind them."""
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: {'is a' if path.is_dir() else 'has no'} directory")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{path} cannot be written: permission denied")


def _commented(advice: Advice) -> str:
    """The source of the best kernel, under how to launch it."""
    return "".join(f"# {line}\n" for line in (repr(advice)[1:-1], *advice.conclusion()[:1])) + advice.source


def _private(text: str) -> dict[str, Any]:
    """`ARRAY=N` as arguments of the collaborative passes."""
    array, _, rows = text.partition("=")
    if not array or not rows.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not ARRAY=N")
    return {"array": array, "private": int(rows)}


def _print_result(result: Result) -> None:
    print(f"blocks resident on an SM on average: {result.achieved_residency:.2f}")
    print(
        "scheduler time: " + ", ".join(f"{name} {100 * share:.1f} %" for name, share in result.stalls.items() if share)
    )
    for name, value in result.items():
        if value:
            print(f"  {name:24}{value:>16} {counter_info()[name].unit}")
    if result.findings is not None:
        print(f"check {result.check}:")
        print("\n".join(f"  {line}" for line in str(result.findings).splitlines()))
    lines = result.lines()
    if lines:
        print("  line" + "".join(f"{name:>14}" for name in line_counters()) + "  source")
    for line, values in lines.items():
        print(f"{line:6}" + "".join(f"{value:>14}" for value in values.values()) + "  " + result.source(line).strip())


def _dims(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of N, X,Y and X,Y,Z") from None


def _load(place: str) -> Any:
    """The kernel of `FILE.py:KERNEL`."""
    path, _, name = place.rpartition(":")
    if not path:
        raise ValueError(f"{place!r} is not FILE.py:KERNEL")
    folder = Path(path).resolve().parent
    sys.path.insert(0, str(folder))  # as `python FILE.py` does
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
            names = runpy.run_path(path)
    except SyntaxError as error:  # of the file, or of one that it imports
        if isinstance(error, smmux.Error):
            raise
        place = ":".join(str(part) for part in (error.filename or path, error.lineno) if part is not None)
        raise ValueError(f"{place}: {error.msg}") from None
    except ImportError as error:
        raise ValueError(f"{_innermost(error) or path}: {error}") from None
    except (Exception, SystemExit) as error:
        place = _innermost(error, folder) or _innermost(error)
        if not place or getattr(error, "filename", None) and isinstance(error, smmux.Error):
            raise  # the file cannot be read, or the message says where
        message = " ".join(str(error).split())
        raise ValueError(": ".join(filter(None, (place, type(error).__name__, message)))) from None
    kernels = {key: value for key, value in names.items() if isinstance(value, Kernel) and not value.device}
    if name not in kernels:
        numba = "; it is one of Numba's: import cuda from smmux" if hasattr(names.get(name), "py_func") else ""
        raise ValueError(f"{path} has no kernel {name!r}; it has {', '.join(kernels) or 'none'}{numba}")
    return kernels[name]


def _innermost(error: BaseException, folder: Path | None = None) -> str:
    """FILE:LINE where an error came up in a kernel's file or in one that it imports, of a folder if one is given; empty
    if none is at fault."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    places = [
        f"{f.filename}:{f.lineno}"
        for f in frames
        if f.filename != __file__ and (folder is None or Path(f.filename).resolve().parent == folder)
    ]
    return places[-1] if places else ""


_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>\d+(, ?\d+)*)\](=(?P<fill>.+))?")
_WORDS = {"True": True, "False": False, "None": None}


def argument(text: str) -> Any:
    """A kernel argument from its text on the command line.

    >>> argument("7"), argument("0.5"), argument("int32[2,2]=arange").tolist(), argument("float32[2]=-1.5").tolist()
    (7, 0.5, [[0, 1], [2, 3]], [-1.5, -1.5])
    """
    if text in _WORDS:
        return _WORDS[text]
    try:
        if text.endswith(".npy"):
            return _stored(text)
        if match := _ARRAY.fullmatch(text):
            return _array(match["dtype"], tuple(int(n) for n in match["shape"].split(",")), match["fill"] or "zeros")
    except (ValueError, TypeError, MemoryError) as error:
        raise ValueError(f"argument {text!r}: {error}") from None
    except OSError as error:
        raise ValueError(f"argument {text!r}: {error.strerror or error}") from None
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise ValueError(
        f"argument {text!r} is none of a number, True, False, None, dtype[shape], dtype[shape]=FILL and NAME.npy"
    )


def _stored(path: str) -> NDArray[Any]:
    """The array of a file."""
    try:
        array = np.load(path)
    except (ValueError, EOFError):  # NumPy's advice is to run what the file says
        array = None
    if not isinstance(array, np.ndarray):
        raise ValueError("the file is no array of numbers as numpy.save writes them")
    return array


def _array(dtype: str, shape: tuple[int, ...], fill: str) -> NDArray[Any]:
    array = np.zeros(math.prod(shape), dtype)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{dtype} is no data type of numbers")
    if fill == "random":
        array[:] = np.random.default_rng(0).integers(0, 128, array.size) / (8 if dtype.startswith("float") else 1)
    elif fill == "arange":
        _fitting(max(array.size - 1, 0), array.dtype)
        array[:] = np.arange(array.size)
    elif fill != "zeros":
        array[:] = _fitting(_number(fill), array.dtype)
    return array.reshape(shape)


def _number(fill: str) -> int | float:
    if fill == "ones":
        return 1
    for convert in (int, float):
        try:
            return convert(fill)
        except ValueError:
            continue
    raise ValueError(f"{fill!r} is none of zeros, ones, arange, random and a number")


def _fitting(value: int | float, dtype: np.dtype[Any]) -> int | float:
    """A number as elements of a type hold it; ValueError where they would hold another, but for a float's rounding."""
    if dtype.kind in "fc":
        largest = float(np.finfo(dtype).max)
        if largest < abs(value) < math.inf:
            raise ValueError(f"{value} does not fit {dtype}, which ends at {largest:.3g}")
        return value
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{value} is no integer, as {dtype} holds")
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not low <= value <= high:
        raise ValueError(f"{value} does not fit {dtype} ({low} to {high})")
    return int(value)


if __name__ == "__main__":
    sys.exit(main())
