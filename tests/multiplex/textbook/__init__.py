"""Kernels as textbooks and tutorials have them, each with a launch and what NumPy says of its outputs."""

from tests.multiplex.classic_kernels import CLASSIC
from tests.multiplex.textbook.data import DATA
from tests.multiplex.textbook.grids import GRIDS
from tests.multiplex.textbook.reductions import REDUCTIONS
from tests.multiplex.textbook.scans import SCANS
from tests.multiplex.written_kernels import WRITTEN

TEXTBOOK = [*WRITTEN, *CLASSIC, *REDUCTIONS, *SCANS, *GRIDS, *DATA]
