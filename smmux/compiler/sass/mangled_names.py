"""Names of kernels: mangled as the linker has them, plain, and with their parameters' types."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache

from smmux.compiler.sass.tools import environment_folders

__all__ = ["demangle", "plain_name"]


def plain_name(mangled: str) -> str:
    """The name in the source, without namespaces, arguments of templates and types of parameters.

    >>> plain_name("_Z6matmulILi16EEvPKfS1_Pfi"), plain_name("_ZN4blas5saxpyEifPf"), plain_name("saxpy")
    ('matmul', 'saxpy', 'saxpy')
    """
    match = re.match(r"_Z(?:N[rVK]*)?(?:St)?", mangled)
    if match is None:
        return mangled
    at, name = match.end(), ""
    while found := re.compile(r"\d+").match(mangled, at):
        length = int(found[0][:6])
        if not 0 < length <= len(mangled) - found.end():
            break
        name, at = mangled[found.end() : found.end() + length], found.end() + length
        if not match[0].startswith("_ZN"):
            break
    return name or mangled


@lru_cache(256)
def demangle(mangled: tuple[str, ...]) -> Sequence[str]:
    """Names with the types of their parameters, as far as there is a tool that knows them; else as they are."""
    folders = [str(folder) for folder in environment_folders()]
    tools = [shutil.which("cu++filt", path=folder) for folder in folders] + [shutil.which("cu++filt")]
    tool = next(filter(None, [*tools, shutil.which("c++filt")]), None)
    if tool is None or not any(name.startswith("_Z") for name in mangled):
        return mangled
    try:
        done = subprocess.run(
            [tool], input="\n".join(mangled), capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return mangled
    lines = done.stdout.rstrip("\n").split("\n")
    return lines if len(lines) == len(mangled) else mangled
