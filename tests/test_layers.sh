#!/usr/bin/env bash
# test_layers.sh BUILD SOURCE - no file of src/ names one of a higher layer: layers.py.
set -euo pipefail
command -v python3 >/dev/null && command -v nm >/dev/null || exit 77
exec python3 "$(dirname "$0")/layers.py" "$2" "$1"
