"""`shared_span_cycles`: from a block's first shared-memory store to its last load, whatever lies between."""

from __future__ import annotations

from .assembler import TID_X, Assembler, variant

MACHINE = variant("GTX285-1100", icache_bytes=0)


def span(*ops: str) -> int:
    """The counter after some operations and exit, one after the other."""
    a = Assembler()
    a("shl.b32", d=0, a=TID_X, b=a.imm(2))
    for op in ops:
        if op == "load":
            a("ld.shared", d=1, a=0, width=4)
        elif op == "store":
            a("st.shared", a=0, d=1, width=4)
        else:
            a(op, d=1, q=1, a=1, b=1)
    a("exit")
    return a.run(MACHINE, shared=128)["counters"]["shared_span_cycles"]


def test_store_and_load_one_after_the_other() -> None:
    assert span("store", "load") == span("add.s32", "store", "load", "add.s32") > 0


def test_what_lies_between_counts_and_what_lies_outside_does_not() -> None:
    chain = ["add.s32"] * 10
    far = span("store", *chain, "load")
    assert far == len(chain) * MACHINE.lat_alu  # the load overwrites what the last addition writes
    assert span(*chain, "store", *chain, "load", *chain, "store") == far


def test_nothing_without_a_load_after_a_store() -> None:
    assert span() == span("store") == span("load") == span("load", "store") == 0
