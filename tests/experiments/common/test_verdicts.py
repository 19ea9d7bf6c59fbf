"""Claims, their judges, and what counts as the paper's number."""

from __future__ import annotations

import importlib
import inspect

import pytest

from experiments.common import verdicts


def test_every_claim_has_words() -> None:
    """A letter for each text, and its sentences from 1 on."""
    claims = verdicts.claims()
    for letter in {id[0] for id in claims}:
        own = [id for id in claims if id[0] == letter]
        assert set(own) == {f"{letter}{i}" for i in range(1, len(own) + 1)}
    assert all(claim.text for claim in claims.values())


@pytest.mark.parametrize("claim", verdicts.claims().values(), ids=lambda claim: claim.id)
def test_every_claim_has_a_script_and_a_judge_of_its_own(claim: verdicts.Claim) -> None:
    assert importlib.import_module(f"experiments.{claim.script}").EXPERIMENT.name == claim.script
    assert inspect.getdoc(verdicts.judge_of(claim))
    assert [other.id for other in verdicts.claims().values() if other.judge == claim.judge] == [claim.id]


def test_verdicts_take_their_words_from_the_claims() -> None:
    verdict = verdicts.claims()["P16"].verdict(8736, True)
    assert (verdict.id, verdict.paper, verdict.word) == ("P16", 8736, "reproduced")
    assert verdicts.claims()["P3"].verdict(None, None).word == "not judged"
    with pytest.raises(KeyError):
        verdicts.judge("P99", [])


def test_numbers_are_compared_with_the_papers() -> None:
    assert verdicts.paper("P3") == (1.53, 2.34)
    assert verdicts.paper("P4") == (0.256,)
    with pytest.raises(KeyError):
        verdicts.paper("P61")
    assert verdicts.close((1.4, 2.57), verdicts.paper("P3")) == (True, "-8.5%, +9.8%; up to 10% counts as reproduced")
    assert not verdicts.close((1.53, 2.0), verdicts.paper("P3"))[0]
