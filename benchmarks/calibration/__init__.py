"""Where the constants of the code come from; run by benchmarks/calibrate.py."""
