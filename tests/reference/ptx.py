"""Definition of PTX instructions, one lane at a time: `evaluate("add.rz.f32", a, b)` gives the bits of the result.

Operands and results are bits of the widths that the instruction says. Floats stand in `ptx_floats.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tests.reference import ptx_floats as floats
from tests.reference.ptx_floats import FORMATS

__all__ = ["carried", "evaluate", "width_of"]


def width_of(kind: str) -> int:
    """Bits of a type as `s16`, `b64`, `f16x2`."""
    return 32 if kind.endswith("x2") else int(kind.lstrip("busf"))


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def read(kind: str, value: int) -> int:
    """The number that bits mean."""
    bits = width_of(kind)
    return signed(value, bits) if kind[0] == "s" else value & (1 << bits) - 1


def clamped(kind: str, value: int) -> int:
    """The nearest number of a type of integers."""
    bits = width_of(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return max(low, min(high, value))


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def parts(value: int, bits: int, count: int, is_signed: bool = False) -> list[int]:
    """The lowest parts of a word."""
    found = [value >> bits * i & (1 << bits) - 1 for i in range(count)]
    return [signed(v, bits) for v in found] if is_signed else found


def extract(kind: str, a: int, at: int, length: int) -> int:
    """bfe: beyond the word the sign follows, or zeros."""
    bits, at, length = width_of(kind), at & 0xFF, length & 0xFF
    sign = 0 if kind[0] == "u" or length == 0 else a >> min(at + length - 1, bits - 1) & 1
    inside = [i < length and at + i < bits for i in range(bits)]
    return sum((a >> at + i & 1 if inside[i] else sign) << i for i in range(bits))


def insert(bits: int, a: int, b: int, at: int, length: int) -> int:
    """bfi: `length` bits of a go into b."""
    at, length = at & 0xFF, length & 0xFF
    for i in range(length):
        if at + i < bits:
            b = b & ~(1 << at + i) | (a >> i & 1) << at + i
    return b


def permuted(mode: str, a: int, b: int, c: int) -> int:
    """prmt: bytes of b and a by the selectors of c; or by a mode and the lowest two bits of c."""
    given, k = parts(a, 8, 4) + parts(b, 8, 4), c & 3
    if mode == "b32":
        picked = [given[s & 7] if not s & 8 else 0xFF * (given[s & 7] >> 7) for s in parts(c, 4, 4)]
    else:
        table = {
            "f4e": [k, k + 1, k + 2, k + 3],
            "b4e": [k, k + 7 & 7, k + 6 & 7, k + 5 & 7],
            "rc8": [k] * 4,
            "ecl": [max(i, k) for i in range(4)],
            "ecr": [min(i, k) for i in range(4)],
            "rc16": [2 * (k & 1), 2 * (k & 1) + 1] * 2,
        }
        picked = [given[i] for i in table[mode]]
    return sum(byte << 8 * i for i, byte in enumerate(picked))


def mask_of(mode: str, a: int, b: int) -> int:
    """bmsk: b ones from bit a on."""
    if mode == "clamp":
        a, b = min(a, 32), min(b, 32)
    else:
        a, b = a & 31, b & 31
    return ((1 << b) - 1 << a) & 0xFFFFFFFF


def funnel(way: str, mode: str, a: int, b: int, c: int) -> int:
    count = min(c, 32) if mode == "clamp" else c & 31
    both = b << 32 | a
    return both << count >> 32 if way == "l" else both >> count


def extended(mode: str, kind: str, a: int, b: int) -> int:
    """szext: the lowest b bits of a."""
    count = min(b, 32) if mode == "clamp" else b & 31
    low = a & (1 << count) - 1
    return signed(low, count) if kind[0] == "s" and count else low


def leading(kind: str, a: int, amount: bool) -> int:
    """bfind: the place of the highest bit that is not a sign, or how far it is from the top."""
    bits, a = width_of(kind), read(kind, a)
    at = (~a if a < 0 else a).bit_length() - 1
    return 0xFFFFFFFF if at < 0 else bits - 1 - at if amount else at


def shifted(head: str, kind: str, a: int, n: int) -> int:
    bits = width_of(kind)
    return a << min(n, bits) if head == "shl" else read(kind, a) >> min(n, bits)


def dot(words: list[str], a: int, b: int, c: int) -> int:
    """dp4a, dp2a: products of parts of words, added."""
    wide = words[0] == "dp2a"
    of_a, of_b = words[-2:]
    first = parts(a, 16, 2, of_a == "s32") if wide else parts(a, 8, 4, of_a == "s32")
    second = parts(b, 8, 4, of_b == "s32")
    second = second[2:] if "hi" in words else second
    return c + sum(x * y for x, y in zip(first, second, strict=False))


def multiplied(words: list[str], kind: str, a: int, b: int, c: int) -> int:
    """mul, mad, mul24, mad24, of which `words` takes a part."""
    bits = width_of(kind)
    if words[0].endswith("24"):
        a, b = (signed(v, 24) if kind[0] == "s" else v & 0xFFFFFF for v in (a, b))
        product = a * b >> 16 if "hi" in words else a * b
        product = signed(product, 32) if kind[0] == "s" else product & 0xFFFFFFFF
    elif "hi" in words:
        product = a * b >> bits
    else:
        product = a * b
    return clamped(kind, product + c) if "sat" in words else product + c


SIMPLE: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
    "div": quotient,
    "rem": lambda a, b: a - b * quotient(a, b),
    "abs": abs,
    "neg": lambda a: -a,
    "sad": lambda a, b, c: c + abs(a - b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "cnot": lambda a: int(a == 0),
    "mov": lambda a: a,
    "popc": lambda a: a.bit_count(),
}
"""Of the numbers that the operands mean."""
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}


@cache
def split_name(name: str) -> tuple[list[str], str]:
    """The words of an opcode, and its type, which but for the modes of prmt is the last one."""
    words = name.split(".")
    return words, "b32" if words[0] == "prmt" else words[-1]


def evaluate(name: str, *given: int) -> int:
    """The bits that an instruction makes."""
    words, kind = split_name(name)
    head = words[0]
    if head in ("setp", "set", "slct"):
        return chosen(words, given)
    if head == "cvt":
        return converted(words, given[0])
    if kind[0] == "f" or head == "testp":
        return of_floats(words, kind, given)
    bits = 1 if kind == "pred" else width_of(kind)
    result = of_integers(words, kind, given)
    wide = 2 * bits if "wide" in words else 32 if head in ("popc", "clz", "bfind") else bits
    return result & (1 << wide) - 1


def of_integers(words: list[str], kind: str, given: tuple[int, ...]) -> int:
    head, bits = words[0], 1 if kind == "pred" else width_of(kind)
    if head in ("shl", "shr"):
        return shifted(head, kind, *given)
    special: dict[str, Callable[[], int]] = {
        "clz": lambda: bits - given[0].bit_length(),
        "brev": lambda: int(f"{given[0]:0{bits}b}"[::-1], 2),
        "bfe": lambda: extract(kind, *given),
        "bfi": lambda: insert(bits, *given),
        "bfind": lambda: leading(kind, given[0], "shiftamt" in words),
        "bmsk": lambda: mask_of(words[1], *given),
        "szext": lambda: extended(words[1], kind, *given),
        "shf": lambda: funnel(words[1], words[2], *given),
        "prmt": lambda: permuted(words[-1], *given),
        "lop3": lambda: sum(
            (given[3] >> ((given[0] >> i & 1) << 2 | (given[1] >> i & 1) << 1 | given[2] >> i & 1) & 1) << i
            for i in range(bits)
        ),
        "selp": lambda: given[0] if given[2] else given[1],
        "dp4a": lambda: dot(words, *given),
        "dp2a": lambda: dot(words, *given),
    }
    if head in special:
        return special[head]()
    numbers = [v & 1 for v in given] if kind == "pred" else [read(kind, v) for v in given]
    if head[:3] in ("mul", "mad"):
        if "wide" in words and head == "mad":
            numbers[2] = given[2]
        return multiplied(words, kind, *numbers, *[0] * (3 - len(numbers)))
    result = SIMPLE[head](*numbers)
    return clamped(kind, result) if "sat" in words else result


def mode_of(words: list[str]) -> str:
    return next((w[1] for w in words if w in ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")), "n")


def of_floats(words: list[str], kind: str, given: tuple[int, ...]) -> int:
    """Operations on floats; on pairs of halves each by itself."""
    if kind == "f16x2":
        inner = [*words[:-1], "f16"]
        return sum(of_floats(inner, "f16", tuple(v >> s & 0xFFFF for v in given)) << s for s in (0, 16))
    form, head, mode = FORMATS[kind], words[0], mode_of(words)
    if head == "testp":
        return int(floats.tested(form, words[1], given[0]))
    if head == "selp":
        return given[0] if given[2] else given[1]
    if head == "mov":
        return given[0]
    if head == "copysign":
        return given[0] & form.sign | given[1] & (form.sign - 1)
    if "ftz" in words:
        given = tuple(floats.flushed(form, v) for v in given)
    a, b, c = (*given, 0, 0)[:3]
    table: dict[str, Callable[[], int]] = {
        "add": lambda: floats.fused(form, a, form.one, b, mode),
        "sub": lambda: floats.fused(form, b, form.one | form.sign, a, mode),
        "mul": lambda: floats.fused(form, a, b, None, mode),
        "fma": lambda: floats.fused(form, a, b, c, mode),
        "div": lambda: floats.divide(form, a, b, mode),
        "rcp": lambda: floats.divide(form, form.one, a, mode),
        "sqrt": lambda: floats.root(form, a, mode),
        "min": lambda: floats.least(form, a, b, False, "NaN" in words),
        "max": lambda: floats.least(form, a, b, True, "NaN" in words),
        "abs": lambda: a & (form.sign - 1),
        "neg": lambda: a ^ form.sign,
    }
    result = table[head]()
    if "relu" in words:
        result = form.nan if floats.is_nan(form, result) else 0 if result & form.sign else result
    if "ftz" in words:
        result = floats.flushed(form, result)
    return floats.saturated(form, result) if "sat" in words else result


def holds(words: list[str], kind: str, a: int, b: int) -> bool:
    """A comparison."""
    relation = words[1]
    if kind[0] != "f":
        return RELATIONS[relation](read(kind, a), read(kind, b))
    form = FORMATS[kind]
    if "ftz" in words:
        a, b = floats.flushed(form, a), floats.flushed(form, b)
    return floats.compare(form, relation, a, b)


def chosen(words: list[str], given: tuple[int, ...]) -> int:
    """setp, with the predicate that it is combined with; set; slct."""
    kind = words[-1]
    if words[0] == "slct":
        bits = FORMATS["f32"]
        third = floats.flushed(bits, given[2]) if "ftz" in words else given[2]
        first = floats.compare(bits, "ge", third, 0) if kind == "f32" else read("s32", third) >= 0
        return given[0] if first else given[1]
    result = holds(words, kind, *given[:2])
    if len(given) > 2:
        combine = next(w for w in words if w in ("and", "or", "xor"))
        result = bool(SIMPLE[combine](int(result), given[2]))
    if words[0] == "setp":
        return int(result)
    to = words[-2]
    return (FORMATS["f32"].one if to == "f32" else 0xFFFFFFFF) * result


def converted(words: list[str], a: int) -> int:
    """cvt, in the width of the type that it makes."""
    to, of = words[-2:]
    mode, saturates = mode_of(words), "sat" in words
    if of[0] == "f":
        form = FORMATS[of]
        a &= (1 << form.bits) - 1
        if "ftz" in words and of == "f32":
            a = floats.flushed(form, a)
        if to[0] != "f":
            return floats.to_integer(form, a, width_of(to), to[0] == "s", mode) & (1 << width_of(to)) - 1
        if to == of:
            result = floats.to_integral(form, a, mode) if any(w.endswith("i") for w in words) else a
        else:
            result = floats.narrowed(form, FORMATS[to], a, mode)
    elif to[0] == "f":
        result = floats.from_integer(FORMATS[to], read(of, a), mode)
    else:
        number = read(of, a)
        return (clamped(to, number) if saturates else number) & (1 << width_of(to)) - 1
    if "ftz" in words and to == "f32":
        result = floats.flushed(FORMATS[to], result)
    return floats.saturated(FORMATS[to], result) if saturates else result


def carried(name: str, carry: int, *given: int) -> tuple[int, int]:
    """The result and the carry of an instruction of a chain: add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi."""
    words, kind = split_name(name)
    bits = width_of(kind)
    inward = carry if words[0] in ("addc", "subc", "madc") else 0
    if words[0].startswith("mad"):
        product = read(kind, given[0]) * read(kind, given[1])
        half = product >> bits if "hi" in words else product
        total = (half & (1 << bits) - 1) + given[2] + inward
    elif words[0].startswith("sub"):
        total = given[0] - given[1] - inward
    else:
        total = given[0] + given[1] + inward
    after = total >> bits & 1 if "cc" in words else carry
    return total & (1 << bits) - 1, after
