"""The simulated machine: tables and functions of the C core."""

from typing import Any, Final

# Tables, generated from csrc/*.def: name -> (code, unit, class, operands), and so on.
OPS: Final[dict[str, tuple[int, str, str, str]]]
CLASSES: Final[dict[str, tuple[int, str]]]
CONFIG: Final[list[tuple[str, str, int, int, str]]]
COUNTERS: Final[list[tuple[str, str, str]]]
ERRORS: Final[list[tuple[str, str, str]]]
ATOMS: Final[dict[str, int]]
SPECIALS: Final[dict[str, int]]
UNIFORMS: Final[dict[str, int]]
