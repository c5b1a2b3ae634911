"""The docker backend's own parts: an engine started by hand, and an image made from the host's files."""
