"""Policies: the rules of the machine that come in several kinds, of which a machine or a launch chooses one by name.

>>> from smmux.gpus import policies
>>> policies.names("management")[:2]
('static', 'dynamic')
>>> policies.KINDS["scheduler"].chosen
'machine parameter sched_policy'

A policy is a file of the C core and a row of csrc/tables/policies.def; `python -m smmux policies` lists all of them.
"""

from smmux.gpus.policies import *  # noqa: F403
from smmux.gpus.policies import __all__ as __all__
