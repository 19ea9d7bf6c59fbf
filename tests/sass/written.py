"""Instructions as text, from their fields alone: what `text` was before it was read. Floats keep their text."""

from __future__ import annotations

from smmux.compiler.instruction import Instruction, Operand


def instruction_text(one: Instruction) -> str:
    """The instruction as the disassembler writes it."""
    guard = f"@{'!' * one.guard.negated}{operand_text(one.guard.predicate)} " if one.guard else ""
    operands = [operand_text(operand) for operand in one.operands]
    return f"{guard}{one.name} {', '.join(operands)}".strip()


def operand_text(operand: Operand) -> str:
    """The operand as the disassembler writes it."""
    core = _core(operand)
    bar = "|" * operand.absolute
    suffix = f".{operand.select}" if operand.select and operand.kind not in ("address", "const", "cx") else ""
    if operand.kind in ("imm", "special", "pr", "upr", "label"):
        return core
    sign = "-" * operand.negated + ("!" if operand.kind in ("P", "UP") else "~") * operand.inverted
    return f"{sign}{bar}{core}{bar}{'.reuse' * operand.reuse}{suffix}"


def _register(prefix: str, number: int) -> str:
    """A register; the last one is that of zero, or of truth."""
    if prefix in ("P", "UP"):
        return f"{prefix}T" if number == 7 else f"{prefix}{number}"
    return f"{prefix}Z" if number == {"R": 255, "UR": 63}.get(prefix) else f"{prefix}{number}"


def _hex(value: int) -> str:
    return f"-{-value:#x}" if value < 0 else f"{value:#x}"


def _place(operand: Operand, base: int | None) -> str:
    parts = []
    if base is not None:
        parts.append(_register("R", base) + (f".{operand.select}" if operand.select else ""))
    if operand.uniform is not None:
        parts.append(
            _register("UR", operand.uniform) + (f".{operand.uniform_select}" if operand.uniform_select else "")
        )
    if operand.offset or not parts:
        parts.append(_hex(operand.offset))
    return "+".join(parts)


def _core(operand: Operand) -> str:
    kind = operand.kind
    if kind in ("R", "UR", "P", "UP", "B"):
        return _register(kind, operand.number)
    if kind == "SB":
        if operand.value is not None:
            return "{" + ",".join(str(n) for n in range(5, -1, -1) if int(operand.value) >> n & 1) + "}"
        return operand.text if operand.text.startswith("gsb") else f"SB{operand.number}"
    if kind == "imm" and isinstance(operand.value, int):
        return _hex(operand.value)
    if kind == "label":
        return _hex(operand.target or 0)
    if kind == "const":
        return f"c[{operand.bank:#x}][{_place(operand, operand.register)}]"
    if kind == "cx":
        return f"cx[{_register('UR', operand.descriptor or 0)}][{_place(operand, operand.base)}]"
    if kind == "address":
        head = "" if operand.descriptor is None else f"desc[{_register('UR', operand.descriptor)}]"
        return f"{head}[{_place(operand, operand.base)}]"
    if kind in ("desc", "gdesc", "tmem"):
        return f"{kind}[{_register('UR', operand.number)}]"
    return operand.text
