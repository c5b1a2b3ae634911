"""A Python tool: problems that need computing, solved in an interpreter that keeps its state."""
