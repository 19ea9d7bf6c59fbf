"""House rules that can be read off the source: what may stand where, in the C core and in the package."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
C_FILES = sorted((ROOT / "csrc").rglob("*.[ch]"))
BINDING = [path for path in C_FILES if path.parent.name == "python"]
FLOORS = ("tables", "base", "kernel", "memory", "sm", "chip", "models", "python")
"""Folders of the core, from the lowest up."""
PYTHON_FILES = sorted([*(ROOT / "smmux").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")])


def code_of(path):
    """C text with comments and string contents blanked, line numbers kept."""

    def blank(match):
        text = match.group()
        return '""' if text[0] == '"' else re.sub(r"[^\n]", " ", text)

    return re.sub(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', blank, path.read_text(), flags=re.S)


def found(pattern, paths, flags=0):
    """file:line of every match in the code of the files."""
    places = []
    for path in paths:
        text = code_of(path)
        places += [f"{path.name}:{text.count(chr(10), 0, m.start()) + 1}" for m in re.finditer(pattern, text, flags)]
    return places


def test_only_the_binding_knows_python():
    assert [p.name for p in C_FILES if re.search(r"#\s*include\s*[<\"]Python\.h", p.read_text())] == ["bind.h"]
    assert found(r"\bPy[A-Z_]\w*|\bbind\.h", [p for p in C_FILES if p not in BINDING]) == []


def test_the_core_neither_prints_nor_exits():
    calls = r"\b(printf|fprintf|puts|putchar|exit|abort|_exit|perror|fopen|getenv|time|clock|rand|system)\s*\("
    assert found(calls, C_FILES) == []


def test_the_executor_uses_no_libm():
    """Its bits differ between hosts; special functions are own polynomials."""
    files = [p for p in C_FILES if p.name in ("exec.c", "exec.h", "special.h")]
    functions = r"\b(sin|cos|tan|exp|exp2|log|log2|pow|sqrt|floor|ceil|trunc|rint|fabs|fma|fmin|fmax)f?\s*\("
    assert found(functions, files) == []
    assert [p.name for p in files if "math.h" in p.read_text()] == []


def test_there_are_no_mutable_globals():
    """At file level, `static` data is const; the binding's tables for CPython are what it demands."""
    demanded = r"static (PyMethodDef|PyType_Slot|PyType_Spec|PyModuleDef_Slot|struct PyModuleDef)\b"
    places = []
    for path in C_FILES:
        for number, line in enumerate(code_of(path).split("\n"), 1):
            declares = re.match(
                r"(static |extern )?(?!static)(struct |enum |unsigned )?\w[\w \*]*\w(\[\w*\])* *(=|;)", line
            )
            if (
                not declares
                or "(" in line.split("=")[0]
                or re.match(r"(__extension__ )?(typedef|struct|enum|union)\b[^=]*[;{]$", line)
            ):
                continue
            if "const" in line or re.match(demanded, line) or re.match(r"struct \w+;$", line):
                continue
            places.append(f"{path.name}:{number}: {line}")
    assert places == []


def test_no_function_local_state_survives_a_call():
    assert found(r"^[ \t]+static (?!const\b|inline\b)", [p for p in C_FILES if p not in BINDING], re.M) == []
    kept = [text for path in BINDING for text in re.findall(r"^[ \t]+static (?!const\b)([^=;]*)", code_of(path), re.M)]
    assert [text for text in kept if not text.startswith("char *names[]")] == []


def test_nothing_returns_while_the_gil_is_released():
    """Nor is anything of Python's touched: only bind.c gives the GIL away, for what stands between two calls of it."""
    assert found(r"Py_BEGIN_ALLOW_THREADS", C_FILES) == []
    assert {place.split(":")[0] for place in found(r"PyEval_SaveThread", C_FILES)} == {"bind.c"}
    texts = {path.name: code_of(path) for path in BINDING if path.suffix == ".c" and path.name != "bind.c"}
    sections = [
        (name, section)
        for name, text in texts.items()
        for section in re.findall(r"\bbind_pause\((.*?)\bbind_resume\(", text, re.S)
    ]
    assert len(sections) == sum(len(re.findall(r"\bbind_pause\(", text)) for text in texts.values()) > 0
    assert [name for name, section in sections if re.search(r"\b(return|goto|Py\w+)\b", section)] == []


def test_timing_uses_no_floating_point():
    """Kernels alone compute with floats: in the executor and its helpers, and in what compiled code computes."""
    allowed = {"exec.c", "exec.h", "special.h", "wide.h", "access.c", "lanes.h", "program.h"}
    assert found(r"\b(float|double)\b", [p for p in C_FILES if p.name not in allowed and p.parent.name != "sass"]) == []


def test_headers_guard_themselves_by_name():
    for path in (p for p in C_FILES if p.suffix == ".h"):
        folders = path.relative_to(ROOT / "csrc").parent.parts
        names = ["_".join((*folders[k:], path.stem)).upper() for k in range(len(folders) + 1)]
        guard = re.search(r"#ifndef SMMUX_(\w+)_H\n", path.read_text())
        assert guard, path.name
        assert guard[1] in {*names, "_".join(folders).upper()}, path.name


def test_the_map_of_the_core_has_every_file():
    """Policies stand in folders within the floors, of which the map names the folder alone."""
    text = (ROOT / "csrc" / "README.md").read_text()
    named = set(re.findall(r"`(?:\w+/)?([\w*]+)\.(?:\[ch\]|[ch]|def)`", text))
    files = {path.stem for path in (ROOT / "csrc").glob("*/*.*")}
    assert all(f"`{path.name}/`" in text for path in (ROOT / "csrc").glob("*/*/"))
    assert {stem for stem in files if not stem.startswith("bind")} == named - {"bind*", "*"}


DECLARED_ELSEWHERE = {
    "program": "decode decoder",
    "sass": "decoder",
    "dram_timing": "dram",
    "dram_trace": "dram",
    "dram_check": "dram",
    "access": "memsys",
    "races": "check",
    "races_none": "races",
    "check": "shadow",
    "tiles": "preload",
    "sched": "scheduler",
}
"""Files of the machine that have no header of their own, or more, and which ones declare what they define."""


def test_a_header_of_the_machine_declares_what_its_file_defines():
    head = r"^(?!static|typedef|extern|CLONES|[A-Z_]+\()\w[\w ]*?[ \*]+(\w+)\([^;{}]*\)"
    defined = {
        (name, path.stem)
        for path in C_FILES
        if path.suffix == ".c"
        for name in re.findall(head + r"\s*\{", code_of(path), re.M)
    }
    for path in (p for p in C_FILES if p.suffix == ".h" and p not in BINDING):
        for name in re.findall(head + ";", code_of(path), re.M):
            files = [stem for found, stem in defined if found == name]
            homes = [stem for stem in files if path.stem in (stem, *DECLARED_ELSEWHERE.get(stem, "").split())]
            assert homes or name == "_Static_assert", f"{path.name} declares {name}, which {files} define"


def test_files_are_short_enough_to_be_read_in_one_sitting():
    """Those of the core, the package, the experiments and the tests."""
    files = [p for folder in ("csrc", "smmux", "experiments", "tests") for p in (ROOT / folder).rglob("*.*")]
    code = [p for p in files if p.suffix in (".py", ".c", ".h", ".def")]
    assert len(code) > 500
    assert {str(p.relative_to(ROOT)): n for p in code if (n := p.read_text().count("\n")) > 450} == {}


def test_the_state_of_an_sm_can_be_read_at_a_glance():
    assert len((ROOT / "csrc" / "sm" / "sm.h").read_text().splitlines()) < 250


def test_accesses_to_memory_issue_in_one_way():
    """Whoever gets the answer: registers, caches, tiles."""
    assert code_of(ROOT / "csrc" / "sm" / "global.c").count("coalesce_clocks(") == 1
    assert len(found(r"\bsmcache_load\(", [p for p in C_FILES if p.parent.name == "sm" and p.stem != "smcache"])) == 2
    assert len(found(r"->sink\]", C_FILES)) == 1


def floor(path):
    """The folder of the core in which a file stands, policies too."""
    return path.relative_to(ROOT / "csrc").parts[0]


def test_no_include_of_the_core_climbs():
    assert {floor(path) for path in C_FILES} | {"tables"} == set(FLOORS)
    for path in C_FILES:
        for folder, name in re.findall(r'#include "(?:([^/"]+)/)?([^"]+)"', path.read_text()):
            assert (ROOT / "csrc" / folder / name).is_file(), f"{path.name} includes {name} without its folder"
            assert FLOORS.index(folder) <= FLOORS.index(floor(path)), f"{path.name} includes {folder}/{name}"


def test_lower_layers_do_not_import_upper_ones():
    """Imports run one way, experiments -> smmux -> smmux._core, and the package needs no Numba."""
    for path in PYTHON_FILES:
        if path.is_relative_to(ROOT / "experiments"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.split(".")[0] in ("experiments", "tests", "numba") for name in names), path


def test_importing_does_no_work():
    """At module level stand definitions and registrations, not work."""
    for path in PYTHON_FILES:
        for node in ast.parse(path.read_text()).body:
            assert not isinstance(node, ast.While | ast.With), f"{path.name}:{node.lineno}"


def test_nothing_is_left_undone():
    words = re.compile(r"\b(TODO|FIXME|XXX)\b")
    text_files = [*C_FILES, *PYTHON_FILES, *sorted((ROOT / "csrc").rglob("*.def"))]
    assert [p.name for p in text_files if words.search(p.read_text())] == []


def test_every_file_in_a_room_has_a_name_of_its_own():
    """What lowers instructions is a room within one, whose files have the names of what they lower."""
    files = [path for path in (ROOT / "smmux").glob("*/**/*.py") if path.parent.name != "lowering"]
    names = [path.name for path in files if path.name != "__init__.py"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_compiler_imports_at_the_top_of_its_files():
    """An import inside a function would hide a circle; all passes are loaded when there is something to compile."""
    hidden = [
        f"{path.name}: {ast.unparse(node)}"
        for path in PYTHON_FILES
        if "compiler" in path.parts
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert hidden == ["compiling.py: from smmux.compiler.driver import pipeline"]
