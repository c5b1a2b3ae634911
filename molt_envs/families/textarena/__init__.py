"""TextArena: the games of the library textarena, for one seat or several."""
