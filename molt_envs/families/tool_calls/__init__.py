"""Tool calls: errands in a small office, done by function calls and judged by what they changed."""
