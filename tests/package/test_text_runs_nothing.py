"""The text of a kernel is data: whatever is done with it, none of it is run as Python, nor are objects that it names.

`Trap` notes every special method that is called. What a text may ask for is what the language says; the rest is refused
with an error of smmux, or of Python's parser.
"""

import ast
import functools
import itertools
import operator
import pickle
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import cuda, gpus, int32, multiplex, preload
from smmux.kernel import from_source
from smmux.language import signatures
from smmux.shell import command_words

ROOT = Path(__file__).parents[2]
RAN: list[str] = []


def noting(name, value):
    """A method that says that it was called."""

    def method(self, *args, **kwargs):
        RAN.append(name)
        return value

    return method


NUMBERS = ("add radd sub mul rmul floordiv mod pow lshift rshift and or xor neg pos invert index int len hash call "
           "getitem contains enter exit matmul truediv round floor ceil trunc abs divmod").split()  # fmt: skip
VALUES = dict.fromkeys(NUMBERS, 3) | {
    "eq": True, "ne": True, "lt": True, "gt": True, "le": True, "ge": True, "bool": True, "float": 3.0,
    "complex": 3j, "repr": "3", "str": "3", "format": "3", "getattr": 3, "iter": iter(()), "dir": [], "array": None,
}  # fmt: skip
SPECIAL = {f"__{name}__": noting(name, value) for name, value in VALUES.items()}
Trap = type("Trap", (), {**SPECIAL, "touch": property(noting("property", 3)), "method": noting("method", 3)})
Number = type("Number", (int,), {n: f for n, f in SPECIAL.items() if n not in ("__iter__", "__getitem__", "__array__")})
Meta = type("Meta", (type,), {"touch": property(noting("metaclass", 3)), "__call__": noting("class", 3)})
Class = Meta("Class", (), {"__doc__": ""})


class Descriptor:
    """An attribute of a class that is computed."""

    __get__ = noting("descriptor", 3)


class Holder:
    """Attributes that are there, beside some that are computed."""

    there = 4
    computed = Descriptor()
    touch = property(noting("property", 3))
    cached = functools.cached_property(noting("cached", 3))


def touch(*args, **kwargs):
    """What a text must not call."""
    RAN.append("function")
    return 3


lazy = types.ModuleType("lazy")
lazy.__getattr__ = touch  # type: ignore[method-assign]

NAMES = {
    "cuda": cuda, "int32": int32, "np": np, "sys": sys, "operator": operator, "smmux": smmux, "touch": touch,
    "trap": Trap(), "number": Number(3), "Class": Class, "holder": Holder(), "lazy": lazy, "N": 32,
    "ufunc": np.frompyfunc(touch, 1, 1), "partial": functools.partial(touch, 1), "bound": Trap().method,
    "caller": operator.methodcaller("touch"), "getter": operator.attrgetter("touch"), "pair": (Trap(), Trap()),
    "listed": [Trap()], "table": {0: Trap()},
}  # fmt: skip

EXPRESSIONS = [
    *(
        "touch()",
        "touch(1)",
        "trap()",
        "trap.touch",
        "trap.method()",
        "trap.nothing",
        "trap + 1",
        "1 + trap",
        "trap * 2",
    ),
    *("trap ** 2", "-trap", "~trap", "not trap", "trap == 1", "trap == trap", "trap < 1", "trap[0]", "len(trap)"),
    *("int(trap)", "float(trap)", "bool(trap)", "abs(trap)", "round(trap)", "divmod(trap, 2)", "min(trap, 1)"),
    *("trap if trap else 1", "trap and 1", "trap or 1", "1 in trap", "trap in (1, 2)", "trap is trap", "sum(trap)"),
    *("number", "number + 1", "number ** number", "number * N", "-number", "number == 3", "(number, 2)", "int(number)"),
    *("Class()", "Class.touch", "holder.there", "holder.computed", "holder.touch", "holder.cached", "lazy.touch"),
    *("lazy.a.b", "ufunc(3)", "partial()", "bound()", "caller(trap)", "getter(holder)", "pair[0] + 1", "pair == pair"),
    *("listed[0]", "listed == listed", "table[0]", "np.vectorize(touch)(3)", "np.array(trap)", "np.add(trap, 1)"),
    *("operator.add(trap, 1)", "operator.eq(trap, 1)", "operator.index(trap)", "operator.not_(trap)"),
    *("eval('touch()')", "exec('touch()')", "compile('touch()', '', 'eval')", "__import__('lazy').touch"),
    *("getattr(holder, 'touch')", "map(touch, (1,))", "sorted((1, 2), key=touch)", "type('A', (), {})()"),
    *("'{0.touch}'.format(holder)", "'%s' % trap", "f'{trap}'", "str(trap)", "repr(trap)", "hash(trap)"),
    *("(lambda: touch())()", "[touch() for _ in (1,)]", "(x := touch())", "{touch(): 1}", "touch.__call__()"),
    *("touch.__globals__['touch']()", "sys.modules['builtins'].eval('touch()')", "cuda.jit(touch)(1)"),
    *("smmux.sweep.fingerprint.fingerprint(trap)", "().__class__.__base__.__subclasses__()", "open('/dev/null')"),
    *("(9**9**7)", "'a' * 10**9", "(1,) * 10**10", "np.zeros(10**12)", "breakpoint()"),
]
PLACES = {
    "value": "a[0] = {}",
    "index": "a[{}] = 1",
    "dead": "if False:\n        a[0] = {}",
    "condition": "if {}:\n        a[0] = 1",
    "shape": "s = cuda.shared.array({} * 2, int32)\n    s[0] = a[0]\n    cuda.syncthreads()\n    a[0] = s[1]",
    "extent": "s = cuda.shared.array((4, {} + 1), int32)\n    s[0, 0] = 1\n    cuda.syncthreads()\n    a[0] = s[1, 0]",
    "type": "s = cuda.local.array(4, {})\n    s[0] = a[0]\n    a[1] = s[0]",
    "range": "for i in range({}):\n        a[i] = 1",
    "print": "print({})",
}
WHOLE = [
    "@touch\ndef k(a, v=touch()):\n    a[0] = v\n",
    "def k(a: touch()) -> touch():\n    x: touch() = 1\n    a[0] = x\n",
    "touch()\ndef k(a):\n    a[0] = 1\ntouch()\n",
    "class A(metaclass=touch):\n    touch()\n    def k(a):\n        a[0] = 1\n",
    "import lazy\nfrom lazy import *\ndef k(a):\n    import lazy\n    a[0] = 1\n",
    "def k(a):\n    global touch\n    assert touch(), touch()\n    a[0] = 1\n",
    "def k(a):\n    with touch():\n        a[0] = 1\n",
    "def k(a):\n    try:\n        touch()\n    finally:\n        a[0] = 1\n",
    "def k(a):\n    '''{touch()}'''\n    del trap\n    a[0] = 1\n",
    "def k(a, *, b=touch()):\n    a[0] = b\n",
    "async def k(a):\n    await touch()\n",
    "def k(a):\n    for trap[0] in trap:\n        a[0] = 1\n",
    "def k(a):\n    a[0], trap.x = trap\n",
    "def k(a):\n    trap[0] = a[0]\n    trap.x = 1\n    trap += 1\n",
    "def k(a):\n    match trap:\n        case Class():\n            a[0] = 1\n",
    "def k(a):\n    yield touch()\n",
    "def k(a):\n    raise touch()\n",
    "\\N{touch}",
    "def k(a):\n    a[0] = touch(\n",
]


def elements():
    return (np.arange(64, dtype=np.int32),)


def co(function):
    return lambda kernel: function(kernel, array="s", private=2)


EACH = 1
"""Ways that a text goes through at each place, but under the mark `slow`, where it goes through all."""


def pickled(kernel):
    """A kernel through a pickle, which looks for some functions in all modules: among these are names that warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return pickle.loads(pickle.dumps(kernel))


WAYS = {
    "simulate": lambda k: k.simulate(2, 32, elements()),
    "check": lambda k: k.simulate(2, 32, elements(), check="races", schedule="list", narrow=True),
    "launch": lambda k: k[2, 32](*elements()),
    "ir": lambda k: k.ir(*elements()),
    "portability": lambda k: k.portability(*elements()),
    "numba": lambda k: k.compile(elements(), typing="numba"),
    "source": lambda k: (k.source, repr(k), k._repr_html_(), k.signatures, k.definition.free),
    "fingerprint": lambda k: k.definition.fingerprint(),
    "pickle": pickled,
    "hw": lambda k: multiplex.hw(k).source,
    "isolate": lambda k: multiplex.isolate(k).source,
    "vtb": lambda k: multiplex.vtb(k).source,
    "fitted": lambda k: multiplex.vtb(k, n=3).fitted((2,), (32,)).source,
    "vtb_pipe": lambda k: multiplex.vtb_pipe(k).source,
    "co_hw": co(multiplex.co_hw),
    "co_vtb": lambda k: co(multiplex.co_vtb)(k).source,
    "analyze": lambda k: str(preload.analyze(k, 2, 32, elements())),
    "tile": lambda k: preload.tile(k, 2, 32, elements()).source,
    "advise": lambda k: str(smmux.advise(k, 2, 32, elements(), gpu="GTX480-16K")),
}


def ends_well(way, text):
    """Do something with a text; only errors that name it may come out, and nothing may have run."""
    RAN.clear()
    problem = ""
    try:
        way(from_source(text, NAMES))
    except (
        smmux.Error,
        SyntaxError,
        TypeError,
        ValueError,
        AttributeError,
        ImportError,
        pickle.PicklingError,
    ) as error:
        problem = str(error)
    assert not RAN, (text, RAN[:3], problem)


def in_places(number, text):
    """Kernels with an expression at every place, each with a few of the ways; a few texts in a row have all pairs."""
    ways = list(WAYS.values())
    for place, written in enumerate(PLACES.values()):
        for turn in range(EACH):
            way = ways[((number + place) * EACH + turn) % len(ways)]
            yield way, "def k(a):\n    " + written.format(text) + "\n"


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=EXPRESSIONS)
def test_expressions(number):
    for way, kernel in in_places(number, EXPRESSIONS[number]):
        ends_well(way, kernel)


@pytest.mark.slow
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_all_pairs(text):
    for written in PLACES.values():
        for way in WAYS.values():
            ends_well(way, "def k(a):\n    " + written.format(text) + "\n")


@pytest.mark.parametrize("text", WHOLE)
def test_statements(text):
    for way in WAYS.values():
        ends_well(way, text)


def test_device_functions():
    """Each with one of five ways: a few texts in a row have all."""
    ways = itertools.cycle(("simulate", "vtb", "hw", "advise", "fingerprint"))
    for text in EXPRESSIONS:
        try:
            inner = from_source(f"def f(x):\n    return x + {text}\n", NAMES, device=True)
        except SyntaxError:
            continue
        way = next(ways)
        RAN.clear()
        try:
            WAYS[way](from_source("def k(a):\n    a[0] = f(a[1])\n", {"cuda": cuda, "f": inner}))
        except (smmux.Error, TypeError):
            pass
        assert not RAN, (text, way, RAN[:3])


WORDS = [
    *EXPRESSIONS,
    "void(touch())",
    "int32[touch():]",
    "UniTuple(int32, 10**9)",
    "Tuple((touch(), int32))",
    "a" * 10**5,
]
READERS = {
    "signature": signatures.signatures_of,
    "jit": lambda text: cuda.jit(text),
    "argument": command_words.argument,
    "dimensions": command_words.dimensions,
    "private": command_words.private,
    "gpu": gpus.get,
    "form": lambda text: from_source("def k(a):\n    a[0] = 1\n", NAMES).simulate(1, 1, elements(), schedule=text),
    "option": lambda text: from_source("def k(a):\n    a[0] = 1\n", NAMES).simulate(1, 1, elements(), management=text),
}


@pytest.mark.parametrize("reader", READERS)
def test_words(reader, monkeypatch):
    monkeypatch.setattr("builtins.touch", touch, raising=False)
    for text in WORDS:
        RAN.clear()
        try:
            READERS[reader](text)
        except (smmux.Error, ValueError, TypeError, KeyError) as error:
            assert len(str(error)) < 2 * len(text) + 2000
        except Exception as error:
            assert type(error).__name__ == "ArgumentTypeError", text
        assert not RAN, (text, RAN[:3])


REASONS = {
    ("texts.py", "compile"): "finds the text of a function by comparing instructions; what it compiles is not executed",
    ("command_words.py", "runpy"): "runs the file that a user names on the command line, as `python FILE.py` does",
    ("command_words.py", "importlib"): "finds the file of a module that a user names, whose packages it imports",
    ("requests.py", "compile"): "the compiler's own",
    ("__init__.py", "importlib"): "imports modules of smmux when they are first named",
    ("function_source.py", "importlib"): "finds modules by the names that a kernel was pickled with, when unpickled",
    ("settings.py", "importlib"): "imports the module of smmux that owns a setting, in another process",
    ("tools.py", "subprocess"): "runs the vendor's compilers, which execute nothing of what they compile",
    ("tools.py", "importlib"): "finds the folder of the vendor's packages, without importing them",
    ("mangled_names.py", "subprocess"): "asks a demangler for names",
    ("numba_code.py", "importlib"): "imports Numba, where it is installed",
    ("triton_code.py", "importlib"): "imports Triton, where it is installed",
    ("texts.py", "importlib"): "reads the flags of `__future__`",
}
"""Where the package names what could run text, and why it may."""

BUILTINS = {"eval", "exec", "compile", "__import__", "breakpoint"}
MODULES = {"pickle", "marshal", "shelve", "code", "codeop", "runpy", "importlib", "imp", "subprocess", "dill"}


def names_of(tree):
    """Names in code that could run text, or import what does. Methods of that name are others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in BUILTINS and ast.unparse(node.value) == "builtins":
            yield node.attr
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (module.split(".")[0] for module in modules if module.split(".")[0] in MODULES)
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            yield node.arg


def test_what_could_run_text_has_a_reason():
    files = sorted((ROOT / "smmux").rglob("*.py"))
    found = {(path.name, name) for path in files for name in names_of(ast.parse(path.read_text()))}
    assert found == set(REASONS)
