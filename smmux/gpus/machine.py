"""`Gpu`: one machine as numbers and names. Its fields are the rows of `smmux._core.CONFIG`; there is no second list."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from smmux import _core
from smmux.errors import ConfigError, did_you_mean, integer
from smmux.gpus import carveouts as divided, policies
from smmux.gpus.sources import CHANGED

__all__ = ["PARAMETERS", "Gpu", "Parameter", "Value", "as_tuple", "build"]

# A value and its source.
Value = tuple[int | str, str]

_KINDS = {kind.option: kind.name for kind in policies.KINDS.values()}
"""Kinds of policies by the option that chooses one."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A machine parameter: its unit, range and meaning; one whose values have names has the range of their numbers."""

    name: str
    unit: str
    min: int
    max: int
    doc: str

    @property
    def kind(self) -> str | None:
        """The kind of policies that the parameter chooses from."""
        return _KINDS.get(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values in the order of their numbers: policies, or units; none if they are numbers."""
        if self.kind:
            return policies.names(self.kind)
        return tuple(name for name, _ in _core.UNITS) if self.unit == "unit" else ()

    def checked(self, name: str, value: Any) -> int | str:
        """The value, if the parameter can have it; ConfigError, which calls the parameter by `name`, if not."""
        if self.kind:
            return policies.chosen(self.kind, name, value)
        if self.names:
            if value in self.names:
                return str(value)
            raise ConfigError(
                f"{name} must be one of {', '.join(self.names)}, not {value!r}{did_you_mean(str(value), self.names)}"
            )
        unit = "" if self.unit in ("rule", "flag") else self.unit
        return integer(name, value, self.min, self.max, unit, self.doc)


PARAMETERS: dict[str, Parameter] = {row[0]: Parameter(*row) for row in _core.CONFIG}

if TYPE_CHECKING:

    class _Parameters:
        sched_policy: str
        dram_policy: str
        dram_page: str
        preload_policy: str
        schedule: str
        dependence: str

        def __getattr__(self, name: str) -> int: ...

else:
    _Parameters = dataclasses.make_dataclass(
        "_Parameters",
        [(name, str if parameter.names else int) for name, parameter in PARAMETERS.items()],
        frozen=True,
        kw_only=True,
        init=False,  # all that a class of its fields would have written Gpu has; writing takes a while for so many
        repr=False,
        eq=False,
        namespace={"__module__": __name__, "__doc__": "The parameters of a machine."},
    )


@dataclass(frozen=True, kw_only=True)
class Gpu(_Parameters):
    """A machine: every parameter of the C core, by name, checked when it is made.

    Parameters are integers, but for the names of policies (`python -m smmux policies` lists them) and of units;
    `smmux.gpus.PARAMETERS` gives unit, range and meaning of each. A variant is made with
    `dataclasses.replace(gpu, smem_bytes=32768)` or `gpu.replace(...)`; `sources` then says that the value was changed.
    `carveouts` are the sizes of shared memory that a launch may choose, as {kB: {"l1_bytes": what is left, ...}}; a
    machine whose smem_bytes and l1_bytes are none of them has one size. `Gpu(**gpu.to_dict())` is the machine again.
    Raises ConfigError for a value out of range or for values that break a rule of `csrc/tables/rules.def`.
    """

    name: str
    description: str = field(default="", compare=False)
    # What the machine was built from: parameter, value, source. `sources` compares with it.
    origin: tuple[tuple[str, int | str, str], ...] = field(default=(), compare=False, repr=False)
    # Carve-outs: kB of shared memory, and what changes with it, as in `origin`.
    carveouts: divided.Carveouts = field(default=(), compare=False, repr=False)
    # Whether a driver chooses among them where a launch does not.
    driver_chooses: bool = field(default=False, repr=False)

    def __new__(cls, **given: Any) -> Gpu:
        """Refuse a machine of which parameters are missing; without any it is one that is copied."""
        missing = [name for name in PARAMETERS if given and name not in given]
        if missing:
            raise ConfigError(
                f"a Gpu needs a value for each of {len(PARAMETERS)} parameters, and {missing[0]} has none: "
                "make it of a machine that there is, gpus.get('K20c').replace(name='mine', sm_count=8)"
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for what in ("name", "description"):
            if not isinstance(getattr(self, what), str):
                raise ConfigError(f"the {what} of a machine must be a text, not {getattr(self, what)!r}")
        if isinstance(self.carveouts, Mapping):
            object.__setattr__(self, "carveouts", divided.from_plain(self.name, self.carveouts, PARAMETERS))
        for parameter in PARAMETERS.values():
            value = parameter.checked(f"{self.name}: {parameter.name}", getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)
        if fault := _core.config_fault(as_tuple(self)):
            raise ConfigError(f"{self.name}: {fault}")

    @property
    def sources(self) -> Mapping[str, str]:
        """Source of each parameter's value (keys: `smmux.gpus.TITLES`); CHANGED where it is not the original one."""
        given = {name: (value, source) for name, value, source in self.origin}
        found = {}
        for name in PARAMETERS:
            value, source = given.get(name, (None, CHANGED))
            found[name] = source if value == getattr(self, name) else CHANGED
        return found

    @property
    def shader_mhz(self) -> float:
        """Shader clock in MHz: the time base of all cycle counts."""
        return self.shader_khz / 1000

    @property
    def smem_block(self) -> int:
        """Bytes of shared memory that a block may have, with what the machine reserves."""
        return min(self.smem_bytes, self.max_smem_block or self.smem_bytes)

    def time_us(self, cycles: float) -> float:
        """Microseconds that so many shader clocks take."""
        return cycles * 1000 / self.shader_khz

    def replace(self, **changes: Any) -> Gpu:
        """A copy with some parameters (or the name) changed. Raises ConfigError for an unknown name."""
        known = {f.name for f in dataclasses.fields(self)}
        for name in changes:
            if name not in known:
                raise ConfigError(f"{self.name} has no parameter {name!r}{did_you_mean(name, known)}")
        return dataclasses.replace(self, **changes)

    def with_banks(self, width: int | None) -> Gpu:
        """The machine with banks of shared memory `width` bytes wide; None leaves them as they are.

        cudaDeviceSetSharedMemConfig sets it on a card. Raises ConfigError for a width or a machine without that choice.
        """
        if width is None:
            return self
        if width not in (4, 8) or self.smem_rule != 3:
            raise ConfigError(
                f"banks of {width} bytes on {self.name}: only compute capability 3.x has bank modes, 4 and 8 bytes"
            )
        return self.replace(smem_bank_bytes=width)

    def with_carveout(self, kilobytes: int | None) -> Gpu:
        """The machine with so many kB of shared memory, the L1 having the rest of what both have together; None leaves
        it as it is.

        cudaFuncSetCacheConfig and the carve-out attribute of a kernel set it on a card. Raises ConfigError for a size
        or a machine without that choice.
        """
        if kilobytes is None:
            return self
        now = self.carveout()
        if not now:
            why = ", as smem_bytes or l1_bytes is changed: give carveouts too" if self.carveouts else ""
            raise ConfigError(f"carveout of {kilobytes} kB: shared memory of {self.name} has one size{why}")
        choices = dict(self.carveouts)
        if kilobytes not in choices:
            sizes = ", ".join(map(str, sorted(choices)))
            raise ConfigError(f"carveout of {kilobytes} kB: shared memory of {self.name} may have {sizes} kB")
        # What is not as the present carve-out has it was changed, and stays.
        untouched = {name for name, value, _ in now if getattr(self, name) == value}
        chosen = {row[0]: row for row in choices[kilobytes] if row[0] in untouched}
        origin = tuple(chosen.get(row[0], row) for row in self.origin)
        return self.replace(origin=origin, driver_chooses=False, **{name: value for name, value, _ in chosen.values()})

    def carveout(self) -> divided.Carveout | None:
        """What the machine's carve-out sets; None if its shared memory has one size."""
        return divided.present(self.carveouts, {name: getattr(self, name) for name in divided.SIZES})

    def to_dict(self) -> dict[str, Any]:
        """Name, parameters and carve-outs, as plain data."""
        parameters = {name: getattr(self, name) for name in PARAMETERS}
        if not self.carveouts:
            return {"name": self.name, **parameters}
        more = {"carveouts": divided.plain(self.carveouts), "driver_chooses": self.driver_chooses}
        return {"name": self.name, **parameters, **more}

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)}" for name, source in self.sources.items() if source == CHANGED]
        return f"<Gpu {self.name}{' with ' + ', '.join(changed) if changed else ''}>"

    def _repr_html_(self) -> str:
        sources = self.sources
        rows = "".join(
            f"<tr><td><code>{p.name}</code></td><td style='text-align:right'>{getattr(self, p.name)}</td>"
            f"<td>{html.escape(p.unit)}</td><td>{html.escape(sources[p.name])}</td><td>{html.escape(p.doc)}</td></tr>"
            for p in PARAMETERS.values()
        )
        head = "".join(f"<th>{text}</th>" for text in ("parameter", "value", "unit", "source", "meaning"))
        caption = html.escape(f"{self.name}: {self.description}" if self.description else self.name)
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Parameter values in the order of `smmux._core.CONFIG`, names by their numbers."""
        values = ((parameter.names, getattr(self, name)) for name, parameter in PARAMETERS.items())
        return tuple(names.index(value) if names else value for names, value in values)


def build(
    name: str,
    description: str,
    values: Mapping[str, Value],
    carveouts: Mapping[int, Mapping[str, Value]] | None = None,
    driver_chooses: bool = False,
) -> Gpu:
    """The machine with these values, each with its source, and the carve-outs that a launch may choose, by kB of shared
    memory; driver_chooses: a driver does where a launch does not. Raises ConfigError for missing or unknown
    parameters."""
    missing = [p for p in PARAMETERS if p not in values]
    unknown = [p for p in values if p not in PARAMETERS]
    if missing or unknown:
        raise ConfigError(f"machine {name}: no value for {missing}, unknown {unknown}")
    origin = tuple((p, *values[p]) for p in PARAMETERS)
    choices = tuple(
        (size, tuple((p, value, source) for p, (value, source) in changes.items()))
        for size, changes in sorted((carveouts or {}).items())
    )
    parameters: dict[str, Any] = {p: value for p, value, _ in origin}
    return Gpu(
        name=name,
        description=description,
        origin=origin,
        carveouts=choices,
        driver_chooses=driver_chooses,
        **parameters,
    )


def as_tuple(gpu: Gpu) -> tuple[int, ...]:
    """Parameter values in the order of `smmux._core.CONFIG`, as the core takes them."""
    return gpu.numbers
