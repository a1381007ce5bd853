#!/bin/sh
# strata export --to simpletrace and trace-events: read back, event by event. What strata reads of such
# files is compared with QEMU's own reader by simpletrace_boot.sh.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
strata=$STRATA_BIN/strata
cd "$dir"

fail() {
    echo "export_simpletrace: $*" >&2
    exit 1
}

# A trace of QEMU comes back as it was, with the declarations of QEMU and with those exported.
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
"$strata" report boot.trace >report
"$strata" export --to simpletrace boot.trace >boot.export
"$strata" export --to trace-events boot.trace >boot.events
"$strata" report boot.export | cmp report - || fail "a trace of QEMU differs"
"$strata" report --events boot.events boot.export | cmp report - || fail "a trace of QEMU differs with its exported declarations"
"$STRATA_BIN/simpletrace" boot.events boot.trace >pretty
[ "$(wc -l <pretty)" -eq "$(wc -l <report)" ] || fail "$(wc -l <pretty) lines"
"$STRATA_BIN/simpletrace" boot.events boot.export | cmp pretty - || fail "QEMU's form of it differs"

# Others, with strings, arrays, floats, bit fields, losses.
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest
for name in xen lttng-ust guest; do
    "$strata" export --to simpletrace -o $name.export $name 2>err
    "$strata" export --to trace-events -o $name.events $name
    "$strata" report -f json $name >before 2>err
    "$strata" report -f json --events $name.events $name.export >after 2>err
    [ ! "$(grep -v 'events were lost' err)" ] || fail "$name: $(cat err)"
    python3 "$here/export_simpletrace.py" before after || fail "$name differs"
    # Declarations that QEMU's own build would take.
    "$strata" gen --format h --backend nop --group all $name.events >header 2>err || fail "$name: $(head -3 err)"
done

# Two traces of one QEMU have their events in common.
cp boot.trace again.trace
"$strata" export --to trace-events boot.trace again.trace | cmp boot.events - || fail "two captures have events twice"

# Standard input, and selection.
"$strata" export --to simpletrace -n 100 - <boot.trace >out
"$strata" report --events boot.events out >after
head -n 100 report | cmp - after || fail "selected from a pipe"
