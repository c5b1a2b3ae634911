"""Data: which tasks come next, and episodes as packed batches."""
