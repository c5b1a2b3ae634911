"""Search questions: answer a question of several hops from a small invented encyclopedia."""
