"""Walking over a small board to stars that appear one after the other; every move shows a new picture."""
