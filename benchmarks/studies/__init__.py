"""Studies of the defaults, run by benchmarks/defaults.py."""
