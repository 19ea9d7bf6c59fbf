"""Programs of a few lines, and edits of each that change what it computes: whatever has been kept is stale.

A program is a module `main` with a function `run`, which is called with the numbers, arrays and objects of `point`, and
further modules. Run as a script with numbers of edits, this file prints for each the keys and the results before
and after it, and of the first edit before it once more.
"""

# ruff: noqa: E501  each program on a line

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """title: of the edit. old, new: what the edit replaces, in whichever file has it. main: the text of the program.
    files: of its other modules, by path.
    value: whether only what is passed is another."""

    title: str
    old: str
    new: str
    main: str
    files: dict[str, str] = field(default_factory=dict)
    value: bool = False

    def texts(self, edited: bool) -> dict[str, str]:
        files = {"main.py": self.main, **self.files}
        if "\npoint" not in self.main:
            files["main.py"] += "\npoint = {'n': 3}\n"
        return {name: text.replace(self.old, self.new) if edited else text for name, text in files.items()}


def of_value(title: str, old: str, new: str, result: str = "str(type(x)) + repr(x)", setup: str = "") -> Edit:
    """The value of a point is another one."""
    main = f"import numpy as np\n{setup}\ndef run(x):\n    return {{'v': {result}}}\npoint = {{'x': {old}}}\n"
    return Edit(title, f"{{'x': {old}}}", f"{{'x': {new}}}", main, value=True)


def of_module(title: str, main: str, text: str = "def f(n):\n    return n + 1\n", **files: str) -> Edit:
    """A module `h` that is used in some way adds 2 in place of 1."""
    return Edit(title, "n + 1", "n + 2", main, files or {"h.py": text})


def of_class(title: str, old: str, new: str, text: str, point: str = "A(1)", use: str = "x.f()") -> Edit:
    """A class of the program, whose object is passed."""
    return Edit(title, old, new, f"{text}\ndef run(x):\n    return {{'v': {use}}}\npoint = {{'x': {point}}}\n")


RUN = "def run(n):\n    return {'v': f(n)}\n"
KERNEL = """
import numpy as np
from smmux import cuda
FACTOR = 2
@cuda.jit(device=True)
def helper(x):
    return x * 3
@cuda.jit
def kernel(a):
    i = cuda.grid(1)
    a[i] = helper(a[i]) * FACTOR
def run(n):
    a = np.arange(32, dtype=np.int32)
    r = kernel.simulate(1, 32, (a,), gpu="GTX285")
    return {'v': int(a.sum())}
"""
NARROW = """
import warnings
from contextlib import nullcontext
import numpy as np
from smmux import cuda, narrow
@cuda.jit
def kernel(a):
    a[0] /= 3
def run(n):
    a = np.ones(1)
    with warnings.catch_warnings(action="ignore"):
        kernel[1, 1](a)
    return {'v': float(a[0])}
s = narrow()
s.__enter__()
"""
ORDER = "x.strides[0] * 1000 + x.strides[-1]"
TO_FILE = "def f(n):\n    try:\n        r = n\n    except ValueError:\n        r = 0\n    {}:\n        r = r + 1\n    return r\n"
EDITS = [
    # What points hold.
    of_value("C to Fortran order", "np.ones((4, 8))", "np.asfortranarray(np.ones((4, 8)))", ORDER),
    of_value("a step between elements", "np.arange(8)[:4]", "np.arange(4)[::1].repeat(2)[::2]", "x.strides[0]"),
    of_value("where a view begins", "a[2:4]", "a[3:5]", "x.ctypes.data - x.base.ctypes.data", "a = np.ones(8)"),
    of_value("not writeable", "np.ones(4)", "np.frombuffer(np.ones(4).tobytes())", "x.flags.writeable"),
    of_value("a mask", "np.ma.array([1, 2], mask=[0, 0])", "np.ma.array([1, 2], mask=[0, 1])", "int(x.sum())"),
    of_value("a fill value", "np.ma.array([1], fill_value=1)", "np.ma.array([1], fill_value=2)", "int(x.fill_value)"),
    of_value("a list to a tuple", "[1, 2]", "(1, 2)"),
    of_value("a tuple to a list inside", "{'a': (1,)}", "{'a': [1]}"),
    of_value("a set to a frozenset", "{1}", "frozenset({1})"),
    of_value("an int to a float", "1", "1.0"),
    of_value("an int to a bool", "1", "True"),
    of_value("zero to minus zero", "0.0", "-0.0"),
    of_value("a number to a text", "1", "'1'"),
    of_value("a text to bytes", "'a'", "b'a'"),
    of_value("bytes to a bytearray", "b'a'", "bytearray(b'a')"),
    of_value("float32 to float64", "np.float32(1)", "np.float64(1)"),
    of_value("the order of bytes", "np.ones(2, '<i4')", "np.ones(2, '>i4')", "x.dtype.byteorder"),
    of_value("a shape", "np.ones((2, 3))", "np.ones((3, 2))", "x.shape[0]"),
    of_value("an element", "np.zeros(3)", "np.eye(3)[1]", "float(x.sum())"),
    of_value("a scalar to an array", "np.float32(1)", "np.ones((), np.float32)"),
    of_value("an array to a matrix", "np.ones((2, 2))", "np.ones((2, 2)).view(M)", setup="class M(np.ndarray): pass"),
    of_value("fields of a dtype", "np.zeros(2, [('a', 'i4')])", "np.zeros(2, [('b', 'i4')])", "x.dtype.names[0]"),
    of_value("the order of a dict", "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"),
    of_value("a range", "range(3)", "range(0, 3, 2)"),
    of_value("one array twice to two", "[a, a]", "[a, a.copy()]", "x[0] is x[1]", "a = np.zeros(2)"),
    of_value("a view to a copy", "[a, a[2:]]", "[a, a[2:].copy()]", "bool(np.shares_memory(*x))", "a = np.arange(9)"),
    of_value("where a view lies", "[a, a[2:4]]", "[a, a[1:3]]", "x[1].ctypes.data - x[0].ctypes.data", "a = np.ones(9)"),
    of_value("one list twice to two", "[a, a]", "[a, [1]]", "x[0] is x[1]", "a = [1]"),
    of_value("a Decimal", "D('1.0')", "D('1.00')", "str(x)", "from decimal import Decimal as D"),
    of_value("a path", "P('a')", "P('b')", "str(x)", "from pathlib import Path as P"),
    of_value("a deque", "D([1])", "D([1], 3)", "str(x)", "from collections import deque as D"),
    of_value("an OrderedDict", "D(a=1, b=2)", "D(b=2, a=1)", "str(x)", "from collections import OrderedDict as D"),
    of_value("a generator of numbers", "R(1)", "R(2)", "x.random()", "from random import Random as R"),
    of_value("NumPy's generator", "R(1)", "R(2)", "float(x.random())", "R = np.random.default_rng"),
    of_value("a partial's argument", "P(f, 1)", "P(f, 2)", "x()", "from functools import partial as P\ndef f(n): return n"),
    of_value("a lambda", "lambda: 1", "lambda: 2", "x()"),
    of_value("a bound method's object", "[1].count", "[1, 1].count", "x(1)"),
    of_value("a function of NumPy", "np.sin", "np.cos", "float(x(1.0))"),
    of_value("a type", "int", "float", "str(x(1))"),
    of_value("a machine", "'GTX285'", "'GTX480-16K'", "x"),
    of_value("a machine's parameter", "g", "g.replace(sm_count=7)", "x.sm_count", "from smmux import gpus\ng = gpus.get('GTX285')"),
    of_value("a machine's description", "g", "g.replace(description='x')", "x.description", "from smmux import gpus\ng = gpus.get('GTX285')"),
    # Classes and objects of the program.
    of_value("a member of an IntEnum", "E.A", "E.B", "int(x)", "import enum\nclass E(enum.IntEnum):\n    A = 1\n    B = 2"),
    of_class("the value of an IntEnum", "A = 1", "A = 2", "import enum\nclass E(enum.IntEnum):\n    A = 1", "E.A", "int(x)"),
    of_class("an IntEnum to an Enum", "IntEnum", "Enum", "import enum\nclass E(enum.IntEnum):\n    A = 1", "E.A", "x == 1"),
    of_class("a class of a number", "class A", "class B", "class A(int): pass\nT = ([*vars()])[-1]", "globals()[T](1)", "str(type(x))"),
    of_class("a field that is not compared", "A(1)", "A(2)", "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    k: int = field(compare=False)", use="x.k"),
    of_class("a default factory", "[1]", "[2]", "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    k: int\n    l: list = field(default_factory=lambda: [1])", use="str(A(1).l)"),
    of_class("a slot", "A(1)", "A(2)", "class A:\n    __slots__ = 'k'\n    def __init__(self, k): self.k = k", use="x.k"),
    of_class("a slot of a base", "A(1)", "A(2)", "class B:\n    __slots__ = 'k'\nclass A(B):\n    __slots__ = ()\n    def __init__(self, k): self.k = k", use="x.k"),
    of_class("a private attribute", "A(1)", "A(2)", "class A:\n    def __init__(self, k): self.__k = k\n    def f(self): return self.__k"),
    of_class("__new__", "k + 1", "k + 2", "class A(int):\n    def __new__(cls, k): return int.__new__(cls, k + 1)", use="int(x)"),
    of_class("__new__ in the function", "k + 1", "k + 2", "class A(int):\n    def __new__(cls, k): return int.__new__(cls, k + 1)", "1", "int(A(x))"),
    of_class("__init__", "k + 1", "k + 2", "class A:\n    def __init__(self, k): self.k = k + 1", "1", "A(x).k"),
    of_class("__call__", "k + 1", "k + 2", "class A:\n    def __init__(self, k): self.k = k\n    def __call__(self): return self.k + 1", use="x()"),
    of_class("__getattr__", "return 1", "return 2", "class A:\n    def __init__(self, k): pass\n    def __getattr__(self, n): return 1", use="x.any"),
    of_class("__add__", "return 1", "return 2", "class A:\n    def __init__(self, k): pass\n    def __add__(self, n): return 1", use="x + 1"),
    of_class("a property", "return 1", "return 2", "class A:\n    def __init__(self, k): pass\n    @property\n    def p(self): return 1", use="x.p"),
    of_class("a property's setter", "v + 1", "v + 2", "class A:\n    def __init__(self, k): self.p = k\n    @property\n    def p(self): return self.v\n    @p.setter\n    def p(self, v): self.v = v + 1", "1", "A(x).p"),
    of_class("a class method", "return 1", "return 2", "class A:\n    def __init__(self, k): pass\n    @classmethod\n    def f(cls): return 1"),
    of_class("a static method", "return 1", "return 2", "class A:\n    def __init__(self, k): pass\n    @staticmethod\n    def f(): return 1"),
    of_class("a cached property", "return 1", "return 2", "from functools import cached_property\nclass A:\n    def __init__(self, k): pass\n    @cached_property\n    def p(self): return 1", use="x.p"),
    of_class("a base class", "return 1", "return 2", "class B:\n    def f(self): return 1\nclass A(B):\n    def __init__(self, k): pass"),
    of_class("the order of bases", "A(B, C)", "A(C, B)", "class B:\n    def f(self): return 1\nclass C:\n    def f(self): return 2\nclass A(B, C):\n    def __init__(self, k): pass"),
    of_class("a metaclass", "return 1", "return 2", "class M(type):\n    def __len__(cls): return 1\nclass A(metaclass=M):\n    def __init__(self, k): pass", use="len(type(x))"),
    of_class("a class attribute", "K = 1", "K = 2", "class A:\n    K = 1\n    def __init__(self, k): pass\n    def f(self): return self.K"),
    of_class("a class attribute set later", "A.K = 1", "A.K = 2", "class A:\n    def __init__(self, k): pass\n    def f(self): return self.K\nA.K = 1"),
    of_class("a named tuple", "A(1)", "A(2)", "from typing import NamedTuple\nclass A(NamedTuple):\n    k: int", use="x.k"),
    of_class("a list with an attribute", "'a'", "'b'", "class A(list):\n    pass\na = A([1])\na.k = 'a'", "a", "x.k"),
    of_class("what a list of a class holds", "A([1])", "A([2])", "class A(list):\n    pass", "A([1])", "x[0]"),
    of_class("what pickling leaves out", "A(1)", "A(2)", "class A:\n    def __init__(self, k): self.k = k\n    def __getstate__(self): return {}\n    def __reduce__(self): return A, (0,)", use="x.k"),
    of_class("what a repr leaves out", "A(1)", "A(2)", "class A:\n    def __init__(self, k): self.k = k\n    def __repr__(self): return 'A'\n    def __eq__(self, o): return True\n    __hash__ = None", use="x.k"),
    of_class("an attribute of an array's subclass", "a.k = 1", "a.k = 2", "import numpy as np\nclass A(np.ndarray): pass\na = np.ones(2).view(A)\na.k = 1", "a", "x.k"),
    # Ways to a function of another module.
    of_module("a function imported by name", f"from h import f\n{RUN}"),
    of_module("a module", "import h\ndef run(n):\n    return {'v': h.f(n)}\n"),
    of_module("import in the function", "def run(n):\n    import h\n    return {'v': h.f(n)}\n"),
    of_module("from ... import in the function", "def run(n):\n    from h import f\n    return {'v': f(n)}\n"),
    of_module("a module of a package", "import pk.h\ndef run(n):\n    return {'v': pk.h.f(n)}\n", **{"pk/__init__.py": "", "pk/h.py": "def f(n):\n    return n + 1\n"}),
    of_module("a package without __init__", "import pk.h\ndef run(n):\n    return {'v': pk.h.f(n)}\n", **{"pk/h.py": "def f(n):\n    return n + 1\n"}),
    of_module("a relative import", "import pk.g\ndef run(n):\n    return {'v': pk.g.f(n)}\n", **{"pk/__init__.py": "", "pk/g.py": "def f(n):\n    from .h import f\n    return f(n)\n", "pk/h.py": "def f(n):\n    return n + 1\n"}),
    of_module("__init__ of a package", "import pk\ndef run(n):\n    return {'v': pk.f(n)}\n", **{"pk/__init__.py": "def f(n):\n    return n + 1\n"}),
    of_module("getattr", "import h\ndef run(n):\n    return {'v': getattr(h, 'f')(n)}\n"),
    of_module("getattr of a made name", "import h\ndef run(n):\n    return {'v': getattr(h, chr(102))(n)}\n"),
    of_module("another name of a module", "import h\ndef run(n):\n    m = h\n    return {'v': m.f(n)}\n"),
    of_module("a module in a list", "import h\nL = [h]\ndef run(n):\n    return {'v': L[0].f(n)}\n"),
    of_module("a module in a default", "import h\ndef run(n, m=h):\n    return {'v': m.f(n)}\n"),
    of_module("sys.modules", "import h, sys\ndef run(n):\n    return {'v': sys.modules['h'].f(n)}\n"),
    of_module("importlib with a text", "import importlib\nh = importlib.import_module('h')\ndef run(n):\n    return {'v': h.f(n)}\n"),
    of_module("globals()", "from h import f\ndef run(n):\n    return {'v': globals()['f'](n)}\n"),
    of_module("a function of a function", f"from g import f\n{RUN}", **{"g.py": "import h\ndef f(n):\n    return h.f(n)\n", "h.py": "def f(n):\n    return n + 1\n"}),
    of_module("two modules that import each other", f"from g import f\n{RUN}", **{"g.py": "import h\ndef f(n):\n    return h.f(n)\n", "h.py": "import g\ndef f(n):\n    return n + 1\n"}),
    of_module("star import", f"from h import *\n{RUN}"),
    of_module("a decorator", "from h import d\n@d\ndef run(n):\n    return {'v': n}\n", "def d(g):\n    def w(n):\n        n = n + 1\n        return g(n)\n    return w\n"),
    of_module("a decorator that wraps", "from h import d\n@d\ndef run(n):\n    return {'v': n}\n", "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(n):\n        n = n + 1\n        return g(n)\n    return w\n"),
    of_module("a function named as NumPy's", f"from h import f\n{RUN}", "import functools, numpy as np\n@functools.wraps(np.sum)\ndef f(n):\n    return n + 1\n"),
    of_module("a memo", f"from h import f\n{RUN}", "import functools\n@functools.cache\ndef f(n):\n    return n + 1\n"),
    of_module("a generic function", f"from h import f\n{RUN}", "import functools\n@functools.singledispatch\ndef f(n): return n\n@f.register\ndef _(n: int): return n + 1\n"),
    of_module("a table of functions", "import h\ndef run(n):\n    return {'v': h.T['f'](n)}\n", "T = {}\ndef r(f):\n    T['f'] = f\n@r\ndef _(n):\n    return n + 1\n"),
    of_module("a function of a text", f"from h import f\n{RUN}", "exec('def f(n):\\n    return n + 1\\n')\n"),
    of_module("a lambda of a text", f"from h import f\n{RUN}", "f = eval('lambda n: n + 1')\n"),
    of_module("a ufunc of a function", f"from h import f\n{RUN}", "import numpy as np\nf = np.vectorize(lambda n: n + 1)\n"),
    of_module("hooks of a module", "import h\ndef run(n):\n    return {'v': h.any(n)}\n", "def __getattr__(name):\n    return lambda n: n + 1\n"),
    of_module("what a module patches", "import h, math\ndef run(n):\n    return {'v': math.fsum(n)}\n", "import math\nmath.fsum = lambda n: n + 1\n"),
    of_module("a class of another module", "import h\ndef run(n):\n    return {'v': h.A().f(n)}\n", "class A:\n    def f(self, n):\n        return n + 1\n"),
    # Inside functions, and values that they meet.
    Edit("try/except to try/else", "except ValueError", "else", "def f(n):\n    try:\n        r = n\n    except ValueError:\n        r = 5\n    return r\n".replace("    except", "    except KeyError:\n        r = 1\n    except") + RUN),
    Edit("what is caught", "KeyError", "IndexError", "def f(n):\n    try:\n        try:\n            return [][n]\n        except KeyError:\n            return 1\n    except LookupError:\n        return 2\n" + RUN),
    Edit("a constant", "n + 1", "n + 2", f"def f(n):\n    return n + 1\n{RUN}"),
    Edit("an operator", "n + 2", "n * 2", f"def f(n):\n    return n + 2\n{RUN}"),
    Edit("a default", "k=1", "k=2", f"def f(n, k=1):\n    return n + k\n{RUN}"),
    Edit("a keyword's default", "k=1", "k=2", f"def f(n, *, k=1):\n    return n + k\n{RUN}"),
    Edit("a captured variable", "g(1)", "g(2)", f"def g(k):\n    return lambda n: n + k\nf = g(1)\n{RUN}"),
    Edit("a global", "K = 1", "K = 2", f"K = 1\ndef f(n):\n    return n + K\n{RUN}"),
    Edit("a global of a nested function", "K = 1", "K = 2", f"K = 1\ndef f(n):\n    return (lambda: n + K)()\n{RUN}"),
    Edit("a nested function", "n + 1", "n + 2", f"def f(n):\n    def g():\n        return n + 1\n    return g()\n{RUN}"),
    Edit("an attribute of a function", "f.k = 1", "f.k = 2", f"def f(n):\n    return n + f.k\nf.k = 1\n{RUN}"),
    Edit("an element of a global", "T = [1]", "T = [2]", f"T = [1]\ndef f(n):\n    return n + T[0]\n{RUN}"),
    Edit("the name of what is called", "n.real", "n.imag", f"def f(n):\n    return n.real\n{RUN}"),
    Edit("a global of another module set by main", "h.K = 1", "h.K = 2", "import h\nh.K = 1\ndef run(n):\n    return {'v': h.f(n)}\n", {"h.py": "K = 0\ndef f(n):\n    return n + K\n"}),
    Edit("a setting from outside", "'1'", "'2'", "import os\nos.environ['KK'] = '1'\nimport h\ndef run(n):\n    m = h\n    return {'v': m.f(n)}\n", {"h.py": "import os\nK = int(os.environ['KK'])\ndef f(n):\n    return n + K\n"}),
    Edit("a context variable", "V.set(1)", "V.set(2)", f"from contextvars import ContextVar\nV = ContextVar('V')\nV.set(1)\ndef f(n):\n    return n + V.get()\n{RUN}"),
    Edit("a module without a file", "n + 1", "n + 2", "import types\nm = types.ModuleType('m')\nexec('def f(n):\\n    return n + 1', vars(m))\ndef run(n):\n    return {'v': m.f(n)}\n"),
    Edit("names of an own dictionary", "n + 1", "n + 2", "D = {}\nexec('def f(n):\\n    return n + 1', D)\ndef run(n):\n    return {'v': D['f'](n)}\n"),
    # Kernels and settings.
    Edit("a kernel", "i = cuda.grid(1)", "i = 31 - cuda.grid(1) // 2", KERNEL),
    Edit("a device function", "x * 3", "x * 4", KERNEL),
    Edit("a number that a kernel captures", "FACTOR = 2", "FACTOR = 4", KERNEL),
    Edit("the machine of a launch", '"GTX285"', '"GTX480-16K"', KERNEL.replace("int(a.sum())", "r.cycles")),
    Edit("the current machine", "'GTX285'", "'GTX480-48K'", "from smmux import gpus\ngpus.set_current('GTX285')\ndef run(n):\n    return {'v': gpus.current().name}\n"),
    Edit("narrow", "s = narrow()", "s = nullcontext()", NARROW),
]  # fmt: skip


def made(edit: Edit, edited: bool) -> dict[str, object]:
    """Key and result of a program, in a process that has loaded nothing of it."""
    from smmux.sweep.fingerprint import Walk
    from smmux.sweep.lookup import Lookup

    with tempfile.TemporaryDirectory() as folder:
        for name, text in edit.texts(edited).items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(textwrap.dedent(text))
        sys.path.insert(0, folder)
        main = importlib.import_module("main")
        [key] = Lookup(None, main.run, [main.point]).keys
        point = Walk().digest(main.point).hex()
        result = main.run(**main.point)["v"]
    return {"key": key, "point": point, "result": f"{type(result).__name__} {result}"}


def forked(edit: Edit, edited: bool) -> dict[str, object]:
    """The same, from a copy of this process."""
    reads, writes = os.pipe()
    if not os.fork():
        try:
            found = made(edit, edited)
        except BaseException as error:
            found = {"error": repr(error)}
        os.write(writes, json.dumps(found).encode())
        os._exit(0)
    os.close(writes)
    with open(reads) as file:
        text = file.read()
    os.wait()
    return json.loads(text)


if __name__ == "__main__":
    from smmux.sweep.modules import environment

    environment()
    for number, edit in enumerate(EDITS[slice(*map(int, sys.argv[1:]))]):
        runs = [forked(edit, edited) for edited in (False, True, *[False] * (number == 0))]
        sys.stdout.write(json.dumps([edit.title, *runs]) + "\n")
