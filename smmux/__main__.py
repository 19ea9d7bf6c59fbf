"""The command line of smmux.

    python -m smmux info                    version, build and machines
    python -m smmux gpu                     the machines
    python -m smmux gpu GTX285              parameters of a machine, each with its source
    python -m smmux counters                every counter with unit and definition
    python -m smmux policies                the rules that a machine or a launch chooses by name
    python -m smmux run FILE.py:KERNEL --grid 4 --block 32,2 ARGUMENT ...
    python -m smmux run FILE.cu:KERNEL --grid 4 --block 32,2 ARGUMENT ...     (also of PTX and compiled files)
    python -m smmux advise FILE.py:KERNEL --grid 4 --block 32,2 --gpu GTX480-16K ARGUMENT ...
    python -m smmux preload FILE.py:KERNEL --grid 4 --block 32,2 ARGUMENT ...
    python -m smmux sass FILE.cu:KERNEL --arch sm_90   instructions of compiled GPU code

A kernel is of a file, or of a module: `smmux.shell.examples:saxpy` comes with smmux.

An argument of `run`, `advise` and `preload` is a number, True, False, None, `dtype(number)`, `dtype[shape]` (zeros),
`dtype[shape]=FILL` with ones, arange, random or a number for FILL, a file NAME.npy, or a tuple of such, as
'(1, float64(0.5), float32[64])', which is a structure of compiled code:

    python -m smmux run smmux.shell.examples:saxpy --grid 8 --block 128 2.0 float32[1024]=arange float32[1024]

With `--check` the exit status of `run` is 1 if the check finds an error.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import smmux
from smmux import _core, gpus
from smmux.advice import Advice
from smmux.base import interrupt
from smmux.base.jobs import count_of_jobs
from smmux.base.whole_files import write_text
from smmux.gpus import policies
from smmux.kernels.kernel import Kernel
from smmux.results.result import Result, counter_info, line_counters
from smmux.results.result_pages import counters_page
from smmux.running.launch_options import OPTIONS
from smmux.shell.command_words import argument, dimensions, kernel_of, private
from smmux.shell.compiled_words import OF_A_COMPILER, compiled_kernel, is_compiled
from smmux.shell.sass import add_sass

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status is 0 unless something is wrong with the request or the kernel."""
    parser = argparse.ArgumentParser(
        prog="python -m smmux", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"smmux {smmux.__version__}")
    parser.set_defaults(action=lambda _options: parser.print_help())
    commands = parser.add_subparsers(metavar="COMMAND")
    _add_tables(commands)
    _add_run(commands.add_parser("run", help="simulate a kernel of a file"))
    _add_advise(
        commands.add_parser(
            "advise", help="say what a kernel's accesses waste, and try whether multiplexing shared memory pays for it"
        )
    )
    _add_preload(commands.add_parser("preload", help="tell which loads of a kernel are known before its launch"))
    add_sass(commands.add_parser("sass", help="list the instructions of a kernel of compiled GPU code"))
    # argparse lets the kernel's arguments follow options only as words that it does not know.
    options, words = parser.parse_known_args(argv)
    if unknown := [word for word in words if "arguments" not in options or word.startswith("--")]:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.arguments = words
    try:
        interrupt.end_of_start()
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
    gpu = commands.add_parser("gpu", help="the machines, or the parameters of one, each with its source")
    gpu.add_argument("name", nargs="?", help="of a machine (default: list all)")
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
    meaning = option.meaning.replace("%", "%%") + " (default: %(default)s)" * (option.default is not None)
    parser.add_argument(f"--{name.replace('_', '-')}", type=option.text or str, default=option.default, help=meaning)


def _add_kernel(parser: argparse.ArgumentParser, name: str) -> None:
    """The words of the commands that have a launch of a kernel of a file."""
    parser.usage = f"python -m smmux {name} FILE.py:KERNEL --grid DIMS --block DIMS [options] [ARGUMENT ...]"
    parser.set_defaults(arguments=[])
    told = __doc__[__doc__.index("An argument of") :]
    parser.epilog = told if name == "run" else told[: told.index("With `--check`")]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kernel", metavar="FILE.py:KERNEL")
    parser.add_argument("--grid", required=True, type=dimensions, help="blocks: N or X,Y or X,Y,Z")
    parser.add_argument("--block", required=True, type=dimensions, help="threads per block: N or X,Y or X,Y,Z")
    parser.add_argument(
        "--dynshared",
        "--dynamic-shared",
        type=int,
        default=0,
        metavar="BYTES",
        help="bytes of shared memory for arrays of shape 0",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON alone")


def _add_launch(parser: argparse.ArgumentParser, name: str, options: Iterable[str]) -> None:
    """Options of the commands that launch a kernel of a file; options: those of a run that the command has."""
    _add_kernel(parser, name)
    default = f"{gpus.DEFAULT}; of compiled code {gpus.COMPILED}"
    machines = ", ".join((*gpus.names(), *gpus.compiled_names()))
    parser.add_argument("--gpu", help=f"one of {machines} (default: {default})")
    parser.add_argument("--schedule", help="order of instructions: source or list (default: the machine's own)")
    parser.add_argument(
        "--max-registers", type=int, metavar="N", help="most registers of a thread (default: what the kernel needs)"
    )
    for option in options:
        _add_option(parser, option)


def _add_preload(preload: argparse.ArgumentParser) -> None:
    _add_kernel(preload, "preload")
    preload.add_argument("--tile", action="store_true", help="print the kernel with what it reads in shared memory")
    preload.set_defaults(action=_preload)


def _add_advise(advise: argparse.ArgumentParser) -> None:
    _add_launch(advise, "advise", ["carveout", "max_cycles"])
    advise.add_argument(
        "--private",
        type=private,
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
    _add_launch(run, "run", _options_of_run())
    run.add_argument(
        "--min-blocks", type=int, metavar="N", help="blocks for which an SM is to have registers, by fewer of a thread"
    )
    run.add_argument(
        "--html", type=Path, metavar="PAGE.html", help="write the result there as a notebook would show it"
    )
    run.add_argument(
        "--trace", type=Path, metavar="RUN.json", help="write the time line of the run there, for ui.perfetto.dev"
    )
    run.add_argument("--arch", help="of CUDA C++ and PTX: the architecture to compile for (default: sm_90)")
    run.add_argument(
        "--option", action="append", default=[], metavar="TEXT",
        help="of CUDA C++ and PTX: an option of nvcc or ptxas, as --option=-DROWS=8",
    )  # fmt: skip
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
    machines = _machines()
    if options.json:
        print(json.dumps(facts | {"machines": machines}, indent=2))
        return
    for name, fact in facts.items():
        print(f"{name} {fact}")
    _print_machines(machines)


def _machines() -> dict[str, str]:
    """Every machine that a launch can name, with what it is."""
    return {name: gpus.get(name).description for name in (*gpus.names(), *gpus.compiled_names())}


def _print_machines(machines: dict[str, str]) -> None:
    width = max(map(len, machines))
    for name, description in machines.items():
        print(f"  {name:{width}} {description}")


def _gpu(options: argparse.Namespace) -> None:
    if options.name is None:
        print(json.dumps(_machines(), indent=2)) if options.json else _print_machines(_machines())
        return
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
    for path in filter(None, (options.trace, options.html)):
        _check_place(path)
    arguments = tuple(argument(text) for text in options.arguments)
    compiled = is_compiled(options.kernel)
    kernel, own = (compiled_kernel if compiled else _python_kernel)(options)
    try:
        result = kernel.simulate(
            options.grid,
            options.block,
            arguments,
            profile=options.lines or options.html is not None or (options.listing and compiled),
            trace=options.trace is not None,
            **own,
            **{name: getattr(options, name) for name in _options_of_run()},
        )
    except smmux.KernelError as error:
        _show(error.printed, options)
        raise
    _show(result.printed, options)
    if options.trace and result.trace is not None:
        result.trace.to_perfetto(options.trace)
    options.status = int(bool(result.findings and result.findings.errors))
    if options.html:
        result.save(options.html)
    if options.json:
        print(result.to_json(indent=2))
        return
    if options.listing:
        print(result.listing())
    print(result)
    _print_result(result)


def _python_kernel(options: argparse.Namespace) -> tuple[Kernel, dict[str, Any]]:
    """A kernel of a Python file, with the options of a run that only such kernels have."""
    for name in ("arch", "option"):
        if getattr(options, name):
            raise ValueError(f"--{name} is of compiled code; {options.kernel!r} is Python")
    own = {name: getattr(options, name) for name in (*OF_A_COMPILER, "dynshared")}
    return kernel_of(options.kernel), {"gpu": options.gpu or gpus.DEFAULT, **own}


def _in_python(place: str) -> Kernel:
    """The kernel of a command that takes Python alone."""
    if is_compiled(place):
        raise ValueError(f"{place!r} is no kernel in Python, which this command needs; `run` takes compiled code, too")
    return kernel_of(place)  # type: ignore[no-any-return]


def _show(printed: str, options: argparse.Namespace) -> None:
    """Write what a kernel has printed, in lines of its own; beside JSON to stderr."""
    if printed:
        print(printed.removesuffix("\n"), file=sys.stderr if options.json else sys.stdout)


def _advise(options: argparse.Namespace) -> None:
    if options.source:
        _check_place(options.source)
    advice = smmux.advise(
        _in_python(options.kernel),
        options.grid,
        options.block,
        tuple(argument(text) for text in options.arguments),
        gpu=options.gpu or gpus.DEFAULT,
        schedule=options.schedule,
        max_registers=options.max_registers,
        dynshared=options.dynshared,
        divided=options.private,
        carveout=options.carveout,
        max_cycles=options.max_cycles,
        jobs=options.jobs,
    )
    if options.source and advice.best:
        write_text(options.source, _commented(advice))
    elif options.source:
        print(f"{options.source} is not written: no scheme gains 2 %", file=sys.stderr)
    if options.json:
        print(advice.to_json(indent=2))
        return
    print(advice)
    if advice.best and not options.source:
        print(f"\n{_commented(advice)}")


def _preload(options: argparse.Namespace) -> None:
    kernel, arguments = _in_python(options.kernel), tuple(argument(text) for text in options.arguments)
    launch = kernel, options.grid, options.block, arguments
    if options.tile:
        source = smmux.preload.tile(*launch, dynshared=options.dynshared).source
        print(json.dumps({"source": source}, indent=2) if options.json else source, end="")
        return
    found = smmux.preload.analyze(*launch, dynshared=options.dynshared)
    print(found.to_json(indent=2) if options.json else found)


def _check_place(path: Path) -> None:
    """Refuse a file that cannot be written before the simulations rather than behind them."""
    if path.is_dir() or not path.parent.is_dir():
        reason = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise ValueError(f"{path} cannot be written: {reason}")
    beside = not path.exists() or path.is_file()  # a device is written to directly
    if not os.access(path if path.exists() else path.parent, os.W_OK) or (
        beside and not os.access(path.parent, os.W_OK)
    ):
        raise ValueError(f"{path} cannot be written: permission denied")


def _commented(advice: Advice) -> str:
    """The source of the best kernel, under how to launch it."""
    return "".join(f"# {line}\n" for line in (repr(advice)[1:-1], *advice.conclusion()[:1])) + advice.source


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
    for file in result.files if result.profile is not None else ():
        print("  line" + "".join(f"{name:>14}" for name in line_counters()) + "  source")
        if file != result.program.filename:
            print(f"{file}:")
        for line, values in result.lines(file=file).items():
            numbers = "".join(f"{value:>14}" for value in values.values())
            print(f"{line:6}{numbers}  {result.source(line, file).strip()}")


if __name__ == "__main__":
    sys.exit(main())
