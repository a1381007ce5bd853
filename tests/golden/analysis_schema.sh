#!/bin/sh
# The JSON of all analyses fits the schema that is published.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/analysis_captures.sh"
cp "$DATA/qemu/made/v4.simpletrace" .

STRATA_EVENTS=$DATA/qemu/made/trace-events python3 "$here/analysis_schema.py" "$strata" \
    "$tree/data/analysis.schema.json" "$here/../lib"
