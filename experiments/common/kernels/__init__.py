"""The kernels of the validation, by theme; all that is measured with them."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.common.kernels import camped, chains, global_rates, peaks, products, shared_rates, transforms
from experiments.common.kernels.probe import Probe

__all__ = ["PROBES", "Probe"]

PROBES: Mapping[str, Probe] = {
    probe.name: probe
    for theme in (chains, shared_rates, global_rates, camped, peaks, products, transforms)
    for probe in theme.PROBES
}
