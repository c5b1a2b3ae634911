#!/bin/sh
# Print the Python to build virtual environments with: $PYTHON where set, else the first on the path that is 3.11 or
# newer and can make one. The exact sets were tested on 3.11, so that one comes first.
for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$candidate"
        exit 0
    fi
done
echo "No Python 3.11 or newer with the venv module was found (looked at: ${PYTHON:-python3.11 python3.12 python3.13 python3 python})." >&2
echo "Install one (Debian: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3.11 …" >&2
exit 1
