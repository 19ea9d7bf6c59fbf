"""Rows that the tables do not have: an operation of ten register operands, and one that kernels call."""

from pathlib import Path

import pytest

from . import extended_core

ROWS = """
ALU(TEST_ANDN_B32, "test.andn.b32", ALU, PURE, "d,a,b", U, U, a & ~b)
OP(TEST_GROUPS, "test.groups", FMAD, PURE, "d4,a4,b2,c4")

/* Predicates:"""

FUNCTION = """
static void exec_groups(const struct uop *u, const struct lanes *w, uint32_t mask) {
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t lane = 0; lane < 32; lane++)
            if (mask >> lane & 1)
                destination_row(w, u->d + i)[lane] =
                    operand_row(w, u->a + i)[lane] * operand_row(w, u->b + i % 2)[lane] +
                    operand_row(w, u->c + i)[lane];
}

exec_fn *const exec_table[UOP_COUNT] = {
    [OP_TEST_GROUPS] = exec_groups,"""


@pytest.mark.long
@pytest.mark.checkout
@pytest.mark.skipif(not extended_core.has_compiler(), reason="there is no compiler to build a core with")
def test_operations_of_a_row_alone(tmp_path: Path) -> None:
    core = extended_core.build(
        tmp_path,
        {
            "tables/ops.def": {"\n/* Predicates:": ROWS},
            "sm/exec.c": {"\nexec_fn *const exec_table[UOP_COUNT] = {": FUNCTION},
        },
    )
    extended_core.run(core, Path(__file__).with_name("extended_script.py"))
