"""The choice of an engine for K @ A, and its cost, before any work is done.

`engines` describes every engine, `costs` has their cost models, `plan` chooses one, and `text`
prints the choice.
"""

from softkern.operators.work import Cost
from softkern.planning.engines import ENGINES, Candidate, Engine, register
from softkern.planning.plan import Plan, plan
from softkern.planning.text import seconds_in_words

__all__ = [
    "ENGINES",
    "Candidate",
    "Cost",
    "Engine",
    "Plan",
    "plan",
    "register",
    "seconds_in_words",
]
