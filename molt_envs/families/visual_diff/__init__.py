"""Two boards of shapes, side by side in one picture, that differ in a few cells."""
