"""Words of the command line as Python values: sizes, kernels of a file, arguments of a kernel."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import math
import re
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smmux
from smmux.kernels.kernel import Kernel

__all__ = ["argument", "dimensions", "file_and_kernel", "file_of_module", "kernel_of", "private"]


def private(text: str) -> dict[str, Any]:
    """`ARRAY=N` as arguments of the collaborative passes."""
    array, _, rows = text.partition("=")
    if not array or not rows.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not ARRAY=N")
    return {"array": array, "private": int(rows)}


def dimensions(text: str) -> tuple[int, ...]:
    """`N`, `X,Y` or `X,Y,Z` as a size, for `argparse`."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is none of N, X,Y and X,Y,Z") from None


def file_and_kernel(place: str) -> tuple[str, str]:
    """Both parts of `FILE:KERNEL`, where the kernel may be of a namespace of C++; no file where there is one part.

    >>> file_and_kernel("code.cu:ours::fill"), file_and_kernel("code.cu")
    (('code.cu', 'ours::fill'), ('', 'code.cu'))
    """
    *path, name = re.split(r"(?<!:):(?!:)", place)
    return ":".join(path), name


def kernel_of(place: str) -> Any:
    """The kernel of `FILE.py:KERNEL`, or of `MODULE:KERNEL`."""
    path, name = file_and_kernel(place)
    if not path:
        raise ValueError(f"{place!r} is not FILE.py:KERNEL")
    path = file_of_module(path) or path
    folder = Path(path).resolve().parent
    sys.path.insert(0, str(folder))  # as `python FILE.py` does
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
            names = runpy.run_path(path)
    except SyntaxError as error:  # of the file, or of one that it imports
        if isinstance(error, smmux.Error):
            raise
        place = ":".join(str(part) for part in (error.filename or path, error.lineno) if part is not None)
        raise ValueError(f"{place}: {error.msg}") from None
    except ImportError as error:
        raise ValueError(f"{_innermost(error) or path}: {error}") from None
    except (Exception, SystemExit) as error:
        place = _innermost(error, folder) or _innermost(error)
        if getattr(error, "filename", None) and (not place or isinstance(error, smmux.Error)):
            raise  # the file cannot be read, or the message says where
        place = place or path  # what Python before 3.11.4 says of a file with a zero byte has none
        message = " ".join(str(error).split())
        raise ValueError(": ".join(filter(None, (place, type(error).__name__, message)))) from None
    kernels = {key: value for key, value in names.items() if isinstance(value, Kernel) and not value.device}
    if name not in kernels:
        numba = "; it is one of Numba's: import cuda from smmux" if hasattr(names.get(name), "py_func") else ""
        raise ValueError(f"{path} has no kernel {name!r}; it has {', '.join(kernels) or 'none'}{numba}")
    return kernels[name]


def file_of_module(name: str) -> str | None:
    """The file of a module that Python finds by its dotted name; None for what is no such name."""
    if Path(name).exists() or not all(part.isidentifier() for part in name.split(".")):
        return None
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return found.origin if found and found.has_location else None


OWN_ROOMS = ("base", "cuda", "kernels", "language", "running", "shell", "source")
"""Rooms of smmux whose frames stand between a kernel's file and what failed."""


def _innermost(error: BaseException, folder: Path | None = None) -> str:
    """FILE:LINE where an error came up in a kernel's file or in one that it imports, of a folder if one is given; empty
    if none is at fault."""
    home = Path(smmux.__file__).parent
    own = home, *(home / room for room in OWN_ROOMS)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    places = [
        f"{f.filename}:{f.lineno}"
        for f in frames
        if Path(f.filename).parent not in own and (folder is None or Path(f.filename).resolve().parent == folder)
    ]
    return places[-1] if places else ""


_ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>\d+(, ?\d+)*)\](=(?P<fill>.+))?")
_SCALAR = re.compile(r"(?P<dtype>[a-z]+\d*)\((?P<value>[^()]*)\)")
_WORDS = {"True": True, "False": False, "None": None}


def argument(text: str) -> Any:
    """A kernel argument from its text on the command line.

    >>> argument("7"), argument("0.5"), argument("int32[2,2]=arange").tolist(), argument("float32[2]=-1.5").tolist()
    (7, 0.5, [[0, 1], [2, 3]], [-1.5, -1.5])
    >>> argument("(1, (0.5,))"), argument("float64(2)").dtype.name
    ((1, (0.5,)), 'float64')
    """
    if text.startswith("(") and text.endswith(")"):
        return tuple(argument(part) for part in _parts(text))
    if text in _WORDS:
        return _WORDS[text]
    try:
        if text.endswith(".npy"):
            return _stored(text)
        if match := _ARRAY.fullmatch(text):
            return _array(match["dtype"], tuple(int(n) for n in match["shape"].split(",")), match["fill"] or "zeros")
        if match := _SCALAR.fullmatch(text):
            return np.full(
                (), _fitting(_number(match["value"], "no number"), _numeric(match["dtype"])), match["dtype"]
            )[()]
    except (ValueError, TypeError, MemoryError) as error:
        raise ValueError(f"argument {text!r}: {error}") from None
    except OSError as error:
        raise ValueError(f"argument {text!r}: {error.strerror or error}") from None
    others = "True, False, None, dtype(number), dtype[shape], dtype[shape]=FILL, NAME.npy and a tuple (1,float32[4])"
    try:
        return _number(text, f"none of a number, {others}")
    except ValueError as error:
        raise ValueError(f"argument {error}") from None


def _parts(text: str) -> list[str]:
    """The items of a tuple, `(a, b, ...)`; an item may be a tuple, too."""
    items, depth = [""], 0
    for piece in re.split(r"([()]|,(?![^\[]*\]))", text[1:-1]):
        depth += (piece == "(") - (piece == ")")
        if piece == "," and not depth:
            items.append("")
        else:
            items[-1] += piece
    found = [item.strip() for item in items]
    return found if found[-1] else found[:-1]  # (1,) has one item


def _stored(path: str) -> NDArray[Any]:
    """The array of a file."""
    try:
        array = np.load(path)
    except (ValueError, EOFError):  # NumPy's advice is to run what the file says
        array = None
    if not isinstance(array, np.ndarray):
        raise ValueError("the file is no array of numbers as numpy.save writes them")
    return array


def _array(dtype: str, shape: tuple[int, ...], fill: str) -> NDArray[Any]:
    array = np.zeros(math.prod(shape), _numeric(dtype))
    if fill == "random":
        array[:] = np.random.default_rng(0).integers(0, 128, array.size) / (8 if dtype.startswith("float") else 1)
    elif fill == "arange":
        _fitting(max(array.size - 1, 0), array.dtype)
        array[:] = np.arange(array.size)
    elif fill != "zeros":
        number = 1 if fill == "ones" else _number(fill, "none of zeros, ones, arange, random and a number")
        array[:] = _fitting(number, array.dtype)
    return array.reshape(shape)


def _numeric(dtype: str) -> np.dtype[Any]:
    """A data type of numbers by its name; ValueError or TypeError for another one."""
    found = np.dtype(dtype)
    if found.kind not in "biufc":
        raise ValueError(f"{dtype} is no data type of numbers")
    return found


def _number(text: str, otherwise: str) -> int | float:
    """A number from its text; ValueError, which says what another text is, if it is none."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is {otherwise}")


def _fitting(value: int | float, dtype: np.dtype[Any]) -> int | float:
    """A number as elements of a type hold it; ValueError where they would hold another, but for a float's rounding."""
    if dtype.kind in "fc":
        largest = float(np.finfo(dtype).max)
        if largest < abs(value) < math.inf:
            raise ValueError(f"{value} does not fit {dtype}, which ends at {largest:.3g}")
        return value
    if not math.isfinite(value) or value != int(value):
        raise ValueError(f"{value} is no integer, as {dtype} holds")
    low, high = (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    if not low <= value <= high:
        raise ValueError(f"{value} does not fit {dtype} ({low} to {high})")
    return int(value)
