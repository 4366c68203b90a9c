"""How good a soft partition is."""
