"""How many things of a colour, of a shape or of both are in a picture."""
