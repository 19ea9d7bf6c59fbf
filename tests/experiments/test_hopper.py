"""What was measured of Hopper: page and files agree, vectors follow the documented laws, words have their registers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.common import marked
from experiments.hardware.hopper import assembler, findings, slice_hash

ROOT = Path(findings.__file__).parents[3]
VECTORS = findings.FOLDER / "vectors"


def vectors(name: str) -> dict[str, np.ndarray]:
    with np.load(VECTORS / f"{name}.npz") as file:
        return dict(file)


@pytest.mark.checkout
def test_the_page_has_the_numbers_of_the_files() -> None:
    page = (ROOT / "docs" / "hopper.md").read_text()
    assert marked.between(page, findings.BEGIN, findings.END) == findings.table()


@pytest.mark.checkout
def test_files_that_the_page_names_are_there() -> None:
    page = (ROOT / "docs" / "hopper.md").read_text()
    named = re.findall(r"`((?:h100/)?[\w]+\.(?:csv|npz))`", page)
    assert len(named) > 12
    assert all((findings.FOLDER / (name if "/" in name else f"h100/{name}")).exists() for name in named)


def test_the_formula_has_the_pair_of_slices_of_each_line_that_was_measured() -> None:
    data = findings.arrays("h100", "l2_slices")
    found = slice_hash.pair_of(128 * data["lines"].astype(np.int64))
    both = set(zip(found.tolist(), data["classes"].tolist(), strict=True))
    assert len(both) == len(set(found.tolist())) == len(set(data["classes"].tolist())) == 40


@pytest.mark.parametrize("card, name", [("h100", "NVIDIA H100 80GB HBM3"), ("h200", "NVIDIA H200")])
def test_provenance_names_card_driver_compiler_date_and_clocks(card: str, name: str) -> None:
    known = json.loads((findings.FOLDER / card / "provenance.json").read_text())
    assert known["card"] == name
    assert known["nvidia_smi"]["driver_version"]
    assert known["compiler"].startswith("Build cuda_")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", known["date"])
    assert known["nvidia_smi"]["clocks.max.sm"] == "1980 MHz"
    files = {path.stem for path in (findings.FOLDER / card).glob("*.csv")}
    assert len(files) > 38
    assert all(findings.rows(card, file) for file in files)


def test_clocks_of_one_multiprocessor_are_the_same_on_both_cards() -> None:
    same = ("stall_counts", "slots", "predicates", "memory_operands", "register_banks", "mixed_banks", "queue_depth")
    assert all(findings.rows("h100", name) == findings.rows("h200", name) for name in same)


def test_carries_of_additions_are_those_of_the_sum_of_33_bit_terms() -> None:
    """A negated source counts as its complement plus one, not truncated."""
    data = vectors("vectors")
    a, b, c = data["inputs_integer"][:, :, 0].astype(np.uint64).T
    mask, one = np.uint64(0xFFFFFFFF), np.uint64(1)
    carries = [(data["predicates"] >> i & 1).astype(np.uint64) for i in (0, 1)]
    sums = {
        "IADD3.P": a + b + c,
        "IADD3.P-a": (a ^ mask) + one + b + c,
        "IADD3.P-b-c": a + (b ^ mask) + one + (c ^ mask) + one,
        "IADD3.X~b": a + (b ^ mask) + c + carries[0] + carries[1],
    }
    for form, total in sums.items():
        bits = data[f"{form} predicates"]
        assert np.array_equal(data[form][:, 0], (total & mask).astype(np.uint32)), form
        assert np.array_equal(bits & 1, total >> np.uint64(32) >= 1), form
        assert np.array_equal(bits >> 1 & 1, total >> np.uint64(33) >= 1), form


def test_floats_are_rounded_as_ieee_754_says_and_nan_is_one_pattern() -> None:
    data = vectors("vectors")
    a, b = data["inputs_float"][:, 0, 0].view(np.float32), data["inputs_float"][:, 1, 0].view(np.float32)
    with np.errstate(all="ignore"):
        for form, wanted in (("FADD", a + b), ("FMUL", a * b)):
            bits = np.where(np.isnan(wanted), np.uint32(0x7FFFFFFF), wanted.view(np.uint32))
            assert np.array_equal(data[form][:, 0], bits), form


def test_bits_of_words_and_shuffles() -> None:
    data, warp = vectors("vectors"), vectors("vectors_warp")
    b = data["inputs_integer"][:, 1, 0]
    assert np.array_equal(data["POPC"][:, 0], [bin(value).count("1") for value in b])
    lanes = warp["lanes"]
    first = warp["inputs"][np.arange(len(lanes)), 0, lanes.argmax(axis=1)]
    assert np.array_equal(warp["R2UR"], np.broadcast_to(first[:, None], lanes.shape))


def test_special_functions_are_near_the_exact_ones() -> None:
    """The whole binade of the reciprocal, from its second differences, and the samples of all exponents."""
    data = vectors("mufu_rcp")
    values = np.concatenate([data["127_first"], data["127"].astype(np.int64)])
    slopes = np.cumsum(np.concatenate([[values[1] - values[0]], values[2:]]))
    bits = np.concatenate([[values[0]], values[0] + np.cumsum(slopes)]).astype(np.uint32)
    x = (np.arange(1 << 23, dtype=np.uint32) + (127 << 23)).view(np.float32).astype(np.float64)
    ulps = np.abs(bits.view(np.float32) - 1 / x) * 2.0**24
    assert ulps.max() < 1
    sampled = vectors("vectors_mufu")["rcp_127"]
    assert np.array_equal(sampled, bits[:: 1 << 10])


def test_registers_and_control_bits_of_a_word() -> None:
    word = assembler.ins("FFMA", d=24, a=8, b=12, c=16, stall=4, wait=5, reuse=3, guard=2)
    assert [word >> low & 255 for low in (16, 24, 32, 64)] == [24, 8, 12, 16]
    assert [word >> 105 & 15, word >> 109 & 1, word >> 116 & 63, word >> 122 & 15, word >> 12 & 15] == [4, 1, 5, 3, 2]
    back = assembler.branch(-160)
    assert (back >> 16 & 255) << 2 | (back >> 34 & (1 << 48) - 1) << 10 == (-160) & (1 << 58) - 1
