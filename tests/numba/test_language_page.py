"""The page of the language says what the compiler answers."""

import pytest

from tests.numba import language_page


@pytest.mark.long
@pytest.mark.checkout
def test_the_page_is_current() -> None:
    assert language_page.page() == language_page.PAGE.read_text(), "run: python -m tests.numba.language_page"


@pytest.mark.long
def test_most_lines_are_in_the_language() -> None:
    lines = [line for group in language_page.SNIPPETS.values() for line in group]
    assert sum(not language_page.refusal(line) for line in lines) > len(lines) / 2
