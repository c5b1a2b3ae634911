"""Estimators, losses and corrections: pure functions, arrays in, arrays out. docs/algorithms.md has the formulas."""
