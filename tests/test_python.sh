#!/usr/bin/env bash
# test_python.sh SOURCE LIBRARY SIMULATED [-only TEXT] - the tests of the Python package, or those
# with TEXT in their names: with the library as it is shipped, and with the library on the simulated
# device. There each call runs on the side that is predicted to finish first, or on the device.
# Needs a Python with NumPy and pytest.
set -euo pipefail

source=$1 library=$2 simulated=$3
only=()
[[ ${4-} == -only ]] && only=(-x -k "$5")

# shellcheck source=/dev/null
. "$source/tests/support/python_with.sh"
python=$(python_with "numpy, pytest")
if [[ -z $python ]]; then
    echo "skipped: there is no Python with NumPy and pytest"
    exit 77
fi

run() { # LIBRARY PATH
    echo "== ${1##*/}, DUOBLAS_PATH=$2"
    DUOBLAS_LIBRARY=$1 DUOBLAS_PATH=$2 PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 \
        "$python" -m pytest -q -p no:cacheprovider "${only[@]}" "$source/python/tests"
}
run "$library" auto
run "$simulated" auto
run "$simulated" gpu
