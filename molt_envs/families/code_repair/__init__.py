"""Small Python projects with a fault, to be mended and judged by tests that are not shown."""
