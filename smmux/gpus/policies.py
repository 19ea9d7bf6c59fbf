"""Policies: the rules of the machine that come in several kinds, of which a machine or a launch chooses one by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from smmux import _core
from smmux.errors import ConfigError, did_you_mean

__all__ = ["KINDS", "POLICIES", "Kind", "Policy", "chosen", "names", "number", "of"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of policies: the decision that they make, and the option that chooses one of them."""

    name: str
    option: str
    doc: str

    @property
    def chosen(self) -> str:
        """Where a policy of this kind is chosen, in words."""
        of_machines = any(row[0] == self.option for row in _core.CONFIG)
        return f"{'machine parameter' if of_machines else 'launch option'} {self.option}"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy: its kind, its name and its rule in words."""

    kind: str
    name: str
    doc: str


KINDS: dict[str, Kind] = {row[0]: Kind(*row) for row in _core.POLICY_KINDS}
POLICIES: tuple[Policy, ...] = tuple(Policy(*row) for row in _core.POLICIES)


def of(kind: str) -> tuple[Policy, ...]:
    """The policies of a kind, in the order of their numbers."""
    return tuple(policy for policy in POLICIES if policy.kind == kind)


@cache
def names(kind: str) -> tuple[str, ...]:
    """The names of the policies of a kind, in the order of their numbers."""
    return tuple(policy.name for policy in of(kind))


def chosen(kind: str, option: str, name: Any) -> str:
    """The name that an option gives, if a policy of that kind has it; raises ConfigError otherwise."""
    known = names(kind)
    if isinstance(name, str) and name in known:
        return name
    hint = did_you_mean(name, known) if isinstance(name, str) else ""
    raise ConfigError(f"{option} must be one of {', '.join(known)}, not {name!r}{hint}")


def number(kind: str, name: str) -> int:
    """The number by which the core knows a policy of that kind."""
    return names(kind).index(name)
