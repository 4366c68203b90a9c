"""Membership rules and centre rules: the two axes that make a model of distances."""

from softkern.rules.base import Centres, Rule

__all__ = ["Centres", "Rule"]
