"""Programs that are not simulated, and the opcode and the line that the refusal names."""

from __future__ import annotations

import numpy as np

from tests.sass.programs import Case, program
from tests.sass.programs.elementwise import Random


@program(1, 32, refused="TEX", source="tex2D")
def texture_reads(rng: Random) -> Case:
    return Case([0, np.zeros(32, np.float32)], {})


@program(1, 32, refused="SUST", source="surf2Dwrite")
def surface_writes(rng: Random) -> Case:
    return Case([0], {})


@program(1, 32, least=90, refused="UBLKCP", source="cp.async.bulk")
def bulk_copies(rng: Random) -> Case:
    return Case([np.zeros(32, np.float32), np.zeros(32, np.float32)], {})


@program(2, 32, least=90, refused="UCGABAR_ARV", source="barrier.cluster.arrive")
def clusters(rng: Random) -> Case:
    return Case([np.zeros(64, np.int32)], {})
