"""Tests with real parts: training runs, real models. `make test-real` runs them."""
