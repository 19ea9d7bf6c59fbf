"""Statements of the random kernels of `python_kernels` that name parts of arrays, and read and store through them."""

from __future__ import annotations

from tests.numba.python_kernels import INPUTS, Writer
from tests.numba.python_numbers import KINDS
from tests.numba.random_views import run_time

OF_INPUTS = (
    *(("[2:14]", 12), ("[::2]", 8), ("[::-1]", 16), ("[U4:10 + U4]", 7), ("[12 + U4:U4:-1]", 9), ("[::-1][U4:]", 13)),
    *(("[:N4]", 12), ("[N4 - 4:][::-1]", 5), ("[U4:][::-1][U4:]", 10), ("[13 + U2:U4:-2]", 5), ("[U4::3][::-1]", 5)),
)
OF_BOXES = (
    *(("[I4, I3]", (5,)), ("[I4][I3]", (5,)), ("[I4]", (3, 5)), ("[:, I3]", (4, 5)), ("[::-1, I3, 1::2]", (4, 2))),
    *(("[I4, ::-1]", (3, 5)), ("[1:][U2:, I3][::-1]", (2, 5)), ("[:, ::-1, I5]", (4, 3)), ("[:, :, I5]", (4, 3))),
    *(("[I4, I3, ::-1][::-1]", (5,)), ("[U2:, ::-1]", (3, 3, 5)), ("[::-1][I4][::-1][I3]", (5,)), ("[1]", (3, 5))),
)
OF_OUTPUTS = (("[g]", 4), ("[g, ::-1]", 4), ("[g][U2:]", 3), ("[g, 3 - U2::-1]", 3))
"""Parts of the arrays, with the extents that may be counted on, in the words of `random_views`."""


def read(body: Writer) -> None:
    """A part of an input, and one of its elements."""
    name, kind = body.fresh("r"), body.one(body.features.kinds)
    part, extents = body.one((*OF_INPUTS, *OF_BOXES))
    array = "b" if isinstance(extents, tuple) else "a"
    body.line(f"{name} = {array}{kind}{run_time(body.rng, part, body.features.kinds, INPUTS)}")
    along = extents if isinstance(extents, tuple) else (extents,)
    element = f"{name}[{', '.join(map(body.index, along))}]"
    if len(along) > 1 and body.chance(40):
        element = name + "".join(f"[{body.index(extent)}]" for extent in along)
    body.line(f"{kind}{body.rng.randrange(3)} = {f'tame_{kind}({element})' if KINDS[kind].kind == 'f' else element}")


def store(body: Writer) -> None:
    """A part of the thread's own output, and a store to one of its elements."""
    name, kind = body.fresh("r"), body.one(body.features.kinds)
    part, extent = body.one(OF_OUTPUTS)
    body.line(f"{name} = o{kind}{run_time(body.rng, part, body.features.kinds, INPUTS)}")
    operation = "=" if KINDS[kind].kind == "f" else body.pick("=", "+=")
    body.line(f"{name}[{body.index(extent)}] {operation} {body.value(kind, 2)}")
