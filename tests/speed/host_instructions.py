"""Host instructions that the core spends on one simulated warp instruction, counted by callgrind: a guard of speed that
does not depend on how busy the computer is. Thirteen short launches, less than a minute:

    python -m tests.speed.host_instructions             compare with host_instructions.json, to within 5 %
    python -m tests.speed.host_instructions --update    write the figures of this compiler there

The count depends on the compiler: figures are kept by compiler and major version, and where there are none for the one
at hand the counts are only printed. It does not depend on the processor: the core is built for x86-64-v3 alone, without
the clones of the hot loops for other vectors; valgrind knows AVX2, and no AVX-512. Fewer instructions than the figure
are told too, so that it stays close.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.speed.record import record, record_compiled

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "csrc"
FIGURES = HERE / "host_instructions.json"
TOLERANCE = 0.05

LAUNCHES = (
    ("MV", {"width": 1024, "height": 512}, "GTX285-1100"),
    ("STO", {"windows": 2048}, "GTX285-1100"),
    ("MM", {"height": 64, "inner": 64, "width": 64}, "GTX285-1100"),
    ("RD", {"elements": 131072, "blocks": 15}, "GTX285-1100"),
    ("FFT", {"batch": 32}, "GTX480-16K"),
    ("MM", {"height": 64, "inner": 64, "width": 64}, "GTX480-16K"),
    ("FFT", {"batch": 32}, "GTX285-1100"),
    ("MC", {"n": 32}, "GTX285-1100"),
    ("TP", {"width": 512}, "GTX285-1100"),
    ("SP", {"vectors": 256, "elements": 4096, "blocks": 256}, "GTX480-48K"),
)
"""Benchmark, size and machine: shared, arithmetic, global memory; both memory systems and kinds of shared banks;
divergent accesses, and warps that wait for room in the memory system."""

COMPILED = (
    ("particles.bodies", "small", "H100"),
    ("dense.gemm_registers", "small", "H100"),
    ("vectors.axpy", "middle", "H100"),
)
"""Kernel of `experiments.suites`, size and machine: arithmetic, shared memory, and a stream."""

FLAGS = "-std=c11 -O3 -march=x86-64-v3 -DNDEBUG -DSMMUX_NO_CLONES -ffp-contract=off -fno-math-errno -w"
"""Those of setup.py, but for the one instruction set."""


def compiler() -> list[str]:
    """The command of the compiler."""
    return shlex.split(os.environ.get("CC", "cc"))


def compiler_name() -> str:
    """Compiler and major version, as in `gcc-12`: the key of the figures."""
    macros = subprocess.run(
        [*compiler(), "-dM", "-E", "-x", "c", os.devnull], check=True, capture_output=True, text=True
    ).stdout
    values = dict(re.findall(r"#define (__clang_major__|__GNUC__) (\d+)", macros))
    clang = values.get("__clang_major__")
    return f"clang-{clang}" if clang else f"gcc-{values['__GNUC__']}"


def processor_flags() -> set[str]:
    """What the processor can do, as Linux names it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    return {flag for line in lines if line.startswith("flags") for flag in line.split()}


def build(program: Path) -> None:
    """The core and replay.c as a program, without Python."""
    sources = [path for path in sorted(CORE.rglob("*.c")) if path.parent.name != "python"]
    command = [*compiler(), *FLAGS.split(), "-pthread", f"-I{CORE}", *map(str, sources), str(HERE / "replay.c")]
    subprocess.run([*command, "-lm", "-o", str(program)], check=True)


def count(program: Path, launch: Path) -> float:
    """Host instructions of gpu_run, per warp instruction."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=gpu_run"]
    done = subprocess.run([*command, str(program), str(launch)], check=True, capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1]) / int(done.stdout.split()[0])


def measure() -> dict[str, float]:
    """The count of every launch."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "replay"
        build(program)
        for benchmark, size, gpu in LAUNCHES:
            launch = Path(folder) / f"{benchmark}-{gpu}"
            record(launch, benchmark, size, gpu)
            found[f"{benchmark} {gpu}"] = round(count(program, launch), 1)
        for kernel, name, gpu in COMPILED:
            launch = Path(folder) / f"{kernel}-{gpu}"
            record_compiled(launch, kernel, name, gpu)
            found[f"{kernel} {gpu}"] = round(count(program, launch), 1)
    return found


def compare(found: dict[str, float], figures: dict[str, float]) -> list[str]:
    """What is further from its figure than the tolerance."""
    return [
        f"{name}: {found[name]} host instructions per warp instruction, {found[name] / figure - 1:+.1%}"
        for name, figure in figures.items()
        if abs(found[name] / figure - 1) > TOLERANCE
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the figures of this compiler")
    update = parser.parse_args(argv).update
    if not shutil.which("valgrind") or "avx2" not in processor_flags():
        print("no valgrind or no AVX2 here: nothing is counted")
        return 0
    figures, name, found = json.loads(FIGURES.read_text()), compiler_name(), measure()
    for launch, value in found.items():
        print(f"{launch:25} {value:8.1f}   committed {figures.get(name, {}).get(launch, '-')} ({name})")
    if update:
        FIGURES.write_text(json.dumps({**figures, name: found}, indent=2, sort_keys=True) + "\n")
        return 0
    wrong = compare(found, figures.get(name, {}))
    if wrong:
        print(*wrong, f"more than {TOLERANCE:.0%} off. On purpose? Then with --update", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
