"""Parameter sweeps: a cross product of points, run side by side, tidy records out.

The core releases the GIL while it simulates, so threads use all processors and share the inputs. Processes and
clusters run points too, through any `concurrent.futures.Executor`. With a cache on disk a sweep that was killed goes on
where it was, and one that has been made is read.

>>> points = product(n=(1, 2), square=(False, True))
>>> sweep(lambda n, square: {"value": n * n if square else n}, points, jobs=2)[3]
{'n': 2, 'square': True, 'value': 4}
"""

from smmux.sweep.points import *  # noqa: F403
from smmux.sweep.points import __all__ as __all__
