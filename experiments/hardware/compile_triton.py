"""Compile the kernels of the suite "triton" for a card: `python -m experiments.hardware.compile_triton`.

The files of GPU code, and what a launch has to know of them, `triton.json`, go to the folder `suites` beside this file.
This needs Triton, whose own ptxas is used, and no card. Lines of the source are left out, so that the code does not
depend on the place of this checkout. What was measured stands for the code that ran: measure anew after compiling anew.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import smmux
from smmux.base import whole_files

FOLDER = Path(__file__).parent / "suites"
ARCH = "sm_90"
SETTINGS = {"TRITON_DISABLE_LINE_INFO": "1", "TRITON_DEFAULT_FP_FUSION": "1"}
"""Of Triton, whose defaults differ from release to release."""


def compiled() -> dict[str, Any]:
    """The kernels by name, each with how it was compiled."""
    from experiments.suites.triton_kernels import RECIPES  # needs Triton

    os.environ.update(SETTINGS)
    return {
        name: (
            recipe,
            smmux.from_triton(
                recipe.kernel, recipe.signature(), recipe.constants, recipe.warps, ARCH, **recipe.options
            ),
        )
        for name, recipe in RECIPES.items()
    }


def makers() -> dict[str, str]:
    """The releases of Triton and of the assembler that it brings along."""
    import triton
    from triton import knobs

    return {"triton": triton.__version__, "ptxas": knobs.nvidia.ptxas.version}


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="%(default)s")
    out: Path = parser.parse_args().out
    kernels = {}
    for name, (recipe, kernel) in compiled().items():
        whole_files.write_bytes(out / f"triton.{name}.cubin", kernel.cubin.data)
        kernels[name] = {"warps": recipe.warps, "shared": kernel.dynamic_shared, "constants": recipe.constants}
        print(kernel.summary)
    about = {"arch": ARCH, **makers(), "kernels": kernels}
    whole_files.write_text(out / "triton.json", json.dumps(about, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
