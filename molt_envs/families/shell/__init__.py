"""A terminal: tasks in a small file system, judged by its final state."""
