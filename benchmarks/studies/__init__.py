"""Whether the defaults answer; run by benchmarks/defaults.py."""
