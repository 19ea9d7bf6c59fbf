"""Drafts, copies of a kernel that passes change: names of their own, and answers that last until the next change."""

from __future__ import annotations

import ast

import smmux
from smmux.multiplex.analysis.uniformity import analysed
from smmux.rewriting.draft import Draft
from tests.multiplex.kernels import kernel

TEXT = """
def f(a, o):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    with smmux.overlap():
        x = a[t]
        y = x * N
    tile[t] = y
    cuda.syncthreads()
    o[t] = tile[63 - t]
"""


def test_an_answer_lasts_until_the_tree_changes() -> None:
    draft = Draft(kernel(TEXT, smmux=smmux).definition)
    first = analysed(draft)
    assert analysed(draft) is first
    assert analysed(draft, frozenset({"tile"})) is not first
    draft.tree.body.append(ast.parse("o[t] += tile[t]").body[0])
    draft.changed()
    assert len(analysed(draft).body.pieces) == len(first.body.pieces) + 1


def test_annotated_statements_are_remembered_and_their_annotation_goes() -> None:
    made = kernel(TEXT, smmux=smmux)
    draft = Draft(made.definition)
    assert not any(isinstance(node, ast.With) for node in ast.walk(draft.tree))
    assert {ast.unparse(node) for node in draft.overlapping} == {"x = a[t]", "y = x * N"}
    assert any(isinstance(node, ast.With) for node in ast.walk(made.definition.node))


def test_new_names_mean_nothing_else() -> None:
    draft = Draft(kernel(TEXT, smmux=smmux).definition)
    assert [draft.names.new(wish) for wish in ("x", "N", "a", "z", "z", "len")] == [
        "x_2", "N_2", "a_2", "z", "z_2", "len_2"
    ]  # fmt: skip
    assert draft.names.module("cuda", smmux.cuda) == "cuda"
    draft.names.taken.add("smm")
    assert draft.names.module("smm", smmux.smm) == draft.names.module("smm", smmux.smm) == "smm_module"
    assert draft.source.lookup("smm_module") is smmux.smm
