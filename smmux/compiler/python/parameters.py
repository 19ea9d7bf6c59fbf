"""The kernel's arguments as values, each in its place among the parameter words."""

from __future__ import annotations

from dataclasses import replace

from smmux.compiler import ir
from smmux.compiler.build import memory64
from smmux.compiler.build.numbers import DTYPES, INT32_MAX, INT32_MIN, MACHINE_TYPE, Complex, Kind, Value
from smmux.compiler.python import floats, records
from smmux.compiler.python.captured import lift
from smmux.compiler.python.context import Frame
from smmux.compiler.python.convert import result
from smmux.compiler.python.promotion import Typing
from smmux.compiler.python.typed_values import Anything, ArrayRef, Static, Tuple
from smmux.compiler.signature import ArrayType, ScalarType, Signature, TupleType, Type as ArgumentType
from smmux.language.types import Record, Scalar


class _Words:
    """Hands out parameter words in the order of the flattened arguments."""

    def __init__(self, f: Frame) -> None:
        self.f = f
        self.word = 0
        self.arrays = 0
        self.place = 0  # among the flattened arguments

    def take(self, type: ArgumentType, name: str) -> Anything:
        """The value of an argument."""
        if isinstance(type, TupleType):
            return Tuple(tuple(self.take(item, f"{name}[{i}]") for i, item in enumerate(type.items)), type.names)
        if isinstance(type, ArrayType):
            return self._array(type, name)
        return self._scalar(type, name)

    def _array(self, type: ArrayType, name: str) -> ArrayRef:
        function = self.f.ctx.function
        space = ir.Space.TEXTURE if type.texture else ir.Space.GLOBAL
        size, count, signed = type.dtype.dtype.itemsize, type.span, False
        if isinstance(type.dtype, Scalar):
            signed = DTYPES[type.dtype.name].signed
            size, count = memory64.layout(space, DTYPES[type.dtype.name], type.span)
        array = ir.Storage(
            space,
            self.arrays,
            name,
            size,
            count,
            param=self.word,
            signed=signed,
            align=type.align,
            before=type.before * type.dtype.dtype.itemsize,
            loc=self.f.loc(self.f.source.node),
        )
        function.arrays.append(array)
        function.params.append(ir.Param(self.word, ir.Type.U32, name))
        self.arrays += 1
        self.word += 1
        self.place += 1
        kind = records.structure(type.dtype) if isinstance(type.dtype, Record) else type.dtype
        whole = ArrayRef(array, kind, type.shape, type.strides, readonly=type.readonly)
        return replace(whole, shape=(), strides=()) if type.record else whole

    def _scalar(self, type: ScalarType, name: str) -> Anything:
        if type.name == "none":
            return Static(None)
        if type.name in ("complex64", "complex128"):
            return self._complex(type, name)
        kind = self._kind(type)
        if kind.wide and not (kind is Kind.WEAK_INT and type.name == "int32"):
            return self._of_two_words(kind, name)
        machine = ir.Type.S32 if kind is Kind.BOOL else MACHINE_TYPE[kind]
        param = ir.Param(self.word, machine, name)
        self.f.ctx.function.params.append(param)
        if not type.large:
            self.f.ctx.small.add(self.word)
        if kind.integral:
            self.f.ctx.function.scalars[self.word] = self.place, 0
        self.word += 1
        self.place += 1
        if kind is Kind.WEAK_INT:
            return Value(kind, param, None, INT32_MIN, INT32_MAX)
        if kind is Kind.FLOAT16:
            return floats.round16(self.f, param)
        if kind is not Kind.BOOL:
            return result(kind, param, drift=type.python and kind is Kind.FLOAT32)
        return result(kind, self.f.b.op("setp.ne.s32", ir.Type.PRED, param, ir.Imm(0, ir.Type.S32)), 0, 1)

    def _kind(self, type: ScalarType) -> Kind:
        """The type of a number; Python's own are as wide as Python has them beside 64-bit data."""
        kind = Kind(type.name)
        if not type.python or self.f.narrow:
            return kind
        if self.f.typing is Typing.NUMBA:
            return Kind.FLOAT64 if kind.floating else Kind.INT64
        return Kind.WEAK_FLOAT if kind.floating else Kind.WEAK_INT

    def _of_two_words(self, kind: Kind, name: str) -> Value:
        wide = {Kind.UINT64: "u64", Kind.FLOAT64: "f64", Kind.WEAK_FLOAT: "f64"}.get(kind, "s64")
        pair = [ir.Param(self.word + i, ir.Type.U32, name, w) for i, w in enumerate((wide, "high"))]
        self.f.ctx.function.params.extend(pair)
        if kind.integral:
            self.f.ctx.function.scalars.update({self.word + i: (self.place, i) for i in range(2)})
        self.word += 2
        self.place += 1
        return memory64.number(kind, *pair)

    def _complex(self, type: ScalarType, name: str) -> Complex:
        """A complex number: two words, or four."""
        double = type.name == "complex128" if not type.python else not self.f.narrow
        kind = Kind.FLOAT32
        if double:
            kind = Kind.WEAK_FLOAT if type.python and self.f.typing is Typing.WIDE else Kind.FLOAT64
        count = 4 if double else 2
        first = "c128" if double else "c64"
        parts = [
            ir.Param(self.word + i, MACHINE_TYPE[kind] if not double else ir.Type.U32, name, "high" if i else first)
            for i in range(count)
        ]
        self.f.ctx.function.params.extend(parts)
        self.word += count
        self.place += 1
        if double:
            return Complex(memory64.number(kind, *parts[:2]), memory64.number(kind, *parts[2:]))
        return Complex(Value(kind, parts[0]), Value(kind, parts[1]))


def parameters(f: Frame, signature: Signature) -> dict[str, Anything]:
    """The kernel's parameters by name; missing ones take their defaults."""
    source, names = f.source, f.source.parameters
    given = len(signature.arguments)
    if given > len(names) + len(source.rest) or any(name not in source.defaults for name in names[given:]):
        missing = [repr(name) for name in names[given:] if name not in source.defaults]
        hint = f": {' and '.join(missing)} missing" if missing else ""
        hint += "; put @staticmethod above @cuda.jit, and leave out self" if names[:1] == ("self",) else ""
        raise f.error(source.node, f"kernel {source.name!r} takes {len(names)} arguments, {given} given{hint}")
    words = _Words(f)
    every = (*names, *source.rest)
    bound = {name: words.take(type, name) for name, type in zip(every, signature.arguments, strict=False)}
    bound |= {name: lift(f, source.node, source.defaults[name]) for name in names[given:]}
    return {**dict.fromkeys(source.rest, Tuple(())), **bound}
