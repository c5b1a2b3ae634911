"""Models: making, loading, scoring, optimizing, checkpointing."""
