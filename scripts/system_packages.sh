#!/bin/sh
# Install the system packages that are missing, when root on a system with apt; otherwise do nothing. Python's venv
# module, make, git and bubblewrap (for sandboxes) are all that the project needs today; add a line here when a test
# needs more. With the word `docker` its engine as well, which only the real tests need. A Python that was named by hand
# ($PYTHON) is not looked at: naming a wrong one installs nothing.
set -eu
missing=""
command -v make >/dev/null || missing="$missing make"
command -v git >/dev/null || missing="$missing git"
command -v bwrap >/dev/null || missing="$missing bubblewrap"
case " $* " in *" docker "*) command -v dockerd >/dev/null || missing="$missing docker.io" ;; esac
PYTHON="" sh "$(dirname "$0")/find_python.sh" >/dev/null 2>&1 || missing="$missing python3 python3-venv"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "system packages: please install:$missing" >&2
    exit 0
fi
echo "system packages: installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq </dev/null
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing </dev/null
