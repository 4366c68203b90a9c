"""The choice of an engine for K @ A, and its cost, before any work is done.

`engines` describes and prices every engine, `costs` has their cost models, and `plan` chooses one.
"""

from softkern.operators.work import Cost
from softkern.planning.engines import ENGINES, Candidate, Engine, register
from softkern.planning.plan import Plan, plan

__all__ = ["ENGINES", "Candidate", "Cost", "Engine", "Plan", "plan", "register"]
