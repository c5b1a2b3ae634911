"""Estimators, losses, corrections: pure functions, arrays in, arrays out. Formulas: docs/algorithms.md."""
