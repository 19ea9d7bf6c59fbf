"""Builds the one extension, smmux._core, from csrc/. Everything else about the package is in pyproject.toml.

Switches, from the environment (set to 1):

    SMMUX_DEBUG     -O0 -g3, assertions on
    SMMUX_CHECK     assertions and whole-structure checks, optimised
    SMMUX_SANITIZE  AddressSanitizer and UndefinedBehaviorSanitizer (implies SMMUX_CHECK)
    SMMUX_COVERAGE  gcov instrumentation
    SMMUX_WERROR    all warnings, as errors
    SMMUX_PROFILE   compiled twice with gcc: for what a first core counts in the launches of tests/speed/training.py
    SMMUX_PLAIN     -O2, and no clones of the hot loops for wider vectors: the same bits, slower

CC and CFLAGS work as usual (CC=clang).
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]


def switch(name: str) -> bool:
    """Whether the environment sets SMMUX_<name> to something other than 0."""
    return os.environ.get(f"SMMUX_{name}", "0") not in ("", "0")


def compile_args() -> list[str]:
    """Compiler flags. Contraction is off: the same bits on every host, and no fused multiply-add unless written."""
    args = ["-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-pthread", *WARNINGS]
    if switch("DEBUG") or switch("COVERAGE"):
        args += ["-O0" if switch("DEBUG") else "-Og", "-g3"]
    else:
        args += ["-O2" if switch("PLAIN") else "-O3"]
    if switch("DEBUG") or switch("CHECK") or switch("SANITIZE"):
        args += ["-UNDEBUG", "-DSMMUX_CHECK=1"]
    else:
        args += ["-DNDEBUG"]
    if "clang" in os.environ.get("CC", ""):
        args += ["-Wno-pass-failed"]  # exec.c asks for vectors everywhere, division has none
    if switch("SANITIZE"):
        args += ["-g", *SANITIZERS]
    if switch("COVERAGE"):
        args += ["--coverage"]
    if switch("PLAIN") or switch("COVERAGE"):
        args += ["-DSMMUX_NO_CLONES"]
    if switch("WERROR"):
        args += ["-Werror"]
    return args


def link_args() -> list[str]:
    """Linker flags that belong to the same switches."""
    args = ["-pthread"]
    if switch("SANITIZE"):
        args += SANITIZERS
    if switch("COVERAGE"):
        args += ["--coverage"]
    return args


INSTALL = """
    Debian, Ubuntu   sudo apt-get install gcc python3-dev
    Fedora           sudo dnf install gcc python3-devel
    Alpine           sudo apk add gcc musl-dev python3-dev linux-headers
    Arch             sudo pacman -S gcc
    conda            conda install -c conda-forge c-compiler
    macOS            xcode-select --install

and run pip again. CC=clang pip install ... takes another compiler than the one that built Python.
"""
"""What to install where the compiler, or the headers of Python, are not there."""


def missing(compiler: str) -> str:
    """What the build needs and does not find, in a sentence; empty if it is all there."""
    if shutil.which(compiler) is None:
        return f"there is no C compiler: {compiler!r} is not found"
    if not any((Path(sysconfig.get_path(name)) / "Python.h").is_file() for name in ("include", "platinclude")):
        return f"the headers of Python are not there: no Python.h in {sysconfig.get_path('include')}"
    return ""


class BuildExt(build_ext):
    """Rebuilds when the flags or the compiler changed, not only when a file did."""

    def run(self) -> None:
        """Compare the flags with those of the last build."""
        variables = [os.environ.get(name, "") for name in ("CC", "CFLAGS", "SMMUX_PROFILE")]
        flags = " ".join([*variables, *compile_args(), *link_args()])
        stamp = Path(self.build_temp) / "flags.txt"
        if not stamp.is_file() or stamp.read_text() != flags:
            self.force = True
        super().run()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(flags)

    def build_extensions(self) -> None:
        """Build, if there is something to build with, files side by side."""
        command = getattr(self.compiler, "compiler_so", None) or ["cc"]
        if reason := missing(command[0]):
            raise SystemExit(f"smmux has a part in C, and {reason}. Install what is missing:\n{INSTALL}")
        compile_alone = self.compiler.compile

        def compile_together(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = pool.map(lambda source: compile_alone([source], **options), sources)
                return [name for names in found for name in names]

        self.compiler.compile = compile_together
        if switch("PROFILE"):
            self.train()
        super().build_extensions()

    def train(self) -> None:
        """Build a core that counts, let it run, and have what it counted used by the build that follows. It has no
        clones of the hot loops, which gcc cannot count in."""
        (core,) = self.extensions
        folder = Path(self.build_temp, "training").resolve()
        shutil.rmtree(folder, ignore_errors=True)
        plain, self.force = list(core.extra_compile_args), True
        core.extra_compile_args = [*plain, "-DSMMUX_NO_CLONES", f"-fprofile-generate={folder}/counts"]
        core.extra_link_args += ["-fprofile-generate"]
        super().build_extensions()
        for package in ("smmux", "experiments"):
            shutil.copytree(package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "_core.*.so"))
        made = Path(self.get_ext_fullpath(core.name))
        shutil.copy(made, folder / "smmux" / made.name)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
        subprocess.run([sys.executable, "tests/speed/training.py"], env=environment, check=True)
        core.extra_link_args.remove("-fprofile-generate")
        core.extra_compile_args = [*plain, f"-fprofile-use={folder}/counts", "-fprofile-partial-training"]
        core.extra_compile_args += ["-Wno-missing-profile", "-Wno-coverage-mismatch", "-Wno-error"]


def needed_to_train() -> list[str]:
    """The packages that the launches of a training need, with the vendor's tools for those of compiled code."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["cuda"]]


setup(
    setup_requires=needed_to_train() if switch("PROFILE") else [],
    cmdclass={"build_ext": BuildExt},
    ext_modules=[
        Extension(
            "smmux._core",
            sorted(glob("csrc/**/*.c", recursive=True)),
            include_dirs=["csrc"],
            depends=sorted(glob("csrc/**/*.h", recursive=True) + glob("csrc/**/*.def", recursive=True) + ["setup.py"]),
            extra_compile_args=compile_args(),
            extra_link_args=link_args(),
        )
    ],
)
