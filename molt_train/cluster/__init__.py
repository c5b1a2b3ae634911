"""The parts of a run as Ray actors, on one machine or many. The only home of `import ray`."""
