"""Looking at objects without running what their classes say of themselves: that may change them.

Objects that stand in for others load these when something is asked of them, some note what is asked, and modules may
make attributes on demand. Two looks at a program that nobody has changed have to see the same.
"""

from __future__ import annotations

from types import UnionType
from typing import Any

__all__ = ["attribute", "is_a"]


def is_a(value: Any, kinds: type | UnionType | tuple[type, ...]) -> bool:
    """Whether a value really is of one of some types; `isinstance` would ask it for its `__class__`, too."""
    return issubclass(type(value), kinds)


def attribute(value: Any, name: str, otherwise: Any = None) -> Any:
    """An attribute of an object, class or module as Python finds it, without its `__getattribute__` and `__getattr__`;
    what is given otherwise if there is none."""
    find: Any = type.__getattribute__ if is_a(value, type) else object.__getattribute__
    try:
        return find(value, name)
    except AttributeError:
        return otherwise
