#!/bin/sh
# An exported trace.dat as KernelShark's own library reads it: each source in a buffer, event by event.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

for header in kernelshark/libkshark.h json-c/json.h trace-cmd/trace-cmd.h; do
    [ -e /usr/include/$header ] || {
        echo "there is no <$header>: apt-get install libkshark-dev libjson-c-dev libtracecmd-dev"
        exit 77
    }
done
DATA=$tree/tests/data

# shellcheck disable=SC2046 # words
${CC:-cc} -o kernelshark "$here/kernelshark.c" -I/usr/include/kernelshark $(pkg-config --cflags libtraceevent libtracefs libtracecmd) \
    -lkshark -ltracecmd -ltraceevent

# What a report shows, in the same form, except texts.
reported() {
    "$strata" report -f json "$@" 2>/dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    item = json.loads(line)
    row = item.get("cpu", item.get("vcpu", "?"))
    if "event" in item:
        print(item["time_ns"], row, item["pid"], f"""{item.get("group", item["layer"])}/{item["event"]}""")
    elif item["lost"]:
        print("lost", row, item["lost"])
    else:
        print("lost", row, -1)'
}
# The same of what KernelShark has; a time and place are not those of a loss.
shown() {
    sed -n -E 's/^[^ ]* [0-9]+ ([0-9]+) [^:]* missed_events: missed_events=(-?[0-9]+)$/lost \1 \2/p;t
        s/^[^ ]* ([0-9]+) ([0-9]+) ([0-9]+) .* ([a-z_]+\/[a-z0-9_]+): .*/\1 \2 \3 \4/p' "$1"
}

here=$here/../golden
. "$here/../lib/three_layers.sh"
"$strata" export --to trace.dat -o export.dat trace 2>/dev/null
env -u MALLOC_PERTURB_ ./kernelshark export.dat >all
reported trace | sed '/disk_read$/s/ ? / 2 /' | sort >expected
shown all | sort | diff expected - | head -20 >differs
[ ! -s differs ] || {
    cat differs
    exit 1
}
[ "$(cut -d ' ' -f 1 all | sort -u | tr '\n' ' ')" = '- guest vmm ' ]
grep -q '^vmm 1000040001000 1 4714 .* vmm/disk_read: sector 8 n 8$' all
grep -q '^guest 1000007817784 1 157 ls.* syscalls/sys_enter_openat: dfd: 0xffffff9c, filename: 0x005c0d1f, ' all

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
. "$here/../lib/qemu_events.sh"
"$strata" export --to trace.dat -o export.dat boot.trace
env -u MALLOC_PERTURB_ ./kernelshark export.dat >all
"$strata" report boot.trace | sed 's/^\([0-9]*\)\.\([0-9]*\) \[---\] *\([0-9]*\) /\1\2 0 \3 vmm\//' >expected
sed -E 's/^- ([0-9]+ 0 [0-9]+) [^ ]* /\1 /' all | cmp expected -
