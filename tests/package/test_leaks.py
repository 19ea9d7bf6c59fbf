"""Neither simulations nor failing ones leave memory behind."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource
import numpy as np
import smmux
from smmux.running.launch import launch
from tests.package import programs

good, bad, spin = programs.store_tid(), programs.store_tid(scale=8), programs.spin()
out = np.zeros(64, np.int32)


class Fails(smmux.Management):
    def place(self, request, free):
        return super().place(request, free).none


def once():
    launch(good, (out, 1), 4, 64, "GTX285-1100", management="dynamic", profile=True)
    launch(good, (out, 1), 4, 64, "GTX285-1100", management=smmux.Management, host_threads=2)
    failing = {"management": Fails, "host_threads": 2}
    for program, args, options in ((bad, (out, 1), {}), (spin, (), {"max_cycles": 500}), (good, (out, 1), failing)):
        try:
            launch(program, args, 1, 64, "GTX285-1100", **options)
        except smmux.KernelError:
            continue
        raise AssertionError("no fault")


def peak(runs):
    for _ in range(runs):
        once()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


warm = peak(RUNS // 5)
print(peak(RUNS) - warm)
"""


def growth(runs):
    """KiB by which the peak of a process's memory grows over so many simulations and twice as many failing ones."""
    script = SCRIPT.replace("RUNS", str(runs))
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    return int(found.stdout)


def test_a_hundred_runs_leave_nothing():
    assert growth(100) < 512


@pytest.mark.slow
def test_a_thousand_runs_leave_nothing():
    assert growth(1000) < 512
