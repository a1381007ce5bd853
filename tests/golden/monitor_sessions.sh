#!/bin/sh
# Monitors in a program ($MONITORED: tests/runtime/monitored.c), by real sockets, pipes and files: who may
# talk to them, how many, how they end, and that what they switch and write is so.
. "$(dirname "$0")/../lib/golden.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)

for check in transports sockets many rude stdio trace_file buffer; do
    mkdir "$work/$check"
    cd "$work/$check"
    "$tests/runtime/monitor.py" $check "$MONITORED" 2>stderr || {
        echo "monitor_sessions: $check failed:" >&2
        cat stderr >&2
        exit 1
    }
done

# What was switched off and on again, and moved, is whole: the values that the program counted up, without
# those of the pause.
cd "$work/trace_file"
echo 'serial_write(uint64_t value) "value %"PRIu64' >trace-events
for file in trace-[0-9]* one.st 'two words'; do
    "$STRATA_BIN/strata" report --strict --trace-events trace-events "$file" | sed 's/.*value //' >values
    [ -s values ] || { echo "monitor_sessions: $file holds nothing" >&2; exit 1; }
    sort -n -u values | cmp - values || { echo "monitor_sessions: $file: values are not in order" >&2; exit 1; }
    echo "$file" "$(awk 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print gaps + 0 }' values)" >>gaps
done
sed 's/^trace-[0-9]*/trace-PID/' gaps | diff - /dev/fd/3 3<<END || { echo "monitor_sessions: gaps other than by trace-file off" >&2; exit 1; }
trace-PID 0
one.st 1
two words 0
END
