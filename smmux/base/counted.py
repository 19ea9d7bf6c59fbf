"""Numbers of things in words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, thing: str) -> str:
    """A number and the name of what is counted, in the plural unless it is one.

    >>> counted(1, "block"), counted(0, "bank conflict")
    ('1 block', '0 bank conflicts')
    """
    return f"{number} {thing}{'s' * (number != 1)}"
