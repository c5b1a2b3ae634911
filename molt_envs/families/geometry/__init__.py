"""Figures with measures in them: find the angle, the length or the area, with Python at hand."""
