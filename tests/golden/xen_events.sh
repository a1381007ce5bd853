#!/bin/sh
# Every event that Xen can trace has a name and all its words: made records of each, as several versions
# write them, against how they should read. tests/golden/xen_events.sh --update writes that anew, to be
# read before it is kept.
set -eu

# What real Xens wrote: nothing is unknown, too short or too long.
for capture in "$DATA"/xen/*.raw.xz; do
    if xz -dc "$capture" | "$STRATA_BIN/strata" report - 2>/dev/null | grep -E ' unknown_0x|=\?|more=\['; then
        echo "$capture: the events above"
        exit 1
    fi
done

here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/xen_events.py" "$STRATA_BIN/strata" "$DATA/xen" "$here/../../data/xen-events" "$@"
