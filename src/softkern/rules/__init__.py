"""Membership rules and center rules: the two axes that make a model of distances."""
