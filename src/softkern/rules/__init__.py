"""Membership rules and centre rules: the two axes that make a model of distances."""
