"""The household of ALFWorld: an own engine with its language, generated tasks, and original game files."""
