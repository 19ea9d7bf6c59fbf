"""Policies: the table of the core, how Python sees it, and what the command line prints of it."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from smmux import ConfigError, _core, policies
from smmux.__main__ import main

ROOT = Path(__file__).parents[2]
COMPILER = shlex.split(os.environ.get("CC", "cc"))


def test_every_policy_has_a_kind_and_every_kind_several_names_at_most_once():
    assert {policy.kind for policy in policies.POLICIES} == set(policies.KINDS)
    assert max(Counter((policy.kind, policy.name) for policy in policies.POLICIES).values()) == 1
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", policy.name) for policy in policies.POLICIES)
    docs = [policy.doc for policy in policies.POLICIES] + [kind.doc for kind in policies.KINDS.values()]
    assert all(docs)
    assert len(set(docs)) == len(docs)


def test_numbers_count_up_from_zero_within_a_kind():
    for kind in policies.KINDS:
        rows = [name for found, name, _ in _core.POLICIES if found == kind]
        assert [policies.number(kind, name) for name in rows] == list(range(len(rows)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dynamics", "management must be one of static, dynamic.*, not 'dynamics'; did you mean 'dynamic'"),
        (1, "management must be one of static, dynamic.*, not 1"),
        (None, "management must be one of static, dynamic.*, not None"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name, message):
    assert policies.chosen("management", "management", "static") == "static"
    with pytest.raises(ConfigError, match=message):
        policies.chosen("management", "management", name)


def test_the_command_line_lists_policies_by_kind_with_the_option_that_chooses(capsys):
    assert main(["policies"]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {policy.name} " in printed and policy.doc in printed for policy in policies.POLICIES)
    assert "(launch option management)" in printed
    assert "(machine parameter sched_policy)" in printed


def test_the_list_is_machine_readable(capsys):
    assert main(["policies", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [tuple(row.values()) for row in printed["policies"]] == _core.POLICIES
    assert [tuple(row.values()) for row in printed["kinds"]] == _core.POLICY_KINDS


@pytest.mark.checkout
@pytest.mark.skipif(shutil.which(COMPILER[0]) is None, reason="there is no compiler")
def test_the_pages_example_compiles(tmp_path):
    page = (ROOT / "docs" / "policies.md").read_text()
    source = tmp_path / "highest.c"
    source.write_text(re.search(r"^```c\n(/\*.*?)^```", page, re.S | re.M)[1])
    command = [*COMPILER, "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'csrc'}", "-fsyntax-only", str(source)]
    subprocess.run(command, check=True)
