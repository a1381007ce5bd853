#!/bin/sh
# Values that are hard to write: infinite ones and those that are no number, doubles of 17 digits, arrays of numbers of every
# size, binary of trace_marker_raw; the same in JSON, CSV and SQLite.
. "$(dirname "$0")/../lib/golden.sh"

python3 "$here/values.py" "$STRATA_BIN/strata"
