"""What statements assign and need, held against running them: a value that is not needed may be any other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from smmux.multiplex.analysis.scalars import assigned, exposed, fed_by, needed_after
from smmux.source.function_source import FunctionSource, from_text
from tests.multiplex.kernels import device
from tests.multiplex.test_webs import blocks, observed, statements


def program(body: str, result: str) -> FunctionSource:
    """A function of p that sets x and y, and does the rest behind `pass`, its third statement."""
    captured = {"out": None, "e": None, "more": None}
    return from_text(f"def f(p):\n    x = y = 1\n    out(p)\n    pass\n{body}\n    return {result}", captured)


def with_line(source: FunctionSource, line: str) -> str:
    """The program with a statement in the place of `pass`."""
    return source.text.replace("    pass\n", f"    {line}\n", 1)


@settings(max_examples=50, deadline=None)
@given(blocks(statements(2, False)), st.integers(0, 3))
def test_what_is_not_needed_may_have_any_value(body: str, p: int) -> None:
    source = program(body, "p")
    needed = exposed(source, source.node.body[3:])
    assert needed_after(source, source.node, source.node.body, 3) == needed
    for name in {"x", "y", "p"} - needed:
        assert observed(with_line(source, f"{name} = 17"), p) == observed(source.text, p)


@settings(max_examples=50, deadline=None)
@given(blocks(statements(2, False)), st.integers(0, 3))
def test_what_is_not_assigned_keeps_its_value(body: str, p: int) -> None:
    source = program(re.sub("return x", "pass", body), "kept == (x, y, p), x, y, p")
    changed = assigned(source, source.node.body[3:-1])
    for name in {"x", "y", "p"} - changed:
        text = with_line(source, f"kept = {name}").replace("kept == (x, y, p)", f"kept == {name}")
        result = observed(text, p)[2]
        assert isinstance(result, tuple)
        assert result[0]


@pytest.mark.long
@settings(max_examples=50, deadline=None)
@given(blocks(statements(2, False)), st.integers(0, 3))
def test_what_is_not_fed_does_not_depend(body: str, p: int) -> None:
    body = re.sub("return x|break|continue", "pass", body).replace("while more() and", "if")
    source = program(body, "[x, y, p]")
    for seed in "xyp":
        fed = fed_by(source, source.node.body[3:-1], {seed}) | {seed}
        results = [observed(with_line(source, f"{seed} = {value}"), p)[2] for value in range(4)]
        for i, name in enumerate("xyp"):
            values = {result[i] for result in results if isinstance(result, list)}
            assert name in fed or len(values) == 1


def test_a_device_function_is_known_by_what_it_does() -> None:
    fill = device("""
        def fill(tile, value, unused):
            for k in range(4):
                tile[k] = value
    """)
    source = from_text("def f(a, b, c):\n    fill(a, b, c)\n    a[0] += 1", {"fill": fill})
    call, update = source.node.body
    assert assigned(source, [call]) == {"a"}
    assert exposed(source, [call]) == {"b"}
    assert exposed(source, [update]) == {"a"}
