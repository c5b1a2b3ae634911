"""Attacks on a sandbox: in, a backend's name; out, a verdict per attack, from inside and from the host."""
