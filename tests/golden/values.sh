#!/bin/sh
# Values that are hard to write: infinite ones and those that are no number, doubles of 17 digits, arrays of numbers of every
# size, binary of trace_marker_raw; the same in JSON, CSV and SQLite.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 "$here/values.py" "$STRATA_BIN/strata"
