#!/bin/sh
# strata export --to perfetto --open: the page of Perfetto's UI gets the file once, and no other client does.

# Its port is one of the machine: in a network of our own, if there can be one, nothing else has it.
if [ "${1-}" != --inside ] && unshare --net true 2>/dev/null; then
    exec unshare --net "$0" --inside
fi
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/qemu_events.sh"
xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot
python3 "$here/export_open.py" "$strata" || exit $?
