#!/usr/bin/env bash
# with_python.sh PYTHON SCRIPT ARGS...: runs SCRIPT, or skips (77) where PYTHON or NumPy is not there.
set -eu
python=$1
shift
if ! "$python" -c 'import numpy' 2> /dev/null; then
  echo "skipped: no Python with NumPy ('$python'); tests/run.sh makes one"
  exit 77
fi
exec "$python" "$@"
