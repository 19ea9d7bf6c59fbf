"""Managements of shared memory in Python: their results are those of the core's, and their mistakes are told."""

import contextlib
import dataclasses
import functools
import gc
import inspect
import subprocess
import sys
import threading
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import _core, benchmarks, cuda, float32, gpus, smm
from smmux.__main__ import main
from smmux.machines.management import Hole, Management
from tests.reference.management import DEFINED, Dynamic, Throttled, definition

ROOT = Path(__file__).parents[2]
WORDS = 1024
CARD = gpus.get("GTX285").replace(sm_count=6, sms_per_tpc=2)  # host threads share the work by TPC


@cuda.jit
def turn(a):
    tile = smm.array(WORDS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    for _ in range(2):
        smm.alloc()  # here
        tile[t] = a[i]
        cuda.syncthreads()
        a[i] = tile[63 - t]
        smm.release()


def run(management, blocks=80, **options):
    a = np.arange(64 * blocks, dtype=np.float32)
    result = turn.simulate(blocks, 64, (a,), gpu=CARD, management=management, extra_blocks=3, **options)
    assert (a == np.arange(64 * blocks)).all()
    return result


DYNAMIC = [name for name, dynamic in _core.MANAGEMENTS.items() if dynamic]
LINE = next(
    inspect.getsourcelines(turn.function)[1] + i
    for i, line in enumerate(inspect.getsourcelines(turn.function)[0])
    if "# here" in line
)


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", [name for name in benchmarks.names() if "hw" in benchmarks.get(name).variants])
def test_a_class_that_does_what_dynamic_does_gives_its_bits(name):
    problem = benchmarks.get(name).problem("tiny")
    kernel, grid, block = benchmarks.get(name).launch(problem, "hw")
    found = []
    for management in ("dynamic", Management):
        arguments = problem.arguments()
        found.append(
            kernel.simulate(grid, block, arguments, gpu="GTX285-1100", management=management, extra_blocks=3).counters
        )
        problem.check(arguments)
    assert found[0] == found[1]


@pytest.mark.long
@pytest.mark.parametrize("options", [{"window": 1}, {"window": 13}, {"host_threads": 2}, {"host_threads": 5}], ids=str)
@pytest.mark.parametrize("management", [*DYNAMIC, Dynamic, partial(Throttled, max_waiting=0)], ids=str)
def test_windows_and_host_threads_do_not_matter(management, options):
    assert run(management, **options).counters == run(management).counters


@functools.cache
def counters_of(management):
    return run(management).counters


@pytest.mark.parametrize("management", DYNAMIC)
def test_each_management_decides_in_its_own_way(management):
    """No two give the same run, and what is defined here in Python gives the run of the core."""
    found = {name: counters_of(name) for name in DYNAMIC}
    assert [name for name in DYNAMIC if found[name] == found[management]] == [management]
    if management in DEFINED:
        assert run(definition(management, max_waiting=0)).counters == found[management]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_throttled_lets_as_many_wait_as_it_is_told(more):
    throttled = run("throttled", max_waiting=more).counters
    assert throttled == run(partial(Throttled, max_waiting=more)).counters
    assert run("throttled", max_waiting=255).counters == run("dynamic").counters


def test_the_command_line_knows_every_management(capsys):
    place = f"{__file__}:turn"
    for name in DYNAMIC:
        assert main(["run", place, "--grid", "4", "--block", "64", "--management", name, "--json", "float32[256]"]) == 0
        assert f'"management": "{name}"' in capsys.readouterr().out


def test_a_policy_of_another_kind_changes_the_run():
    class LastComeFirst(Management):
        def next_request(self, waiting, free):
            return waiting[-1]

    assert run(LastComeFirst).counters != run("dynamic").counters


def test_the_result_bears_the_name_of_the_class():
    assert run(Dynamic).to_dict()["management"] == "Dynamic"
    assert run(partial(Throttled, max_waiting=2)).management == "partial"


class Recorder(Dynamic):
    """Keeps all that it is asked."""

    made: list["Recorder"]

    def __init__(self, memory):
        super().__init__(memory)
        self.asked, self.threads = [], set()
        self.made.append(self)

    def note(self, method, *arguments):
        self.asked.append((method, *arguments))
        self.threads.add(threading.get_ident())
        return getattr(super(), method)(*arguments)

    def may_start(self, block, waiting):
        return self.note("may_start", block, waiting)

    def place(self, request, free):
        return self.note("place", request, free)

    def next_request(self, waiting, free):
        return self.note("next_request", waiting, free)


def recorded(**options):
    made = []
    run(type("Recorder", (Recorder,), {"made": made}), **options)
    return made


def test_each_sm_has_an_object_of_its_own_which_is_told_what_waits_and_what_is_free():
    made = recorded()
    assert [manager.memory.sm for manager in made] == list(range(6))
    assert {(m.memory.bytes, m.memory.unit, m.memory.reserved) for m in made} == {(16384, CARD.smm_unit, 4 * WORDS)}
    served, ends = set(), set()
    for method, what, other in (call for manager in made for call in manager.asked):
        waiting = what if method == "next_request" else (other if method == "may_start" else (what,))
        assert [request.arrival for request in waiting] == sorted(request.arrival for request in waiting)
        assert all(request.started <= request.arrival <= request.now for request in waiting)
        if method == "may_start":
            assert what in waiting
            assert not what.allocation
        if method == "next_request":
            assert len(waiting) > 1
        if method == "place":
            assert what.bytes % CARD.smm_unit == 0
            assert what.bytes == 4 * WORDS if what.allocation else what.bytes < 100
            ends.add((what.allocation, max((hole.start + hole.bytes for hole in other), default=0)))
            served.add(what.block)
        if method != "may_start":
            assert all(isinstance(hole, Hole) and hole.bytes > 0 for hole in other)
            assert list(other) == sorted(other)
    assert served == set(range(80))
    assert max(end for allocation, end in ends if allocation) == 16384
    assert max(end for allocation, end in ends if not allocation) <= 16384 - 4 * WORDS


@pytest.mark.long
def test_calls_come_from_several_host_threads():
    """With many SMs and two threads both have work; on one processor, or where the other is late, one may do it all."""
    threads = set().union(*(manager.threads for manager in recorded(host_threads=2, blocks=400)))
    assert threading.get_ident() in threads
    assert len(threads) <= 2
    assert [manager.asked for manager in recorded(host_threads=2)] == [manager.asked for manager in recorded()]


def broken(method, answer):
    """A class whose method answers that, or raises it, once the first blocks are under way."""

    def instead(self, first, second):
        now = (first[0] if method == "next_request" else first).now
        if now < 300 or (method == "place" and not first.allocation):
            return getattr(Dynamic, method)(self, first, second)
        if isinstance(answer, BaseException):
            raise answer
        return answer(first, second) if callable(answer) else answer

    return type("Broken", (Dynamic,), {method: instead})


MISTAKES = [
    ("may_start", None, r"may_start\(\) of Broken returned None, not True or False"),
    ("may_start", ValueError("no"), r"may_start\(\) of Broken raised ValueError: no"),
    ("place", ZeroDivisionError("half"), r"place\(\) of Broken raised ZeroDivisionError: half"),
    ("place", "top", r"place\(\) of Broken returned 'top', not an address or None"),
    ("place", -16, r"returned -16, not an address or None"),
    ("place", 1 << 40, r"returned 1099511627776, not an address"),
    ("place", 1, r"returned 1, not a multiple of \d+"),
    ("place", 16384 - 64, r"returned 16320: 4096 bytes from there lie beyond the memory of 16384"),
    ("place", 0, r"returned 0: 4096 bytes from there overlap those of block \d+ from \d+ to \d+"),
    ("next_request", None, r"next_request\(\) of Broken returned None, which does not wait"),
    (
        "next_request",
        lambda waiting, free: waiting[0]._replace(block=999),
        r"returned Request\(block=999, .*which does",
    ),
    ("next_request", LookupError("é" * 300), r"raised LookupError: é+, block"),
]


@pytest.mark.quick
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("method", "answer", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_told_with_block_and_line(method, answer, message, threads):
    with pytest.raises(smmux.ManagementError, match=message) as caught:
        run(broken(method, answer), host_threads=threads)
    error = caught.value
    assert error.__cause__ is (answer if isinstance(answer, BaseException) else None)
    assert error.block is not None
    assert error.block[0] < 80
    assert error.thread is None
    assert error.cycle >= 300
    first = inspect.getsourcelines(turn.function)[1]
    assert first < error.line <= LINE
    if method == "place":
        assert error.line == LINE
    assert f"{__file__}:{error.line}" in str(error)
    assert run("dynamic").counters == run("dynamic").counters


def test_a_mistake_is_the_same_for_any_window_and_number_of_threads():
    def told(**options):
        with pytest.raises(smmux.ManagementError) as caught:
            run(broken("place", 0), **options)
        return str(caught.value)

    assert len({told(), told(window=1), told(host_threads=3), told(window=7, host_threads=2)}) == 1


def test_what_blocks_hold_to_their_end_stays_below_the_top():
    class Top(Dynamic):
        def place(self, request, free):
            return self.memory.bytes - request.bytes

    with pytest.raises(smmux.ManagementError, match="reach into the 4096 at the top that are kept free") as caught:
        run(Top)
    assert caught.value.block in [(number, 0, 0) for number in range(6)]
    assert caught.value.line is not None


@pytest.mark.parametrize("error", [KeyboardInterrupt("now"), SystemExit(3)], ids=["interrupt", "exit"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_no_error_of_the_class_comes_through_as_it_is(error, threads):
    with pytest.raises(type(error)) as caught:
        run(broken("place", error), host_threads=threads)
    assert caught.value is error


class Closed(Dynamic):
    """Lets no block start."""

    def may_start(self, block, waiting):
        return False


class Miser(Dynamic):
    """Grants no allocation."""

    def place(self, request, free):
        return None if request.allocation else super().place(request, free)


def test_who_serves_nobody_ends_in_a_deadlock():
    with pytest.raises(smmux.DeadlockError, match="the management lets none of 6 blocks start on SM 0, block 0 among"):
        run(Closed)
    with pytest.raises(smmux.DeadlockError, match="shared memory that the management gives to nobody") as caught:
        run(Miser)
    assert caught.value.line == LINE


@pytest.mark.parametrize(
    ("managers", "error"),
    [(5, TypeError), ([], ValueError), ([Dynamic(None)] * 5, ValueError), ([object()] * 6, smmux.ManagementError)],
)
def test_the_core_takes_an_object_for_each_sm_and_nothing_else(managers, error, monkeypatch):
    arguments, _ = plain_launch(monkeypatch)
    with pytest.raises(error):
        _core.launch(**arguments, managers=managers)


def test_a_management_may_simulate_itself():
    """A run within a question of another one."""

    class Nested(Dynamic):
        def may_start(self, block, waiting):
            if block.block == 1:
                nested.append(run("aged", blocks=8, host_threads=2).counters)
            return super().may_start(block, waiting)

    nested: list = []
    for threads in (1, 2):
        assert run(Nested, host_threads=threads).counters == run("dynamic").counters
    assert nested == [run("aged", blocks=8).counters] * 2


@pytest.mark.parametrize("management", [lambda memory: 1, int, len])
def test_what_makes_no_managements_is_refused(management):
    with pytest.raises((smmux.ConfigError, TypeError)):
        run(management)
    with pytest.raises(smmux.ConfigError, match="management must be one of"):
        run(Dynamic(None))


@pytest.mark.parametrize(
    "management",
    [Recorder, broken("place", 0), broken("place", lambda request, free: free.none)],
    ids=["good", "bad", "worse"],
)
def test_nothing_stays_alive_after_a_run(management):
    """No object, nor what it was told; after a failure they live as long as its traceback."""
    kept = []

    class Kept(management):
        made: list = []

        def __init__(self, memory):
            super().__init__(memory)
            kept.append(weakref.ref(self))

    with contextlib.suppress(smmux.ManagementError):
        run(Kept, host_threads=2)
    Kept.made.clear()
    gc.collect()
    assert [reference() for reference in kept] == [None] * 6


def plain_launch(monkeypatch):
    """What the core is given for a run, as literals that need no NumPy: arguments and the memories of the SMs."""
    seen = {}

    def launch(**arguments):
        seen.update(arguments)
        raise smmux.ConfigError("seen")

    monkeypatch.setattr(_core, "launch", launch)
    with pytest.raises(smmux.ConfigError, match="seen"):
        run(Management)
    monkeypatch.undo()
    memories = [dataclasses.astuple(manager.memory) for manager in seen.pop("managers")]
    seen |= {name: bytes(seen[name]) for name in ("code", "uniforms", "const")}
    seen |= {"buffers": [(bytearray(memory), *rest) for memory, *rest in seen["buffers"]], "poll": None}
    return seen, memories


@pytest.mark.parametrize("threads", [1, 3])
def test_a_subinterpreter_calls_its_own_classes(threads, monkeypatch, tmp_path):
    """Also from host threads that no interpreter has started. NumPy refuses to load there: the core alone runs."""
    arguments, memories = plain_launch(monkeypatch)
    arguments["options"] |= {"threads": threads}
    script, done = tmp_path / "inside.py", tmp_path / "done"
    script.write_text(
        f"import sys, pathlib; sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.package import subinterpreter\n"
        f"found = subinterpreter.run({arguments!r}, {memories!r})\n"
        f"pathlib.Path({str(done)!r}).write_text(found)\n"
    )
    command = [sys.executable, "-m", "tests.package.subinterpreter", script]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    assert done.read_text() == str(sorted(run("dynamic").counters.items()))
