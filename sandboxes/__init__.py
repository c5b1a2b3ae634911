"""Isolation of untrusted code: no backend exists yet, and this package exports nothing.

The name is reserved so that the direction of imports (sandboxes < molt_envs < molt_train) is fixed from the
start. Isolation backends come later: nothing in the project runs untrusted code until a backend is here.
"""
