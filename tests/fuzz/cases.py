"""One fuzz case: everything in it follows from the seed and its number."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from smmux import _core
from smmux.errors import Error

from . import machines, programs
from .corpus import Launch
from .models import random_model_call
from .values import JUNK, hostile, log_uniform

# What a caller may get instead of a result. Anything else, SystemError above all, is a bug.
REFUSALS = (Error, ValueError, TypeError, OverflowError, KeyError, IndexError, MemoryError, BufferError, RuntimeError)

ARGUMENTS = ("code", "uniforms", "meta", "config", "grid", "block", "params", "buffers", "const", "options", "preload")


class BugError(Exception):
    """Something that must never happen, but is no crash."""


def run_case(seed: int, number: int, corpus: list[Launch]) -> str:
    """Run it; what came of it, in a word or two. Raises for what is neither a result nor a refusal."""
    rng = Random(f"{seed}:{number}")
    kind = rng.random()
    if kind < 0.08:
        return "models " + _outcome(lambda: random_model_call(rng, corpus))
    if kind < 0.16:
        return "junk " + _outcome(lambda: _junk(rng, corpus))
    launch = _mutant(rng, corpus) if kind < 0.6 else random_launch(rng, corpus)
    name = "mutant " if kind < 0.6 else "random "
    first = run_launch(launch)
    if rng.random() < 0.15:
        _compare(rng, launch, first)
    return name + first[0]


def _outcome(call: Any) -> str:
    try:
        call()
    except REFUSALS as error:
        return _word(error)
    return "ok"


def _word(error: BaseException) -> str:
    name = type(error).__name__
    return f"{name}: malformed program" if "malformed" in str(error) else name


# ---- launches -----------------------------------------------------------------------------------


def _bounded(rng: Random, launch: Launch) -> Launch:
    """A limit of cycles: every case ends soon."""
    options = launch.options | {
        "max_cycles": log_uniform(rng, 1 << rng.choice((0, 10, 10, 12, 12, 12)), 1 << 14),
        "management": rng.randrange(len(_core.MANAGEMENTS)),
        "max_waiting": rng.choice((0, 1, 2, hostile(rng))),
        "extra_blocks": rng.choice((0, 1, 2, 8, hostile(rng))),
        "per_pc": int(rng.random() < 0.3),
        "window": rng.choice((0, 0, 0, 1, 8, hostile(rng))),
        "threads": rng.choice((0, *[1] * 30, 2)),
        "check": rng.choice((0, 0, 0, 1, 2)),
        "accesses": rng.choice((0, 0, 3, 1000)),
        "trace": rng.choice((0, 0, 1, 50)),
    }
    return replace(launch, options=options, preload=_table(rng, launch) if rng.random() < 0.5 else b"")


def _table(rng: Random, launch: Launch) -> bytes:
    """A preload table: ranges near those that blocks of the launch may read, or anything."""
    entries = []
    for _ in range(rng.choice((1, 1, 2, 5, 20, 140))):
        array = rng.randrange(len(launch.buffers)) if launch.buffers and rng.random() < 0.99 else hostile(rng, 3)
        size = len(launch.buffers[array][0]) if array < len(launch.buffers) else 4096
        low = [rng.choice((0, 0, 4, 64, 128, 4096, -64, rng.randint(-5000, 5000))) for _ in range(3)]
        high = list(low) if rng.random() < 0.9 else [rng.choice((0, 64, 132)) for _ in range(3)]
        start = rng.randint(-300, size + 300)
        end = start + rng.choice((-5, -1, 0, 3, 63, 127, 128, 500, 20000))
        if rng.random() < 0.4:  # all of the array
            low, high, start, end = [0, 0, 0], [0, 0, 0], 0, size - 1
        if rng.random() < 0.01:
            low[rng.randrange(3)] = rng.choice((-1, 1)) * (1 << rng.choice((31, 32, 62)))
        entries.append([array, *low, start, *high, end])
    return np.array(entries, np.int64).tobytes()


def _mutant(rng: Random, corpus: list[Launch]) -> Launch:
    launch, other = rng.choice(corpus), rng.choice(corpus)
    launch = replace(launch, config=machines.random_machine(rng, launch.config))
    if rng.random() < 0.85:
        launch = replace(launch, code=programs.mutated(rng, launch.code, other.code))
    if rng.random() < 0.2:
        launch = replace(launch, uniforms=_shuffled(rng, launch.uniforms))
    return _bounded(rng, _disturbed(rng, launch) if rng.random() < 0.4 else launch)


def _shuffled(rng: Random, uniforms: Any) -> Any:
    uniforms = uniforms.copy()
    for _ in range(rng.randint(1, 4)):
        if len(uniforms):
            uniforms[rng.choice(("kind", "value"))][rng.randrange(len(uniforms))] = hostile(rng, rng.choice((3, 32)))
    return uniforms


def _disturbed(rng: Random, launch: Launch) -> Launch:
    """Another geometry, other resources, other arguments."""
    meta, params, buffers = dict(launch.meta), list(launch.params), list(launch.buffers)
    for name in meta:
        if rng.random() < 0.2:
            meta[name] = hostile(rng, rng.choice((6, 12, 16, 32)))
    for i in range(len(params)):
        if rng.random() < 0.2:
            params[i] = hostile(rng)
    for i, (data, address, writable) in enumerate(buffers):
        kind = rng.random()
        if kind < 0.1:
            buffers[i] = (data, hostile(rng), writable)
        elif kind < 0.2:
            buffers[i] = (data[: rng.randint(0, len(data))], address + rng.choice((0, 1, 4, 128)), writable)
        elif kind < 0.25:
            buffers[i] = (data, address, not writable)
    if rng.random() < 0.1:
        buffers = buffers[: rng.randrange(len(buffers) + 1)]
    grid = [hostile(rng, rng.choice((3, 8, 20, 32))) for _ in range(3)] if rng.random() < 0.3 else launch.grid
    block = [hostile(rng, rng.choice((3, 6, 10, 32))) for _ in range(3)] if rng.random() < 0.3 else launch.block
    const = launch.const[: rng.randrange(len(launch.const) + 1)] if rng.random() < 0.2 else launch.const
    return replace(launch, meta=meta, params=params, buffers=buffers, grid=grid, block=block, const=const)


def random_launch(rng: Random, corpus: list[Launch]) -> Launch:
    """A random program with arguments to match."""
    nregs, npreds = rng.choice((1, 4, 8, 12, 16, 16, 30, 255)), rng.choice((1, 2, 8, 32))
    arrays = rng.randrange(4)
    writer = programs.Writer(rng, rng.choice((1, 2, 8, 20, 60)), nregs, npreds, arrays + rng.randrange(2), arrays)
    code, uniforms = (programs.noise(rng), corpus[0].uniforms) if rng.random() < 0.05 else writer.code()
    addresses = [0x1000 * (i + 1) for i in range(arrays)]
    constant = {int(row["aux"]) for row in code if row["op"] == programs.OPCODE["tex.1d"]} if rng.random() < 0.9 else ()
    launch = Launch(
        code=code,
        uniforms=uniforms,
        meta={
            "nregs": nregs,
            "npreds": npreds,
            "shared_bytes": rng.choice((0, 64, 256, 256, 1024, 4096)),
            "dynamic_bytes": rng.choice((0, 0, 128, 4096)),
            "local_bytes": rng.choice((0, 16, 64, 400)),
            "static_reserved": rng.choice((0, 16)),
            "smem_size": 0,
            "launched_bytes": 0,
            "uniform_regs": 0,
        },
        config=machines.random_machine(rng, rng.choice(corpus).config),
        grid=[rng.choice((1, 2, 5, 40)), rng.choice((1, 1, 3)), 1],
        block=[rng.choice((1, 17, 32, 64, 100, 256)), rng.choice((1, 1, 1, 2)), 1],
        params=addresses + [hostile(rng) for _ in range(writer.params - arrays)],
        buffers=[
            (rng.randbytes(rng.choice((0, 64, 256, 4096))), at, i not in constant and rng.random() < 0.95)
            for i, at in enumerate(addresses)
        ],
        const=rng.randbytes(rng.choice((0, 4, 64, 1000))),
        options=dict(corpus[0].options),
    )
    return _bounded(rng, _disturbed(rng, launch) if rng.random() < 0.2 else launch)


# ---- running ------------------------------------------------------------------------------------


def _arguments(launch: Launch) -> dict[str, Any]:
    given = {name: getattr(launch, name) for name in ARGUMENTS}
    given["buffers"] = [(bytearray(data), at, len(data), write) for data, at, write in launch.buffers]
    return given


def run_launch(launch: Launch) -> tuple[str, Any]:
    """The outcome, and everything that must not depend on windows and host threads."""
    given = _arguments(launch)
    try:
        found: Any = _core.launch(**given)
        del found["host"]
    except REFUSALS as error:
        return _word(error), str(error)
    _check_counters(found["counters"])
    return "ok", (found, [bytes(buffer[0]) for buffer in given["buffers"]])


def _check_counters(counters: dict[str, int]) -> None:
    """Every slot is accounted for, and no counter has run over."""
    idle = sum(value for name, value in counters.items() if name.startswith("idle_"))
    if counters["issue_cycles"] + idle != counters["scheduler_cycles"]:
        raise BugError(f"issued and idle time are not all time: {counters}")
    fetched = counters["preload_packets"]
    if fetched not in (0, counters["preload_lines"]):
        raise BugError(f"{fetched} preloads were served, and tiles have {counters['preload_lines']} lines")
    if any(value >> 62 for value in counters.values()):
        raise BugError(f"a counter has run over: {counters}")


def _compare(rng: Random, launch: Launch, first: tuple[str, Any]) -> None:
    """The same bits with another window and other host threads."""
    if rng.random() < 0.9:
        options = launch.options | {"window": rng.choice((1, 3, 8, 0)), "threads": 1}
    else:  # threads meet in every window: dear
        options = launch.options | {"window": 0, "threads": rng.choice((2, 3))}
    again = run_launch(replace(launch, options=options))
    if "MemoryError" not in (first[0], again[0]) and again != first:
        raise BugError(f"other bits with {options}: {first} and {again}")


def _junk(rng: Random, corpus: list[Launch]) -> None:
    """A launch with arguments of the wrong kind."""
    launch = _bounded(rng, rng.choice(corpus))
    given = _arguments(replace(launch, config=machines.small(launch.config, rng)))
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(ARGUMENTS)
        target = given[name]
        if isinstance(target, list | tuple) and target and rng.random() < 0.5:
            target = list(target)
            i = rng.randrange(len(target))
            inside = list(target[i]) if isinstance(target[i], tuple) else None
            if inside and rng.random() < 0.7:
                inside[rng.randrange(len(inside))] = rng.choice(JUNK)
                target[i] = tuple(inside)
            else:
                target[i] = rng.choice(JUNK)
            given[name] = target
        elif isinstance(target, dict) and rng.random() < 0.7:
            key = rng.choice(tuple(target))
            given[name] = (
                {k: v for k, v in target.items() if k != key}
                if rng.random() < 0.2
                else target | {key: rng.choice(JUNK)}
            )
        else:
            given[name] = rng.choice(JUNK)
    if given["options"] is not None and isinstance(given["options"], dict):
        limit = given["options"].get("max_cycles")
        if not isinstance(limit, int) or not 0 < limit < 1 << 14:
            given["options"] = dict(given["options"], max_cycles=rng.choice((-1, None, 500)))
    _core.launch(**given)


def as_text(seed: int, number: int, corpus: list[Launch]) -> str:
    """What the case is, for whoever looks into it."""
    rng = Random(f"{seed}:{number}")
    kind = rng.random()
    if kind < 0.16:
        return "a call of a model" if kind < 0.08 else "a launch with arguments of the wrong kind"
    launch = _mutant(rng, corpus) if kind < 0.6 else random_launch(rng, corpus)
    machine = dict(zip(machines.NAMES, launch.config, strict=False))
    facts = {name: getattr(launch, name) for name in ("name", "grid", "block", "options", "meta", "params")}
    facts["buffers"] = [(len(data), address, writable) for data, address, writable in launch.buffers]
    facts |= {"machine": machine, "uniforms": launch.uniforms.tolist(), "code": ""}
    return "\n".join([*(f"{name} {fact}" for name, fact in facts.items()), *map(str, launch.code.tolist())])
