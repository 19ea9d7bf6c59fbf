"""Figures from tidy records, in the style of a paper: one column wide, colour-blind-safe, told apart by hatches too."""

from smmux.drawing.plot import *  # noqa: F403
from smmux.drawing.plot import __all__ as __all__
