#!/bin/sh
# Print the newest Python that Pellucid runs on and that can make virtual environments.
# A name on the PATH is not enough (version managers leave shims that only fail), so each candidate is asked.
for candidate in python3.14 python3.13 python3.12 python3.11 python3 python; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done
echo "Pellucid needs Python 3.11 to 3.14 with the venv module; none was found on the PATH." >&2
exit 1
