"""The same bits from every build of the core: compilers, optimisation levels, with and without clones of the hot loops.

    python -m tests.same_bits BUILD_FOLDER_OR_CORE ...

Every core runs the launches of all benchmarks and variants on all machines, and random programs with all operations,
each three times: with one and two host threads and another window. What must agree are cycles, counters, counters per
instruction, outputs and errors. Every arithmetic operation sees infinities, NaNs and random bits beside.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

RANDOM_PROGRAMS = 300
RUNS = ({"threads": 1, "window": 0}, {"threads": 2, "window": 0}, {"threads": 1, "window": 7})


def main() -> int:
    """Compare the cores with each other; 1 if any two differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.same_bits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cores", nargs="+", type=Path, metavar="CORE", help="a _core*.so, or a folder that holds one")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.cores[0], options.child)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return _compare([_core_in(path) for path in options.cores], Path(folder))


def _core_in(path: Path) -> Path:
    found = [path] if path.is_file() else sorted(path.rglob("_core*.so"))
    if len(found) != 1:
        raise SystemExit(f"{path} holds {len(found)} cores, not one")
    return found[0].resolve()


def _compare(cores: list[Path], folder: Path) -> int:
    from tests.fuzz.corpus import record

    (folder / "corpus").write_bytes(pickle.dumps(record()))
    digests: list[dict[str, str]] = []
    for core in cores:
        command = [sys.executable, "-m", "tests.same_bits", str(core), "--child", str(folder)]
        digests.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(f"{len(digests[-1])} digests of {core}", flush=True)
    differ = [name for name in digests[0] if len({found[name] for found in digests}) > 1]
    for name in differ[:20]:
        print(f"{name} differs: {[found[name][:8] for found in digests]}")
    print(f"{len(differ)} of {len(digests[0])} differ" if differ else "the same bits")
    return 1 if differ else 0


def _child(core: Path, folder: Path) -> None:
    """Print a digest per launch, made with that core."""
    spec = importlib.util.spec_from_file_location("smmux._core", core)
    assert spec
    assert spec.loader
    import smmux

    module = importlib.util.module_from_spec(spec)
    sys.modules["smmux._core"] = module
    spec.loader.exec_module(module)
    smmux._core = module

    from smmux import _core, gpus

    assert _core.__file__ == str(core)
    corpus = pickle.loads((folder / "corpus").read_bytes())
    digests = {}
    for launch in corpus:
        for name in gpus.names():
            launch.config = list(gpus.as_tuple(gpus.get(name)))
            digests[f"{launch.name}, run on {name}"] = _digest(launch)
    for number in range(RANDOM_PROGRAMS):
        digests[f"random program {number}"] = _digest(_random(number, corpus))
    for seed in range(20):
        digests[f"operations {seed}"] = _operations(seed)
    json.dump(digests, sys.stdout)


def _random(number: int, corpus: list[Any]) -> Any:
    from tests.fuzz.cases import random_launch
    from tests.fuzz.machines import small

    rng = Random(f"same bits {number}")
    launch = random_launch(rng, corpus)
    launch.config = small(rng.choice(corpus).config, rng)
    return launch


SPECIAL = (
    *(0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000),
    *(0x7F800001, 0x7FC00000, 0xFFC12345, 0x00000001, 0x807FFFFF, 0x7F7FFFFF, 0x4F000000, 0x4B000001, 0x3F000000, 31),
)


def _operations(seed: int) -> str:
    """Results of all operations on registers and predicates, for 256 threads."""
    import numpy as np

    from smmux import _core
    from tests.machine.assembler import TID_X, Assembler

    rng = np.random.default_rng(seed)
    operands = [rng.integers(0, 1 << 32, 256, dtype=np.uint32) for _ in range(3)]
    for operand in operands:
        chosen = rng.random(256) < 0.5
        operand[chosen] = rng.choice(np.array(SPECIAL, np.uint32), int(chosen.sum()))
    rows = [(name, row[3].split(",")) for name, row in _core.OPS.items() if set(row[1]) <= {"cross"} and row[3]]
    out = np.zeros((2 * len(rows), 256), np.uint32)
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    for i in range(3):
        a("ld.global", d=1 + i, a=0, imm=0x1000 + 1024 * i, width=4, aux=i)
        a("setp.lt.s32", d=1 + i, a=1 + i, b=a.imm(0))
    a("or.b32", d=5, a=2, b=a.imm(1))
    for i, (name, kinds) in enumerate(rows):
        fields = {kind: 1 + "abc".index(kind) for kind in kinds if kind in "abc"}
        fields |= {kind[-1]: 1 + "ab".index(kind[-1]) for kind in kinds if kind in ("qa", "qb")}
        fields |= {"q": 3} if "q" in kinds else {}
        fields |= {kind: high for kind, high in {"dh": 6, "ah": 2, "bh": 3, "ch": 1}.items() if kind in kinds}
        if name.startswith(("div.s", "div.u", "rem.")):
            fields["b"] = 5
        a(name, d=0 if "p" in kinds else 4, **fields)
        if "p" in kinds:
            a("selp.b32", d=4, a=a.imm(1), b=a.imm(0), q=0)
        a("st.global", d=4, a=0, imm=0x1000 + 1024 * (3 + 2 * i), width=4, aux=3)
        a("st.global", d=6, a=0, imm=0x1000 + 1024 * (4 + 2 * i), width=4, aux=3)
    a("exit")
    found = a.run("GTX285", block=(256, 1, 1), buffers=(*operands, out))
    return hashlib.sha256(repr(found["counters"]).encode() + out.tobytes()).hexdigest()[:16]


def _digest(launch: Any) -> str:
    """Of the three runs, if they agree; else all of them."""
    from tests.fuzz.cases import run_launch

    found = []
    for options in RUNS:
        launch.options = {**launch.options, "per_pc": 1, **options}
        found.append(hashlib.sha256(repr(run_launch(launch)).encode()).hexdigest()[:16])
    return found[0] if len(set(found)) == 1 else " ".join(found)


if __name__ == "__main__":
    sys.exit(main())
