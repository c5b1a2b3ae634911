"""Source mutations that a named test must notice, and what runs them: `python -m tests.mutants [NAME…]`."""
