"""Kernels: functions under `@cuda.jit`, compiled for the types of their arguments and launched on a machine.

The compiler and the core are imported when a kernel is first compiled, so that declaring one is cheap.
"""

from smmux.kernels.kernel import *  # noqa: F403
from smmux.kernels.kernel import __all__ as __all__
