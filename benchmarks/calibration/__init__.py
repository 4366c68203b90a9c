"""Calibration of the tuned constants, run by benchmarks/calibrate.py."""
