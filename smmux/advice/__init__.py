"""What do a kernel's accesses to memory waste, and would multiplexing shared memory pay for it?

>>> import smmux
>>> from smmux import benchmarks
>>> mv, problem = benchmarks.get("MV"), benchmarks.get("MV").problem("tiny")
>>> advice = smmux.advise(mv.kernel(), problem.grid, problem.block, problem.arguments(), gpu="GTX285")
>>> advice.occupancy.limiter, [scheme.name for scheme in advice.schemes][:3]
('shared memory', ['VTB', 'VTB, N = 3', 'VTB, N = 4'])

`schemes` lists the forms of a kernel, `search` decides which are worth a run, `runs` compiles and simulates them,
`copies` gives each run arguments of its own, `measures` reads numbers off the runs, `answer` holds what came of it, and
`text` says it in sentences.

`improvements` says what there is to do about single lines, each an `Improvement`: `sites` are the recorded accesses,
`layout`, `banks`, `partitions`, `tables` and `barriers` look at them.
"""

from __future__ import annotations

from smmux.advice.answer import Advice, Scheme
from smmux.advice.improvement import Improvement
from smmux.advice.search import advise

__all__ = ["Advice", "Improvement", "Scheme", "advise"]
