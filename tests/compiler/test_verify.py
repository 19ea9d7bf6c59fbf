"""The rules of the IR's form: functions of the front end and of every pass keep them, and a broken one is found."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from smmux.compiler.analysis.verify import RULES, FormError, Stage, verify
from smmux.compiler.driver.pipeline import compile_function
from smmux.compiler.ir import Block, Function, Instr, Mem, Type
from smmux.compiler.options import Options
from smmux.compiler.passes.legalize import normalize
from smmux.compiler.passes.ssa import construct
from tests.compiler.back import TID, Builder, RandomKernel, imm


def straight() -> Function:
    """Two additions, a load and a store."""
    b = Builder()
    a = b.array("a")
    total = b.emit("add.s32", b.load(a, TID), imm(3))
    b.store(a, TID, b.emit("add.s32", total, total))
    b.exit()
    return b.f


def in_ssa() -> Function:
    function = straight()
    normalize(function)
    construct(function)
    return function


def instr(function: Function, op: str) -> Instr:
    return next(each for each in function.instrs() if each.op == op)


def twice(function: Function) -> None:
    first = instr(function, "add.s32")
    function.blocks[0].instrs.insert(0, Instr("add.s32", first.dsts, (TID, TID)))


def backwards(function: Function) -> None:
    body = function.blocks[0].instrs
    body[0], body[1] = body[1], body[0]


def guarded(function: Function) -> None:
    store = instr(function, "st.global")
    store.guard = instr(function, "add.s32").dsts[0]


def change(where: str, /, **fields: object) -> Callable[[Function], None]:
    def apply(function: Function) -> None:
        found = instr(function, where)
        for name, value in fields.items():
            setattr(found, name, value)

    return apply


BROKEN: list[tuple[str, Stage, Callable[[], Function], Callable[[Function], object]]] = [
    ("one terminator", Stage.FRONT, straight, lambda f: f.blocks[0].instrs.pop()),
    ("one terminator", Stage.FRONT, straight, lambda f: f.blocks[0].instrs.insert(1, Instr("exit"))),
    ("has its targets", Stage.FRONT, straight, change("exit", op="bra", target=Block(7))),
    ("one of the table", Stage.FRONT, straight, change("add.s32", op="add.s33")),
    ("operands of its row", Stage.FRONT, straight, change("add.s32", srcs=(TID,))),
    ("operands of its row", Stage.FRONT, straight, change("add.s32", op="setp.lt.s32")),
    ("name memory", Stage.FRONT, straight, change("ld.global", mem=None)),
    ("a guard is a predicate", Stage.FRONT, straight, guarded),
    ("is defined", Stage.FRONT, straight, lambda f: f.blocks[0].instrs.pop(0)),
    ("a value has one definition", Stage.FRONT, straight, twice),
    ("a definition stands above", Stage.SSA, in_ssa, backwards),
    ("byte addresses", Stage.LOWERED, in_ssa, lambda f: None),
]


@pytest.mark.parametrize(("rule", "stage", "make", "damage"), BROKEN)
def test_a_broken_rule_is_found(
    rule: str, stage: Stage, make: Callable[[], Function], damage: Callable[[Function], object]
) -> None:
    verify(make(), min(stage, Stage.SSA))
    function = make()
    damage(function)
    with pytest.raises(FormError, match=rule):
        verify(function, stage, "damage")


def test_every_rule_has_a_text_of_its_own() -> None:
    assert len({rule.text for rule in RULES}) == len(RULES)


def test_passes_keep_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMMUX_CHECK", "1")
    for seed in range(30):
        function = RandomKernel(Random(seed), 20, 2).function
        verify(function, Stage.FRONT)
        compile_function(
            function, Options(schedule=("source", "list")[seed % 2], max_registers=(124, 16)[seed % 3 == 0])
        )


def test_a_pass_that_breaks_the_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from smmux.compiler.driver import pipeline

    def careless(function: Function, options: Options) -> None:
        change("add.s32", srcs=(TID,))(function)

    monkeypatch.setenv("SMMUX_CHECK", "1")
    monkeypatch.setattr(pipeline, "PREPARE", (*pipeline.PREPARE[:2], careless, *pipeline.PREPARE[2:]))
    with pytest.raises(FormError, match="after careless, stage ssa"):
        compile_function(straight())


def test_memory_is_named_by_what_names_memory() -> None:
    function = straight()
    array = function.arrays[0]
    instr(function, "add.s32").mem = Mem(array, 4)
    with pytest.raises(FormError, match="name memory"):
        verify(function, Stage.FRONT)
    assert instr(function, "add.s32").dsts[0].type is Type.S32
