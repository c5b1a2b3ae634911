"""What a run leaves for people: metrics, TensorBoard, progress in the terminal, sample episodes, a report."""
