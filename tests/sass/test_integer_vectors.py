"""Integer operations, logic and predicates of compiled code make what a card made of 4096 cases, bit for bit."""

from __future__ import annotations

import pytest

from tests.sass.vectors import card, check, flags_of, sources

# Sources R8, R12, R16, result R24; predicates written P0, P1, read P0, P1: those of instruction_vectors.py.
FORMS = {
    "IADD3": "IADD3 R24, R8, R12, R16",
    "IADD3.P": "IADD3 R24, P0, P1, R8, R12, R16",
    "IADD3.P-a": "IADD3 R24, P0, P1, -R8, R12, R16",
    "IADD3.P-b": "IADD3 R24, P0, P1, R8, -R12, R16",
    "IADD3.P-c": "IADD3 R24, P0, P1, R8, R12, -R16",
    "IADD3.P-b-c": "IADD3 R24, P0, P1, R8, -R12, -R16",
    "IADD3.X": "IADD3.X R24, P0, P1, R8, R12, R16, P0, P1",
    "IADD3.X~b": "IADD3.X R24, P0, P1, R8, ~R12, R16, P0, P1",
    "IMAD": "IMAD R24, R8, R12, R16",
    "IMAD.HI": "IMAD.HI R24, R8, R12, R16",
    "IMAD.HI.U32": "IMAD.HI.U32 R24, R8, R12, R16",
    "IMAD.WIDE": "IMAD.WIDE R24, R8, R12, R16",
    "IMAD.WIDE.U32": "IMAD.WIDE.U32 R24, R8, R12, R16",
    "IMAD.WIDE.P": "IMAD.WIDE.U32 R24, P0, R8, R12, R16",
    "LOP3.LUT": "LOP3.LUT R24, R8, R12, R16, 0x96, !PT",
    "LOP3.LUT.P": "LOP3.LUT P0, R24, R8, R12, R16, 0x96, P0",
    "SHF.L.W.U32.HI": "SHF.L.W.U32.HI R24, R8, R12, R16",
    "SHF.R.W.U32": "SHF.R.W.U32 R24, R8, R12, R16",
    "SHF.R.U32": "SHF.R.U32 R24, R8, R12, R16",
    "SHF.L.U32": "SHF.L.U32 R24, R8, R12, RZ",
    "SHF.R.U32.HI": "SHF.R.U32.HI R24, RZ, R12, R16",
    "SHF.R.S32.HI": "SHF.R.S32.HI R24, RZ, R12, R16",
    "PRMT": "PRMT R24, R8, R12, R16",
    **{f"PRMT.{mode}": f"PRMT.{mode} R24, R8, R12, R16" for mode in ("F4E", "B4E", "RC8", "ECL", "ECR", "RC16")},
    "VABSDIFF": "VABSDIFF R24, R8, R12, R16",
    "VABSDIFF.U32": "VABSDIFF.U32 R24, R8, R12, R16",
    "VABSDIFF4.U8": "VABSDIFF4.U8.ACC R24, R8, R12, R16",
    "IDP.4A": "IDP.4A.S8.S8 R24, R8, R12, R16",
    "IDP.4A.U8": "IDP.4A.U8.U8 R24, R8, R12, R16",
    "IDP.2A": "IDP.2A.LO.S16.S8 R24, R8, R12, R16",
    "VIMNMX3": "VIMNMX3 R24, R8, R12, R16, !PT",
    "VIADDMNMX": "VIADDMNMX R24, R8, R12, R16, !PT",
    "VIMNMX": "VIMNMX R24, R8, R12, PT",
    "VIMNMX.U32": "VIMNMX.U32 R24, R8, R12, !PT",
    "VIADD": "VIADD R24, R8, R12",
    "SEL": "SEL R24, R8, R12, P0",
    "LEA": "LEA R24, R8, R12, 0x2",
    "SGXT": "SGXT R24, R8, R12",
    "BMSK": "BMSK R24, R8, R12",
    "ISETP": "ISETP.LT.AND P0, P1, R8, R12, P0",
    "ISETP.U32": "ISETP.LT.U32.AND P0, PT, R8, R12, PT",
    "IABS": "IABS R24, R12",
    "POPC": "POPC R24, R12",
    "FLO.U32": "FLO.U32 R24, R12",
    "FLO.S32": "FLO R24, R12",
    "FLO.SH": "FLO.U32.SH R24, R12",
    "BREV": "BREV R24, R12",
    "MOV": "MOV R24, R12",
    "R2P": "R2P PR, R8, 0x7f",
    "P2R": "P2R R24, PR, RZ, 0x7f",
    "PLOP3": "PLOP3.LUT P1, PT, P0, P1, PT, 0x28, 0x0",
}


@pytest.mark.parametrize("name", FORMS)
def test_an_operation_makes_what_the_card_made(name: str) -> None:
    arrays = card("vectors")
    check("vectors", name, [FORMS[name]], sources(arrays["inputs_integer"]), flags_of(arrays["predicates"]))
