#!/bin/sh
# The JSON of all analyses fits the schema that is published.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/analysis_captures.sh"
# A snapshot, by its manifest.
jq '.snapshot = {reason: "trigger", trigger: "exit", what: "status 1", time: {realtime_ns: 5, monotonic_ns: 6},
    also: ["qmp:STOP"], repeats: 1}' vm/trace.json >trace.json
mv trace.json vm/trace.json
cp "$DATA/qemu/made/v4.simpletrace" .

STRATA_EVENTS=$DATA/qemu/made/trace-events python3 "$here/analysis_schema.py" "$strata" \
    "$tree/data/analysis.schema.json" "$here/../lib"
