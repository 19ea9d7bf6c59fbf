"""What the measurement of the suites asks of a card, told by one that only writes down what it is asked."""

import pickle

import numpy as np
import pytest

from experiments.hardware import measure_suites
from experiments.suites import WORKLOADS


class Function:
    def __init__(self, asked):
        self.asked = asked

    def set(self, attribute, value):
        self.asked.append(("set", attribute, value))
        return self

    def __call__(self, grid, block, *arguments, shared=0):
        self.asked.append(("launch", grid, block, len(arguments), shared))


class Card:
    def __init__(self):
        self.asked = []

    def load(self, binary):
        asked = self.asked

        class Module:
            def __getitem__(self, name):
                return Function(asked)

        return Module()

    def alloc(self, size):
        return np.uint64(size)

    def put(self, address, value):
        pass

    def get(self, address, count, dtype):
        return np.zeros(count, dtype)

    def sync(self):
        pass

    def free(self, address):
        pass


@pytest.mark.parametrize(("name", "repeats"), [("single.eliminate", 2), ("vectors.axpy", 1)])
def test_a_launch_is_made_with_all_the_shared_memory_that_it_needs(tmp_path, monkeypatch, name, repeats):
    """The driver refuses more than 48 kB unless the function has been told before its launch."""
    work = WORKLOADS[name]
    launch = work.launch("small")
    (tmp_path / f"{name}.small").write_bytes(pickle.dumps(launch))
    monkeypatch.setattr(measure_suites, "Card", Card)
    runner = measure_suites.Runner(tmp_path)
    wrong = runner.run(work, "small", repeats, True)
    told = [("set", measure_suites.MAX_DYNAMIC_SHARED, launch.dynamic)] if launch.dynamic else []
    call = ("launch", launch.grid, launch.block, len(launch.args), launch.dynamic)
    assert runner.card.asked == told + [call] * repeats
    assert wrong
