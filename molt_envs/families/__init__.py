"""Environment families, one folder each; a family is imported only when one of its environments is made."""
