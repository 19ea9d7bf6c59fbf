"""The vendor's tools, found on this machine and run: nvcc, ptxas, nvlink, nvdisasm, cuobjdump.

They are looked for in the Python environment, where `pip install 'smmux[cuda]'` puts them, then in CUDA_HOME (or
CUDA_PATH), then in PATH. What they make is kept on disk (see `code_cache`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from smmux import _core
from smmux.compiler.sass import code_cache as cache
from smmux.errors import CompileError, ConfigError

__all__ = [
    "assemble",
    "compile_cuda",
    "disassemble",
    "environment_folders",
    "extract",
    "find_tool",
    "link_objects",
    "parameter_kinds",
]

INSTALL = "pip install 'smmux[cuda]'"
PURPOSE = {
    "nvcc": "the compiler of CUDA C++",
    "ptxas": "the assembler of PTX",
    "nvlink": "the linker of GPU code",
    "nvdisasm": "the disassembler of GPU code",
    "cuobjdump": "the reader of executables with GPU code",
}
HEADERS = Path(__file__).parents[2] / "modules"
"""The folder of `smmux.cuh`."""
PATIENCE = 900.0
"""Seconds after which a tool is taken for hung [EST]; the largest kernels take minutes to compile."""
ENVIRONMENT = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH")
"""Variables that change what nvcc makes."""


def find_tool(name: str) -> Path:
    """The path of a tool; ConfigError, with the command that installs it, if there is none."""
    folders = [*environment_folders()]
    folders += [Path(home) / "bin" for key in ("CUDA_HOME", "CUDA_PATH") if (home := os.environ.get(key))]
    for folder in folders:
        if found := shutil.which(name, path=str(folder)):
            return Path(found)
    if found := shutil.which(name):
        return Path(found)
    raise ConfigError(
        f"{name}, {PURPOSE[name]}, is neither in this Python environment nor in CUDA_HOME nor in PATH: {INSTALL}"
    )


def environment_folders() -> list[Path]:
    """Where packages of the vendor put their programs, the newest release first."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or () if spec else ())]
    return [folder for root in roots for folder in sorted(root.glob("*/bin"), reverse=True)]


Kinds = Mapping[str, Sequence[str]]
"""By the name of a kernel, the type of each of its parameters in PTX, as `f32`; empty for structures."""


def compile_cuda(source: Path, arch: str, options: Sequence[str] = (), text: str | None = None) -> tuple[bytes, Kinds]:
    """The cubin of a file of CUDA C++, and the types of its kernels' parameters; of `text`, if it is given, which
    errors and lines call by the file's name.

    Raises CompileError with the compiler's messages, and ConfigError if a tool is missing.
    """
    nvcc = find_tool("nvcc")
    host = _host_compiler(options)
    content = source.read_bytes() if text is None else text.encode()
    lines = [] if {"-G", "--device-debug"} & set(options) else ["-lineinfo"]
    command = [f"-arch={arch}", "-cubin", f"-I{HEADERS}", *lines, *options]
    tools = [nvcc, nvcc.parent / "ptxas", nvcc.parent.parent / "nvvm" / "bin" / "cicc", host]
    setting = [os.environ.get(name) for name in ENVIRONMENT]
    where = str(source) if text is not None else str(source.resolve())
    key = cache.key_of("nvcc 2", content, where, os.getcwd(), command, setting, [_identity(tool) for tool in tools])
    if (known := cache.fetch_unless_changed(key)) is not None:
        return _unpacked(known)
    with tempfile.TemporaryDirectory(prefix="smmux-") as folder:
        made, needed = Path(folder, "code.cubin"), Path(folder, "needed.d")
        place = source.resolve()
        if text is not None:
            place = Path(folder, "text.cu")
            place.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8")
        keep = ["-keep", "-keep-dir", folder]
        _run([str(nvcc), *command, *keep, "-MD", "-MF", str(needed), "-o", str(made), str(place)], str(source))
        result = _result(made, nvcc)
        kinds: dict[str, list[str]] = {}
        for ptx in Path(folder).glob("*.ptx"):
            kinds |= parameter_kinds(ptx.read_text(errors="replace"))
        files = _dependencies(needed.read_text(errors="surrogateescape"))
        packed = json.dumps(kinds).encode() + b"\n" + result
        cache.keep_with_files(key, packed, [name for name in files if Path(name) != place])
    return result, kinds


def _unpacked(packed: bytes) -> tuple[bytes, Kinds]:
    """What the cache has of `compile_cuda`."""
    kinds, _, cubin = packed.partition(b"\n")
    return cubin, json.loads(kinds)


def parameter_kinds(ptx: str) -> dict[str, list[str]]:
    """The types of the parameters of a PTX module's kernels.

    >>> parameter_kinds(".entry k( .param .u64 .ptr .align 1 k_0, .param .f32 k_1, .param .align 4 .b8 k_2[8] ) { }")
    {'k': ['u64', 'f32', '[]']}
    """
    found = {}
    for name, listed in re.findall(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx):
        parameters = re.findall(r"\.param\b([^,]*)", listed)
        found[name] = ["[]" if "[" in one else (re.findall(r"\.([usbf]\d+)\b", one) or [""])[0] for one in parameters]
    return found


def assemble(ptx: str, arch: str, options: Sequence[str] = (), name: str = "<ptx>") -> bytes:
    """The cubin of a text of PTX. Raises CompileError with the assembler's messages."""
    ptxas = find_tool("ptxas")
    lines = [] if {"-g", "--device-debug"} & set(options) else ["-lineinfo"]
    command = [f"-arch={arch}", *lines, *options]
    key = cache.key_of("ptxas", ptx, command, _identity(ptxas))
    if (known := cache.fetch(key)) is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="smmux-") as folder:
        source, made = Path(folder, "text.ptx"), Path(folder, "code.cubin")
        source.write_text(ptx, encoding="utf-8")
        _run([str(ptxas), *command, str(source), "-o", str(made)], name)
        result = _result(made, ptxas)
    cache.keep(key, result)
    return result


def link_objects(objects: Sequence[bytes], arch: int) -> bytes:
    """The cubin of objects that can be linked, which `-rdc=true` makes. Raises CompileError with the names of functions
    and variables that none of them has; ConfigError if the linker is missing."""
    tool, target = find_tool("nvlink"), _target(arch).lower()
    key = cache.key_of("nvlink", *objects, target, _identity(tool))
    if (known := cache.fetch(key)) is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="smmux-") as folder:
        places, made = [Path(folder, f"{number}.cubin") for number in range(len(objects))], Path(folder, "linked.cubin")
        for place, content in zip(places, objects, strict=True):
            place.write_bytes(content)
        done = _call([str(tool), f"-arch={target}", *map(str, places), "-o", str(made)])
        if done.returncode:
            raise CompileError(_unlinked(done.stderr + done.stdout))
        result = _result(made, tool)
    cache.keep(key, result)
    return result


def _unlinked(output: str) -> str:
    """Why the linker has failed."""
    missing = sorted(set(re.findall(r"Undefined reference to '([^']+)'", output)))
    return _undefined(missing) if missing else f"nvlink cannot link this code: {_one_line(output)}"


LAUNCHING = ("__cudaCDP", "cudaLaunchDevice", "cudaGetParameterBuffer")
"""How functions of the device runtime begin by which a kernel launches another one."""


def _undefined(names: Sequence[str]) -> str:
    """What is wrong with code that calls functions, or has variables, which are not in it."""
    why = ""
    if any(name.startswith(LAUNCHING) for name in names):
        why = ": kernels that launch kernels are not simulated"
    elif any(name.startswith("cudaCG") for name in names):
        why = (
            " of the device runtime (libcudadevrt), through which Numba synchronises a grid: it is not linked; "
            "cg.this_grid().sync() runs in CUDA C++ and in kernels of smmux.cuda"
        )
    return f"nothing has {', '.join(names)}{why}"


def _target(arch: int) -> str:
    """What tools call an architecture, with the instructions of that chip alone."""
    return f"SM_{arch}a" if arch >= 90 else f"SM_{arch}"


def disassemble(words: bytes, arch: int) -> str:
    """nvdisasm's text of instructions, which lie behind one another from address 0 on."""
    tool = find_tool("nvdisasm")
    target = _target(arch).replace("_", "")
    key = cache.key_of("nvdisasm", words, "-b", target, _identity(tool))
    if (known := cache.fetch(key)) is not None:
        return known.decode(errors="replace")
    with tempfile.TemporaryDirectory(prefix="smmux-") as folder:
        path = Path(folder, "code.bin")
        path.write_bytes(words)
        done = _call([str(tool), "-b", target, str(path)])
    if done.returncode:
        message = _one_line(done.stderr or done.stdout).replace(str(path), "")
        raise ConfigError(f"nvdisasm does not understand this code of sm_{arch}: {message}")
    cache.keep(key, done.stdout.encode())
    return done.stdout


def extract(path: Path, arch: str) -> list[bytes]:
    """The cubins of an architecture in a fatbin, an object or an executable; if it has none, its PTX assembled for that
    architecture, as a driver does."""
    tool = find_tool("cuobjdump")
    with tempfile.TemporaryDirectory(prefix="smmux-") as folder:
        done = _call([str(tool), "-arch", arch, "-xelf", "all", str(path.resolve())], folder)
        if found := [made.read_bytes() for made in sorted(Path(folder).glob("*.cubin"))]:
            return found
        _call([str(tool), "-xptx", "all", str(path.resolve())], folder)
        texts = _usable([made.read_text(errors="replace") for made in sorted(Path(folder).glob("*.ptx"))], arch)
    listed = _call([str(tool), "-lelf", str(path.resolve())]).stdout
    there = ", ".join(sorted(set(re.findall(r"\bsm_\d+[a-z]?\b", listed))))
    if not texts:
        others = f"it has some of {there}" if there else _one_line(done.stderr) or "it has none at all"
        raise ConfigError(f"{path} has no GPU code of {arch}: {others}")
    options = ["-c"] if any(map(_needs_others, texts)) else []
    return [assemble(text, arch, options, f"{path}, PTX {number}") for number, text in enumerate(texts, 1)]


def _needs_others(text: str) -> bool:
    """Whether a text of PTX has to be linked: it has variables of others, or their functions, of which each card has
    some itself."""
    functions = re.findall(r"^\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", text, re.MULTILINE)
    variables = re.search(r"^\.extern \.(global|const)\b", text, re.MULTILINE)
    return bool(variables) or not set(functions) <= _core.SASS_ROUTINES.keys()


def _usable(texts: Sequence[str], arch: str) -> list[str]:
    """Of several texts of PTX, those for the newest architecture up to this one."""
    targets = [int(match[1]) if (match := re.search(r"^\.target\s+sm_(\d+)", text, re.M)) else 0 for text in texts]
    own = int(re.sub(r"\D", "", arch))
    newest = max((target for target in targets if target <= own), default=None)
    return [text for text, target in zip(texts, targets, strict=True) if target == newest]


def _host_compiler(options: Sequence[str]) -> Path:
    """The host's compiler, which nvcc needs for the preprocessor."""
    if os.environ.get("NVCC_CCBIN") or any("-ccbin" in option or "compiler-bindir" in option for option in options):
        return Path(os.environ.get("NVCC_CCBIN", ""))
    if found := shutil.which("g++"):
        return Path(found)
    raise ConfigError(
        "nvcc needs a C++ compiler of the host for the preprocessor, and there is no g++ in PATH: install one "
        "(apt-get install g++), or load PTX, for which ptxas suffices"
    )


def _identity(tool: Path) -> tuple[str, int, int]:
    """What tells one release of a tool from another, without running it."""
    try:
        stat = tool.stat()
    except OSError:
        return (str(tool), 0, 0)
    return (str(tool.resolve()), stat.st_size, stat.st_mtime_ns)


def _call(command: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a tool, in a folder if one is given."""
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{Path(command[0]).name} has not ended after {PATIENCE:.0f} s") from None
    except OSError as error:
        raise ConfigError(f"{command[0]} cannot be run: {error.strerror}") from None


def _run(command: Sequence[str], name: str) -> None:
    """Run a compiler; CompileError with its messages if it fails."""
    done = _call(command)
    if done.returncode:
        raise _compile_error(done.stderr + done.stdout, command[-1] if "nvcc" in command[0] else command[-3], name)


_PLACED = re.compile(
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\):? (?:catastrophic )?[Ee]rror\s*:? (?P<message>.*)$|"
    r"^(?P<host>[^\n:]+):(?P<hostline>\d+):(?:\d+:)? (?:fatal )?error: (?P<said>.*)$|"
    r"^ptxas (?P<ptx>[^\n,]+), line (?P<ptxline>\d+); (?:error|fatal)\s*: (?P<told>.*)$",
    re.MULTILINE,
)


def _compile_error(output: str, place: str, name: str) -> CompileError:
    """The first error of a compiler as an exception, with all of them in its message."""
    output = output.replace(place, name).strip()
    match = _PLACED.search(output)
    if match is None:
        if undefined := re.findall(r"^ptxas fatal\s*: Unresolved extern \w+ '([^']+)'", output, re.MULTILINE):
            return CompileError(_undefined(undefined), name)
        return CompileError(output or "the compiler failed without a message", name)
    file, line, message = (part for part in match.groups() if part is not None)
    if file.endswith(".ptx") and file != name:  # of assembly in the source, which has no line there
        return CompileError(f"{message} (line {line} of its PTX)", name)
    rest = list(_PLACED.finditer(output))[1:]
    more = f" (and {len(rest)} more errors)" if rest else ""
    error = CompileError(f"{message}{more}", file, int(line))
    error.add_note(output)
    return error


def _result(path: Path, tool: Path) -> bytes:
    """The file that a tool has made."""
    try:
        return path.read_bytes()
    except OSError:
        raise ConfigError(f"{tool.name} has made no code; what do its options ask for?") from None


def _dependencies(rule: str) -> list[str]:
    """The files behind the colon of a rule for make."""
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    return [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", names)]


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
