"""The forms of a kernel that experiments compare with its baseline, under the paper's names."""

from __future__ import annotations

from smmux.multiplex import FORMS

__all__ = ["APPROACHES", "LABELS", "MANAGED"]

LABELS = {name: form.label for name, form in FORMS.items()}
"""The paper's name of each variant."""

APPROACHES = {name: form.label for name, form in FORMS.items() if form.virtual}
"""The software approaches, whose thread blocks do the work of several, with their labels."""

MANAGED = tuple(name for name, form in FORMS.items() if form.hardware)
"""The variants for dynamic management in hardware."""
