"""Held-out evaluation: benchmarks, runs over them, pass@k."""
