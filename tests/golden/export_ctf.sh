#!/bin/sh
# strata export --to ctf: event by event as babeltrace2 shows it, and as strata reads it.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest

# compare CAPTURE... [OPTION...]: exported and reported with the same.
compare() {
    rm -rf export
    "$strata" export --to ctf -o export "$@" 2>err
    "$strata" report -f json "$@" >report 2>err
    babeltrace2 --clock-cycles export >shown 2>err || fail "$*: $(cat err)"
    "$strata" report -f json export >again 2>err.again
    python3 "$here/export_ctf.py" report shown err again export/metadata || fail "$* differs"
}
compare boot.trace -n 12000 # all of them are compared as text below
compare lttng-ust
compare guest
compare xen.raw -n 8000
grep -q '"ticks"' again || fail "ticks become nanoseconds"
"$strata" export --to ctf -o ticks xen.raw -n 10 2>err
grep -q 'xen.raw: times are ticks of a clock whose rate is unknown, which other tools take for nanoseconds; give --cpu-hz=HZ$' err || fail "$(cat err)"
compare xen.raw -e '*_to_*' -n 5000 --cpu-hz 2.4G
cp boot.trace again.trace
compare boot.trace again.trace -n 2000

# Layers, and vCPUs that have numbers.
. "$here/../lib/three_layers.sh"
compare trace --until 1000.06
compare trace --source qemu
python3 - again <<'END'
import collections, json, sys

events = [event for event in map(json.loads, open(sys.argv[1])) if "event" in event]
found = collections.Counter(event.get("vcpu") for event in events)
assert found == {0: 1, 1: 1, None: 2}, found
END
"$strata" export --to ctf -o layers trace 2>err
"$strata" info layers >told 2>err
grep -q '^  layer  *vmm, guest, host$' told || fail "info: $(cat told)"
"$strata" report -e disk_read -e guest:sched_switch -e host:sched_switch --from 1000.0169 --until 1000.0205 layers 2>err |
    sed 's/ prev_comm=.*//' >told
cat >expected <<'END'
1000.016939217 host  [001]      -       rcu_preempt-15 sched_switch:
1000.017478177 guest [001]  vcpu1               sh-121 sched_switch:
1000.020000000 vmm   [---]  vcpu0       CPU 0/TCG-4713 disk_read: sector 7 n 8
END
cmp told expected || fail "layers as text"

# counts TRACE: of each event of each layer. An event that is exported in several forms stays one.
counts() {
    "$strata" stat -f json "$1" 2>err | python3 -c 'import json, sys
rows = json.load(sys.stdin)["rows"]
for row in sorted((row["layer"], row["event"], row["count"]) for row in rows): print(*row)'
}
counts trace >before
counts layers >after
cmp before after || fail "events of several layers are counted otherwise"
"$strata" export --to ctf -o xen xen.raw 2>err
counts xen.raw >before
counts xen >after
cmp before after || fail "events of Xen are counted otherwise"

# What a trace of QEMU says as text is what it said before.
"$strata" report boot.trace | tr -s ' ' >before
"$strata" export --to ctf -o boot.ctf boot.trace
"$strata" report boot.ctf | tr -s ' ' >after
cmp before after || fail "the text of a trace of QEMU differs"

# An empty directory is used, another one is left alone. No partial output is left.
mkdir empty
"$strata" export --to ctf -o empty/ boot.trace
diff -r boot.ctf empty || fail "an empty directory"
status=0
"$strata" export --to ctf -o guest boot.trace 2>err || status=$?
[ $status -eq 1 ] && grep -q 'guest: directory exists and is not empty; name another directory' err ||
    fail "a directory with something in it: $(cat err)"
# An export is replaced, and nothing else: not with another file in it, a trace of another tracer, a link.
"$strata" export --to ctf -o empty/ --limit 5 boot.trace
[ "$("$strata" report empty | wc -l)" -eq 5 ] || fail "an export is not replaced"
for what in file folder tracer link; do
    rm -rf kept
    cp -r empty kept
    case $what in
    file) : >kept/notes ;;
    folder) mkdir kept/7 ;;
    tracer) sed -i s/strata-export/strata/ kept/metadata ;;
    link) mv kept elsewhere && ln -s elsewhere kept ;;
    esac
    cp -r kept before-$what
    status=0
    "$strata" export --to ctf -o kept boot.trace 2>err || status=$?
    [ $status -eq 1 ] && grep -q 'kept: directory exists and is not empty' err || fail "$what: $(cat err)"
    diff -r before-$what kept || fail "$what: changed"
done
status=0
"$strata" export --to ctf boot.trace 2>err || status=$?
[ $status -eq 2 ] && grep -q -e '--output=DIR is required: the format is a directory' err || fail "no name: $(cat err)"
[ -z "$(find . -maxdepth 1 -name '*.??????' ! -name '*.trace')" ] || fail "leaves $(ls)"

# Nothing selected: a trace without events.
"$strata" export --to ctf -o none -e nosuch boot.trace 2>err
[ -s none/metadata ] || fail "nothing selected"

# More sources than six bits can number, each with its own streams.
mkdir sources
for i in $(seq 70); do
    cp "$DATA/qemu/made/v2.simpletrace" "sources/$i"
done
STRATA_EVENTS=$DATA/qemu/made/trace-events "$strata" export --to ctf -o seventy sources/* 2>err
[ "$(grep -c '^stream' seventy/metadata)" -eq 70 ] || fail "$(grep -c '^stream' seventy/metadata) streams"
"$strata" report -f json seventy | jq -r 'select(.event) | .event' | sort | uniq -c | tr -s ' ' >counts
printf ' 70 %s\n' empty last mixed | diff - counts || fail "of 70 sources"
[ "$(babeltrace2 seventy 2>/dev/null | wc -l)" -eq 210 ] || fail "babeltrace2 of 70 sources"

# Entries for event ids are allocated by the highest: made-up streams cannot make that much.
mkdir hostile
{
    echo '/* CTF 1.8 */'
    echo 'trace { byte_order = le; }; typealias integer { size = 8; } := u8;'
    for i in $(seq 65); do
        echo "stream { id = $i; event.header := struct { u8 id; u8 timestamp; }; };"
        echo "event { name = \"e\"; stream_id = $i; id = 65535; };"
    done
} >hostile/metadata
status=0
"$strata" info hostile >out 2>err || status=$?
[ $status -eq 1 ] &&
    grep -q 'metadata:[0-9]*: the highest event ids of all streams come to more than 4194304 together$' err ||
    fail "hostile ids: $(cat err)"
