#!/usr/bin/env bash
# Measure the library on a machine with one CUDA card, Python, torch and triton:
#
#   bash benchmarks/gpu.sh                  ten minutes at most; results in ordinate-gpu/gpu.json
#   bash benchmarks/gpu.sh --smoke          tiny sizes on a processor, under a minute
#   bash benchmarks/gpu.sh --wheels DIR     use the packages whose wheels lie in DIR, where there is no network
#
# More options: bash benchmarks/gpu.sh --help. PYTHON names the interpreter (python3).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH="$here/../src${PYTHONPATH:+:$PYTHONPATH}"
if [ "${1:-}" = --wheels ]; then
  site=$(mktemp -d)
  trap 'rm -rf "$site"' EXIT
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "${2:?--wheels requires a folder}"/*.whl
  export PYTHONPATH="$PYTHONPATH:$site"
  shift 2
fi
"$python" "$here/gpu.py" "$@"
