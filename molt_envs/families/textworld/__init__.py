"""TextWorld: text adventures that the library textworld generates and compiles."""
