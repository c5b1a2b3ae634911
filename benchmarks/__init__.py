"""Measured claims: `python -m benchmarks [list | NAME…]`, run from a checkout.

Each benchmark is one module here with a `NAME` (the module's own name) and a `main()` that calls
`report.record` once for each claim.
"""
