"""A core with rows of a test's own: csrc is copied, changed and built, and a script runs on what comes of it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLAGS = "-std=c11 -O0 -fPIC -ffp-contract=off -DSMMUX_CHECK=1 -DSMMUX_NO_CLONES -pthread -w"

PRELUDE = """
import importlib.util, sys
import smmux
spec = importlib.util.spec_from_file_location("smmux._core", {core!r})
smmux._core = sys.modules["smmux._core"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(smmux._core)
"""


def has_compiler() -> bool:
    """Whether a core can be built here."""
    include = Path(sysconfig.get_path("include"))
    return shutil.which(_compiler()[0]) is not None and (include / "Python.h").is_file()


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def build(folder: Path, changes: Mapping[str, Mapping[str, str]]) -> Path:
    """The core with texts of files replaced, each of which has to be there once."""
    sources = shutil.copytree(ROOT / "csrc", folder / "csrc")
    for name, texts in changes.items():
        text = (sources / name).read_text()
        for old, new in texts.items():
            assert text.count(old) == 1, f"{name} has {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (sources / name).write_text(text)
    command = [*_compiler(), *FLAGS.split(), f"-I{sources}", f"-I{sysconfig.get_path('include')}"]

    def compile(source: Path) -> str:
        target = folder / f"{source.parent.name}-{source.stem}.o"
        subprocess.run([*command, "-c", str(source), "-o", str(target)], check=True)
        return str(target)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile, sorted(sources.rglob("*.c"))))
    core = folder / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*command, "-shared", *objects, "-o", str(core)], check=True)
    return core


def run(core: Path, script: Path) -> None:
    """Run a file of Python with that core in place of the package's; it has to succeed."""
    code = PRELUDE.format(core=str(core)) + f"exec(compile({script.read_text()!r}, {str(script)!r}, 'exec'))\n"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
