"""A machine of today beside a card: 118 kernels at three sizes, as the card's profiler counted and as simulated.

The kernels are those of `experiments.suites`; the code that is simulated is the very code that ran on the card, at the
clock that it ran at. Cycles count from launch to end, with cold caches, as `sm__cycles_elapsed.max` does. The suites
are halves by a rule that was fixed before anything was measured: the open half is what the machine may be improved by;
of the sealed half only the sum is printed, with --half sealed or both, until the machine is frozen. What stands in
Python too goes through this package's compiler as well, so that the compiler's error and the machine's stand apart.
"""

from __future__ import annotations

import sys

from experiments.common import on_card_shown

EXPERIMENT = on_card_shown.experiment("modern", __doc__)
run, check, caption, plot = EXPERIMENT.run, EXPERIMENT.check, EXPERIMENT.caption, EXPERIMENT.plots[0]
main = EXPERIMENT.main

if __name__ == "__main__":
    sys.exit(main())
