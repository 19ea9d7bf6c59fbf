"""PTX that was written by hand has its own lines; code without any has addresses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux.compiler.sass import tools
from smmux.errors import OutOfBoundsError
from tests.sass.conftest import needed

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry late(.param .u64 place, .param .u32 stops)
{
    .reg .b64 %p<3>; .reg .b32 %r<4>; .reg .pred %q;
    ld.param.u64 %p0, [place];
    ld.param.u32 %r0, [stops];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %p1, %r1, 4, %p0;
    ld.global.u32 %r2, [%p1+4];
    setp.ne.u32 %q, %r0, 0;
    @%q trap;
    st.global.u32 [%p1], %r2;
    ld.global.u32 %r2, [%p1+8];
    st.global.u32 [%p1], %r2;
    ret;
}
"""
LINES = {text.strip(): number for number, text in enumerate(PTX.splitlines(), 1)}
LOADS = [LINES["ld.global.u32 %r2, [%p1+4];"], LINES["ld.global.u32 %r2, [%p1+8];"]]


def test_text_and_file(tmp_path: Path) -> None:
    needed("ptxas", "nvdisasm")
    place = tmp_path / "late.ptx"
    place.write_text(PTX)
    for source, name in ((PTX, "<text>"), (place, str(place.resolve()))):
        kernel = smmux.load(source)["late"]
        result = kernel.simulate(1, 64, (np.arange(66, dtype=np.int32), 0), profile=True)
        assert result.files == (name,)
        assert result.lines()[LOADS[0]]["issued"] == 2
        assert result.source(LOADS[0]) == "    ld.global.u32 %r2, [%p1+4];"
        assert f"{Path(name).name}:{LOADS[0]}  ld.global.u32 %r2, [%p1+4];" in kernel.listing()
        with pytest.raises(smmux.KernelError, match="stops itself") as caught:
            kernel.simulate(1, 64, (np.arange(66, dtype=np.int32), 1))
        assert (caught.value.filename, caught.value.line) == (name, LINES["@%q trap;"])


def test_a_race_names_lines_of_ptx() -> None:
    needed("ptxas", "nvdisasm")
    result = smmux.load(PTX)["late"].simulate(1, 64, (np.arange(66, dtype=np.int32), 0), check="races")
    assert {finding.lines for finding in result.races} >= {(LOADS[1], LINES["st.global.u32 [%p1], %r2;"])}
    assert "put __syncthreads() between" in result.races[0].explain()
    assert "st.global.u32 [%p1], %r2;" in result.races[0].explain()


def test_a_compilers_lines_count_more() -> None:
    needed("ptxas", "nvdisasm")
    text = PTX.replace(".visible", '.file 1 "late.py"\n.visible').replace(
        "    ld.param", "    .loc 1 7 1\n    ld.param"
    )
    assert {one.file for one in smmux.load(text)["late"].instructions} <= {"late.py", None}


def test_code_without_lines_has_addresses(tmp_path: Path) -> None:
    needed("ptxas", "nvdisasm")
    source, made = tmp_path / "late.ptx", tmp_path / "late.cubin"
    source.write_text(PTX)
    words = [str(tools.find_tool("ptxas")), "-arch=sm_90", str(source), "-o", str(made)]
    subprocess.run(words, check=True, capture_output=True)
    kernel = smmux.load(made)["late"]
    result = kernel.simulate(1, 64, (np.arange(66, dtype=np.int32), 0), check="races")
    text = {f"{one.address:#06x}": one.text for one in kernel.instructions}
    sides = {str(side).split()[2] for race in result.races for side in (race.first, race.second)}
    assert len(result.races) > 1
    assert {text[address].split()[0] for address in sides} == {"LDG.E", "STG.E"}
    assert sides <= set(text)
    assert "put __syncthreads() between" in result.races[0].explain()
    assert sorted(sides)[0] in result.findings._repr_html_()
    with pytest.raises(OutOfBoundsError) as caught:
        kernel.simulate(1, 64, (np.arange(64, dtype=np.int32), 0))
    assert caught.value.pc is not None
    assert f", at {16 * caught.value.pc:#06x} (LDG.E " in str(caught.value)
    with pytest.raises(OutOfBoundsError, match="through a null pointer"):
        kernel.simulate(1, 64, (None, 0))
