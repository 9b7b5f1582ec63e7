#!/usr/bin/env bash
# What a GPU does with the library, for a machine with one CUDA card, Python, torch and triton, and no network:
#
#   bash benchmarks/gpu.sh                      ten minutes at most; results in ordinate-gpu/gpu.json and gpu.md
#   bash benchmarks/gpu.sh --smoke              tiny sizes on a processor, under a minute
#   bash benchmarks/gpu.sh --fetch-wheels ...   beforehand, with network: packages that the machine lacks, into .whl
#   bash benchmarks/gpu.sh --wheels DIR ...     takes packages from DIR in the place of .whl
#
# More options: bash benchmarks/gpu.sh --help, and --fetch-wheels --help. PYTHON names the interpreter (python3).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
if [ "${1:-}" = --fetch-wheels ]; then
  shift
  exec "$python" "$here/gpu_wheels.py" "$@"
fi
wheels=.whl
if [ "${1:-}" = --wheels ]; then
  wheels=${2:?--wheels requires a folder}
  shift 2
  [ -d "$wheels" ] || { echo "gpu.sh: --wheels: no such folder: $wheels" >&2; exit 2; }
fi
export PYTHONPATH="$here/../src${PYTHONPATH:+:$PYTHONPATH}"
if compgen -G "$wheels/*.whl" >/dev/null; then
  site=$(mktemp -d)
  trap 'rm -rf "$site"' EXIT
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" "$wheels"/*.whl
  export PYTHONPATH="$PYTHONPATH:$site"
fi
"$python" "$here/gpu.py" "$@"
