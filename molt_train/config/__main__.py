"""`python -m molt_train.config` prints the reference tables of docs/configuration.md."""

from molt_train.config.reference import reference_markdown

if __name__ == "__main__":
    print(reference_markdown(), end="")
