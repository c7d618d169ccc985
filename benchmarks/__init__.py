"""Benchmarks: ratios to raw floors, measured in one run."""
