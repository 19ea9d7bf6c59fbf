"""Run Numba's own tests of `numba.cuda` with smmux in its place, and count.

    python -m tests.numba.own                     (all files of numba/cuda/tests/cudapy and doc_examples)
    python -m tests.numba.own --only test_math --failures

By hand: it takes some minutes. A test counts unless Numba itself would leave it out, or one of the rules of `OUTSIDE`
says that it asks for something else than what a kernel does.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.numba.own.file import OK
from tests.numba.own.replaced import TESTS

OUTSIDE = {
    "the text of PTX, LLVM or SASS, debug information, or a compiler that prints it": (
        r"test_(compiler|debug|debuginfo|inspect|lineinfo|optimization|fastmath|const_string)\.",
        r"_ptx$|_codegen$|_in_asm$|test_const_array(_[23]d)?$|test_selp$|test_inspect_|_llvm_ir$",
        r"test_atomic_add_double(_global)?(_[23])?$|test_casting\..*native_cast|test_mandel\.",
    ),
    "types, functions or ufuncs that are added to Numba's compiler": (
        r"test_(extending|overload|gufunc|gufunc_scalar|gufunc_scheduling|vectorize\w*|libdevice|cffi|ufunc|ffi)\.",
        r"gufunc|vectorize|ufunc_arg|test_struct_model|test_dtype_of_extension|declare_device|_extension_type",
    ),
    "a driver: streams, memory of other libraries, processes, files of a cache, several devices": (
        r"test_(caching|ipc|multigpu|multiprocessing|cuda_array_interface|serialize|alignment)\.",
    ),
}
"""What a test asks for that kernels are not concerned with: patterns of FILE.CLASS.TEST."""


def outside(name: str) -> str | None:
    """The rule by which a test does not count."""
    return next((rule for rule, patterns in OUTSIDE.items() if any(re.search(p, name) for p in patterns)), None)


def run(path: Path, seconds: int) -> dict[str, str]:
    """The outcomes of a file's tests; where it cannot be imported, one reason for all that it defines."""
    command = [sys.executable, "-m", "tests.numba.own.file", str(path), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    found: dict[str, str] = json.loads(lines[-1]) if lines else {"": done.stderr[-300:]}
    if "" in found:
        names = re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
        return {f"{path.stem}.{name}": found[""] for name in names}
    return {name if name.startswith(path.stem) else f"{path.stem}.{name}": text for name, text in found.items()}


def main() -> int:
    """Print how many tests pass, and what the others say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of files")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="of one test")
    parser.add_argument("--failures", action="store_true", help="print what every failing test says")
    parser.add_argument("--json", type=Path, help="a file for all outcomes")
    options = parser.parse_args()
    files = [p for folder in ("cudapy", "doc_examples") for p in sorted((TESTS / folder).glob("test_*.py"))]
    files = [path for path in files if any(part in path.stem for part in options.only)]
    found: dict[str, str] = {}
    with ThreadPoolExecutor(options.jobs) as workers:
        for path, outcomes in zip(files, workers.map(lambda p: run(p, options.seconds), files), strict=True):
            found |= outcomes
            passed = sum(text == OK for text in outcomes.values())
            sys.stdout.write(f"{path.stem}: {passed} of {len(outcomes)}\n")
            sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(found, indent=0), encoding="utf-8")
    report(found, options.failures)
    return 0


def report(found: dict[str, str], failures: bool) -> None:
    """Print the counts; failures: and each test that fails."""
    told = {name: text for name, text in found.items() if not text.startswith("skipped")}
    rules = Counter(rule for name in told if (rule := outside(name)))
    counted = {name: text for name, text in told.items() if not outside(name)}
    passed = sum(text == OK for text in counted.values())
    everything = sum(text == OK for text in told.values())
    if failures:
        for name, text in counted.items():
            if text != OK:
                sys.stdout.write(f"{name}: {' '.join(text.split())[:160]}\n")
    for rule, count in rules.items():
        sys.stdout.write(f"outside, {count}: {rule}\n")
    sys.stdout.write(f"{passed} of {len(counted)} pass ({passed / max(len(counted), 1):.1%}); ")
    sys.stdout.write(f"of all, also those outside, {everything} of {len(told)}\n")


if __name__ == "__main__":
    raise SystemExit(main())
