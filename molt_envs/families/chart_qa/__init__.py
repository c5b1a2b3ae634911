"""Numbers read off bars, lines, pies and tables."""
