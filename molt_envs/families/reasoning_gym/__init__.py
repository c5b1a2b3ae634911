"""ReasoningGym: the data sets of the library reasoning-gym as single questions."""
