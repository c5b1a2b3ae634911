"""Faults put into the source one at a time, and the test that fails on each: `python -m tests.mutants`."""
