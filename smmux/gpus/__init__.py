"""Named machines; every value with its source.

>>> from smmux import gpus
>>> gpu = gpus.get("GTX285")
>>> gpu.lat_alu, gpu.sources["lat_alu"]
(24, 'MERPSYS T4.1')
>>> gpu.replace(smem_bytes=32768).sources["smem_bytes"]
'CHANGED'
>>> with gpus.set_current("GTX480-48K"):
...     gpus.current().name
'GTX480-48K'
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from functools import cache
from types import TracebackType

from smmux.base.settings import setting
from smmux.errors import ConfigError, did_you_mean
from smmux.gpus import caches, fermi, gt200, hopper, kepler
from smmux.gpus.machine import PARAMETERS, Gpu, Parameter, Value, as_tuple, build
from smmux.gpus.sources import CHANGED, TITLES, keys

__all__ = [
    "CHANGED",
    "COMPILED",
    "DEFAULT",
    "PARAMETERS",
    "TITLES",
    "Gpu",
    "Parameter",
    "as_tuple",
    "compiled_names",
    "current",
    "get",
    "keys",
    "names",
    "set_current",
]

DEFAULT = "GTX285"
COMPILED = "H100"
"""The machine on which compiled code runs unless another is named."""

_MACHINES: dict[str, tuple[str, dict[str, Value]]] = {
    "GTX285": ("GeForce GTX 285, as measured", gt200.GTX285),
    "GTX285-1100": (
        "GTX 285 as GPGPU-Sim 3.0.2 models it, memory at 1100 MHz: the paper's simulated card",
        gt200.GTX285_1100,
    ),
    "C1060": ("Tesla C1060: the GTX 285's chip at lower clocks", gt200.C1060),
    "GTX480-16K": ("GeForce GTX 480, 16 kB shared memory and 48 kB L1", fermi.GTX480_16K),
    "GTX480-48K": ("GeForce GTX 480, 48 kB shared memory and 16 kB L1", fermi.GTX480_48K),
    "K20c": ("Tesla K20c, 48 kB shared memory", kepler.K20C),
}

_HOPPER: dict[str, tuple[str, dict[str, Value]]] = {
    "H100": ("H100 SXM5 80 GB, as measured by microbenchmarks", hopper.H100),
    "H200": ("H200 SXM 141 GB, as measured by microbenchmarks", hopper.H200),
}
"""Machines of compiled code. `get` knows them; `names` does not list them, which is for what runs on all."""

_FORMER = {"cc90-provisional": "H100"}
"""What machines were called before."""

_CARVEOUTS: dict[str, dict[int, dict[str, Value]]] = {
    "GTX480-16K": caches.FERMI_CARVEOUTS,
    "GTX480-48K": caches.FERMI_CARVEOUTS,
    "K20c": caches.KEPLER_CARVEOUTS,
    **dict.fromkeys(_HOPPER, hopper.CARVEOUTS),
}
"""What machines change with the shared memory that a launch asks for, by kB."""

_current: ContextVar[Gpu | None] = setting(__name__, "current", None)


def names() -> tuple[str, ...]:
    """Names that `get` knows, without those of `compiled_names`."""
    return tuple(_MACHINES)


def compiled_names() -> tuple[str, ...]:
    """Names of the machines on which compiled code runs."""
    return tuple(_HOPPER)


def get(gpu: str | Gpu) -> Gpu:
    """The machine of that name (any case); a machine is returned as it is. Raises ConfigError for an unknown name."""
    if isinstance(gpu, Gpu):
        return gpu
    if not isinstance(gpu, str):
        raise ConfigError(f"gpu must be a name or a Gpu, not {type(gpu).__name__}")
    known = {name.lower(): name for name in (*_MACHINES, *_HOPPER)} | _FORMER
    if gpu.lower() not in known:
        hint = did_you_mean(gpu, known.values(), least=0.67)
        listed = f"known: {', '.join((*_MACHINES, *_HOPPER))}; compiled code is measured on {', '.join(_HOPPER)} alone"
        more = "; any other is made of one of them: gpus.get('K20c').replace(name='mine', sm_count=8)"
        raise ConfigError(f"unknown gpu {gpu!r}{hint} ({listed}{more})")
    return _build(known[gpu.lower()])


@cache
def _build(name: str) -> Gpu:
    description, values = _MACHINES.get(name) or _HOPPER[name]
    return build(name, description, values, _CARVEOUTS.get(name, {}), driver_chooses=name in _HOPPER)


def current() -> Gpu:
    """The machine on which `kernel[grid, block](...)` runs: DEFAULT unless `set_current` chose another."""
    return _current.get() or get(DEFAULT)


class set_current:
    """Choose the current machine of this thread (or task): for good, or for the body of a `with`."""

    def __init__(self, gpu: str | Gpu) -> None:
        self.gpu = get(gpu)
        self._token: Token[Gpu | None] | None = _current.set(self.gpu)

    def __enter__(self) -> Gpu:
        return self.gpu

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
            self._token = None

    def __repr__(self) -> str:
        return f"set_current({self.gpu.name!r})"
