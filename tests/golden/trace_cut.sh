#!/bin/sh
# A trace directory that was copied incompletely, or cut: each file that is missing, empty or shorter than its recorder wrote
# it is reported, counts as a loss of unknown size, and nothing says that all is there.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"

mkdir whole
kernel_capture local whole/guest
sizes=$(for cpu in 0 1; do wc -c <whole/guest/cpu$cpu.raw; done)
size0=$(echo "$sizes" | head -n 1) size1=$(echo "$sizes" | tail -n 1)
manifest() { # DIR FILES
    cat >"$1/trace.json" <<END_OF_JSON
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest", $2
  "began": {"realtime_ns": 1795246302879548000}, "ended": {"realtime_ns": 1795246303879548000},
  "lost": 5, "complete": true}]}
END_OF_JSON
}
copy() { # DIR: what of `whole` does not change is linked
    rm -rf "$1"
    cp -r --link whole "$1"
    cp --remove-destination whole/guest/cpu1.raw "$1/guest/cpu1.raw"
}
manifest whole "\"files\": {\"guest/cpu0.raw\": $size0, \"guest/cpu1.raw\": $size1, \"guest/cpu2.raw\": 0},"
fact() { sed -n "s/^  $1   *//p" info; }
# read_cut STATUS MESSAGE: what is left is shown, with the loss.
read_cut() {
    status=0
    "$strata" report cut >lines 2>told || status=$?
    [ $status -eq "$1" ] || fail "report: exit status $status: $(cat told)"
    grep -qFx "strata: $2" told || fail "report: $(cat told)"
    [ "$(grep -c '\[000\]' lines)" -gt 5000 ] || fail "no events of CPU 0: $(wc -l lines) lines"
    status=0
    "$strata" info cut >info 2>told || status=$?
    [ $status -eq "$1" ] || fail "info: exit status $status: $(cat told)"
    grep -qFx "strata: $2" told || fail "info: $(cat told)"
    [ "$(fact complete)" = 'no; the recorder finished, but parts cannot be read' ] &&
        [ "$(fact 'lost in all')" = "unknown; 5 by the recorder's count" ] || fail "$(cat info)"
    fact lost | grep -q 'unknown number in 1 place; the input is damaged' || fail "$(cat info)"
    for jobs in 1 2; do
        status=0
        "$strata" stat -f csv --jobs $jobs cut >stat$jobs 2>told || status=$?
        [ $status -eq "$1" ] || fail "stat: exit status $status: $(cat told)"
        grep -qFx "strata: $2" told || fail "stat: $(cat told)"
    done
    cmp stat1 stat2 || fail "the number of jobs makes a difference"
}
keep_going() {
    "$strata" report --keep-going cut >lines 2>told || fail "--keep-going: $(cat told)"
    grep -qFx "strata: $1" told || fail "--keep-going: $(cat told)"
    status=0
    "$strata" info --keep-going --strict cut >info 2>told || status=$?
    [ $status -eq 3 ] || fail "--strict: exit status $status: $(cat told)"
    [ "$(fact complete)" = 'no; the recorder finished, but parts cannot be read' ] || fail "$(cat info)"
    fact lost | grep -q 'unknown number in 1 place' || fail "$(cat info)"
}

case=whole
"$strata" info whole >info 2>told || fail "$(cat told)"
[ ! -s told ] && [ "$(fact complete)" = 'no; 5 events were lost' ] && [ "$(fact 'lost in all')" = 5 ] || fail "$(cat told info)"
! fact lost | grep -q unknown || fail "$(cat info)"

case=missing
copy cut
rm cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: is missing; the $size1 bytes that the recorder wrote are lost"
read_cut 1 "$told"
keep_going "$told"
grep -v '\[000\]' lines | grep -q '^[1-9][0-9.]* \[001\].*LOST' || fail "$(head lines)"
[ "$(fact cpus)" = 2 ] || fail "$(cat info)"

# What began on the other CPU may have ended on the one that is missing.
away() { "$strata" latency --keep-going --slowest 9 -p 'away: sched_switch(prev_pid) -> sched_switch(next_pid)' "$1" 2>/dev/null; }
away whole | grep -q ' not ended ' || fail "$(away whole)"
! away cut | grep ' not ended ' || fail "$(away cut)"

case=empty
: >cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: is empty; the $size1 bytes that the recorder wrote are lost"
read_cut 1 "$told"
keep_going "$told"

# What a reader passes over is not there, either.
case="link that leads nowhere"
copy cut
ln -sf nowhere cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: is missing; the $size1 bytes that the recorder wrote are lost"
read_cut 1 "$told"
keep_going "$told"

case="directory"
rm cut/guest/cpu1.raw
mkdir cut/guest/cpu1.raw
read_cut 1 "$told"
keep_going "$told"

case="whole pages are missing"
copy cut
truncate -s -8192 cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: has $((size1 - 8192)) of the $size1 bytes that the recorder wrote; the rest is lost"
read_cut 1 "$told"
grep '\[001\]' lines | tail -n 1 | grep -q LOST || fail "$(tail -n 3 lines)"
keep_going "$told"

# What is left may be the end: nothing is known before it begins.
case="its first pages are missing"
copy cut
"$strata" info cut >info
before=$(fact 'complete from')
tail -c +151553 cut/guest/cpu0.raw >rest && mv rest cut/guest/cpu0.raw
status=0
"$strata" info cut >info 2>told || status=$?
first=$("$strata" report --cpu 0 -k cut 2>told | awk 'NR == 1 { print $1 }')
awk -v from="$(fact 'complete from')" -v first="$first" -v before="$before" \
    'BEGIN { exit !(from > before && from <= first) }' ||
    fail "complete from '$(fact 'complete from')', CPU 0 from '$first': $(cat told)"

case="cut in a page"
copy cut
truncate -s -6000 cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: has $((size1 - 6000)) of the $size1 bytes that the recorder wrote; the rest is lost"
keep_going "$told"
status=0
"$strata" info cut >info 2>told || status=$?
[ $status -eq 1 ] && grep -q 'the file ends inside a' told || fail "exit status $status: $(cat told)"
[ "$(fact complete)" = 'no; the recorder finished, but parts cannot be read' ] || fail "$(cat info)"

case="nothing is there"
rm cut/guest/cpu*.raw
status=0
"$strata" report cut >lines 2>told || status=$?
[ $status -eq 1 ] && grep -q '^strata: cut/guest: no ring-buffer pages here' told || fail "exit status $status: $(cat told)"

# Where the recorder did not state its files, events name the CPU that is missing, or if there are none, the other files' numbers.
lacks() { # DIRECTORY CPU
    "$strata" info "$1" >info 2>told || fail "$(cat told)"
    grep -q "^strata: $1.*: there are no data of CPU $2, which its events, files or vCPUs name: what it did is unknown$" told &&
        grep -q ' unknown number in\|how many is unknown' info || fail "$(cat told info)"
}
# No event of this trace names another CPU: it is not known whether there was one.
case="not stated"
copy cut
rm cut/guest/cpu1.raw cut/trace.json
manifest cut ''
"$strata" info cut >info 2>told || fail "$(cat told)"
grep -qFx 'strata: cut/guest: trace.json does not state its files: data of other CPUs may be missing' told || fail "$(cat told)"
fact lost | grep -q 'more may be missing that are not counted' || fail "$(cat info)"
case="vCPUs"
manifest cut '"vmm": {"pid": 1, "threads": [{"id": 2, "vcpu": 0}, {"id": 3, "vcpu": 1}]},'
lacks cut 1
manifest cut ''
case="an empty file"
manifest cut '"vmm": {"pid": 1, "threads": [{"id": 2, "vcpu": 0}, {"id": 3, "vcpu": 1}]},'
: >cut/guest/cpu1.raw
lacks cut 1
rm cut/guest/cpu1.raw
manifest cut ''
case="a gap between the files"
cp cut/guest/cpu0.raw cut/guest/cpu2.raw
lacks cut 1
# A CPU whose data end before the recording did is not recorded from then on, whatever the last event of another CPU; one that is
# idle at the end is.
mkdir early && tar -C early -xJf "$DATA/kvm/exits.tar.xz"
mv early/trace early/whole
unknown_of() { # TRACE CPU [OPTION...]: in percent
    trace=$1 cpu=$2
    shift 2
    "$strata" sched --by cpu -f json --keep-going "$@" "$trace" 2>/dev/null |
        jq --arg cpu "$cpu" '.rows[] | select((.key.cpu | tostring) == $cpu) | .unknown_share * 100 | floor'
}
shares_are() { # TRACE UNKNOWN0 UNKNOWN1
    shares=$(unknown_of "$1" 0)-$(unknown_of "$1" 1)
    [ "$shares" = "$2-$3" ] || fail "$1: unknown: $shares"
}
set_to() { # JQ: the directory early/cut, with half of CPU 1's pages
    rm -rf early/cut
    cp -r early/whole early/cut
    truncate -s 126976 early/cut/host/cpu1.raw
    jq "$1" early/whole/trace.json >early/cut/trace.json
}
exits_of() { # TRACE: complete spans of a vCPU's exits
    "$strata" exits --keep-going --events -f csv "$1" 2>/dev/null | sort
}
# On the other CPU, those of which the thread stayed there are known.
are_true() { # TRACE
    exits_of "$1" >cut.exits
    [ "$(wc -l <cut.exits)" -gt 1000 ] && [ "$(wc -l <cut.exits)" -lt 1800 ] || fail "$(wc -l whole.exits cut.exits)"
    comm -13 whole.exits cut.exits >other.exits
    [ ! -s other.exits ] || fail "$(cat other.exits)"
}
exits_of early/whole >whole.exits
[ "$(wc -l <whole.exits)" -gt 2000 ] || fail "$(wc -l whole.exits)"
# The same where its recorder did not state its files, as the file says which are there.
case="a CPU's file is missing, and not stated"
mkdir early/cut
cp -r early/whole/. early/cut
rm early/cut/host/cpu1.raw
lacks early/cut 1
lacks early/cut/host 1
shares_are early/cut 0 100
are_true early/cut
case="the recorder came to its end"
shares_are early/whole 0 0
case="--max-size"
set_to '.sources[0] |= . + {lost: 7, lost_uncounted: true}'
shares_are early/cut 0 29
are_true early/cut
"$strata" summary early/cut >lines 2>told || fail "$(cat told)"
grep -q '^- events were lost in 2 places, how many is unknown; 7 in all by the recorder' lines || fail "$(cat lines)"
for jobs in 1 2; do "$strata" stat -f json -j $jobs --from +2 early/cut >stat$jobs 2>told || fail "$(cat told)"; done
cmp stat1 stat2 || fail "the number of jobs makes a difference"
[ "$(unknown_of early/cut 1 --from +2)" = 100 ] || fail "--from +2: $(unknown_of early/cut 1 --from +2)"
case="a recorder that was killed"
set_to '.sources[0] |= (.complete = false | del(.ended, .lost))'
shares_are early/cut 0 29
# Nothing states how long the files were: whole pages may be missing where a CPU ends long before another.
case="a CPU's file is cut, and not stated"
set_to .
shares_are early/cut 0 29
are_true early/cut

# A time that the recording refutes is damaged: nothing is as long as it says, and what it is of is lost.
case="a damaged time in the first page or the last one"
duration_of() { "$strata" stat -f json "$1" 2>/dev/null | jq -r 'select(.duration_ns) | .duration_ns / 1e6 | floor'; }
whole=$(duration_of early/whole)
for page in first last; do
    for bit in 36 47 60; do
        set_to .
        python3 - early/whole/host/cpu1.raw early/cut/host/cpu1.raw $page $bit <<'END_OF_SCRIPT'
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
at = 0 if sys.argv[3] == "first" else len(data) - 4096
time, = struct.unpack_from("<Q", data, at)
struct.pack_into("<Q", data, at, time ^ 1 << int(sys.argv[4]))
open(sys.argv[2], "wb").write(data)
END_OF_SCRIPT
        left=$(duration_of early/cut)
        [ "$left" -le "$whole" ] && [ "$left" -gt $((whole - 100)) ] || fail "$page, bit $bit: $left of $whole ms"
        "$strata" info early/cut >info 2>told || fail "$(cat told)"
        fact lost | grep -q ' events were lost (CPU 1: [0-9]*) in 1 place; the input is damaged' || fail "$page, bit $bit: $(cat info)"
        grep -q 'events with a time .*far outside of the recording, are damaged and count as lost' told || fail "$(cat told)"
        are_few=$("$strata" report early/cut 2>/dev/null | grep -c LOST)
        [ "$are_few" -eq 1 ] || fail "$page, bit $bit: $are_few losses"
        # Without a manifest, or one that has no end, it is told.
        "$strata" stat early/cut/host >lines 2>told || fail "$(cat told)"
        grep -qx "strata: early/cut/host: the $page event of CPU 1 is [0-9]* seconds after .* damaged.*" told || fail "$page, bit $bit: $(cat told)"
        jq '.sources[0] |= (.complete = false | del(.ended))' early/whole/trace.json >early/cut/trace.json
        "$strata" stat early/cut >lines 2>told || fail "$(cat told)"
        grep -q "the $page event of CPU 1 is [0-9]* seconds after .* damaged" told || [ $page = first ] || fail "$page, bit $bit: $(cat told)"
    done
done

# Where nothing says when it was recorded, two pages of a CPU that are far from all else confirm each other; one does not.
case="data far from others"
# far CPU FIRST N PAGES: N of its pages, from FIRST on, are later by 13 days or, with a negative PAGES, all others.
far() {
    set_to .
    python3 - early/whole/host early/cut/host "$@" <<'END_OF_SCRIPT'
import struct
import sys

source, target, cpu, first, n, others = sys.argv[1:]
for number in "01":
    data = bytearray(open(f"{source}/cpu{number}.raw", "rb").read())
    pages = len(data) // 4096
    moved = range(int(first) % pages, int(first) % pages + int(n)) if number == cpu else []
    for i in range(pages):
        if (i in moved) != (others == "others"):
            time, = struct.unpack_from("<Q", data, 4096 * i)
            struct.pack_into("<Q", data, 4096 * i, time + (1 << 50))
    open(f"{target}/cpu{number}.raw", "wb").write(data)
END_OF_SCRIPT
}
far_is_told() { # EVENT: NULL if nothing is
    "$strata" stat early/cut/host >lines 2>told || fail "$(cat told)"
    said=$(sed -n 's/^strata: .*: the \(.* event of CPU [0-9]\) is 11[0-9]* seconds .* all others: .* damaged.*/\1/p' told)
    [ "$said" = "$1" ] || fail "'$1': $(cat told)"
}
far 1 -1 1 these
far_is_told "last event of CPU 1"
far 1 -2 2 these
far_is_told ""
far 1 0 1 others
far_is_told "first event of CPU 1"
far 1 0 2 others
far_is_told ""
# The only CPU.
far 1 -1 1 these
rm early/cut/host/cpu0.raw
far_is_told "last event of CPU 1"

case="trace.dat"
"$strata" export --to trace.dat -o whole.dat early/whole 2>told || fail "$(cat told)"
shares_are whole.dat 0 0
head -c $(($(wc -c <whole.dat) * 60 / 100)) whole.dat >cut.dat
shares_are cut.dat 35 0
for option in --no-header --keep-going; do
    "$strata" report $option cut.dat >lines 2>told || :
    [ "$(grep -c LOST lines)" -eq 1 ] || fail "$option: $(grep LOST lines)"
done
are_true cut.dat

case="trace.dat without the pages of a CPU that its events name"
python3 - whole.dat none.dat <<'END_OF_SCRIPT'
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
table = data.index(b"flyrecord\0") + len(b"flyrecord\0")
struct.pack_into("<QQ", data, table + 16, 0, 0)
open(sys.argv[2], "wb").write(data)
END_OF_SCRIPT
"$strata" info none.dat >info 2>told || fail "$(cat told)"
grep -qFx 'strata: none.dat: there are no data of CPU 1, which its events, files or vCPUs name: what it did is unknown' told || fail "$(cat told)"
fact lost | grep -q ' in 1 place' || fail "$(cat info)"
shares_are none.dat 0 100
are_true none.dat

case="trace.dat whose table has fewer pages of a CPU, with the counts of its events and without them"
python3 - whole.dat <<'END_OF_SCRIPT'
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
table = data.index(b"flyrecord\0") + len(b"flyrecord\0")
def put(name):
    open(name, "wb").write(data)
def drop_counts():
    at = data.find(b"CPU: ")
    while at >= 0:
        struct.pack_into("<H", data, at - 6, 90)  # an option that readers pass over
        at = data.find(b"CPU: ", at + 1)
size, = struct.unpack_from("<Q", data, table + 24)
struct.pack_into("<Q", data, table + 24, 94208)
put("counted.dat")
drop_counts()
put("not-counted.dat")
struct.pack_into("<Q", data, table + 24, size)
put("whole-not-counted.dat")
END_OF_SCRIPT
"$strata" info counted.dat >info 2>told || fail "$(cat told)"
grep -qFx 'strata: counted.dat: CPU 1 had more events than the file; when is unknown' told || fail "$(cat told)"
fact lost | grep -q ' in 1 place' || fail "$(cat info)"
for file in counted not-counted; do
    shares_are $file.dat 0 22
    are_true $file.dat
done
for file in whole whole-not-counted; do
    shares_are $file.dat 0 0
    "$strata" info $file.dat >info 2>told || fail "$(cat told)"
    [ ! -s told ] || fail "$(cat told)"
done

# What the recorder counted does not stand beside a reader that knows better.
case=simpletrace
mkdir simple
xz -dc "$DATA/qemu/trace.simpletrace.xz" >simple/trace.simple
truncate -s -3 simple/trace.simple
cp "$DATA/qemu/trace-events-7.2" simple/trace-events
cat >simple/trace.json <<'END_OF_JSON'
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "vmm", "kind": "simpletrace", "layer": "vmm", "path": "trace.simple", "events": ["trace-events"],
  "began": {"realtime_ns": 1795246302879548000}, "lost": 0, "complete": true}]}
END_OF_JSON
for option in --no-causal --keep-going; do
    "$strata" info $option simple >info 2>told || :
    [ "$(fact complete)" = 'no; the recorder finished, but parts cannot be read' ] &&
        [ "$(fact 'lost in all')" = "unknown; 0 by the recorder's count" ] || fail "$(cat told info)"
done

# Nor is an event without its description silent.
case="no format"
rm -rf cut
cp -r whole cut
id=$(sed -n 's/^ID: //p' cut/guest/guest/events/sched/sched_switch/format)
rm cut/guest/guest/events/sched/sched_switch/format
told="the format of event $id is missing; it shows as bytes, as unknown-$id; copy its file 'format' to cut/guest/guest/events/GROUP/NAME/"
for verb in report info stat 'stat -j2'; do
    # shellcheck disable=SC2086 # a verb and its option
    "$strata" $verb cut >lines 2>err || fail "$verb: $(cat err)"
    [ "$(grep -cF "strata: cut/guest: $told" err)" -eq 1 ] || fail "$verb: $(cat err)"
done
"$strata" sql -c 'select count(*) from events' -c 'select count(*) from state' cut >lines 2>err || fail "sql: $(cat err)"
[ "$(grep -cF "strata: cut/guest: $told" err)" -eq 1 ] || fail "sql: $(cat err)"
# An analysis whose events these may be does not say that the trace has none.
"$strata" sched cut >lines 2>err && fail "sched: $(cat lines)"
grep -qF "sched_switch; of Xen, RUNSTATE_CHANGE), unless events without a format (unknown-$id) are such events; " err ||
    fail "sched: $(cat err)"
"$strata" summary -f json cut >lines 2>err || fail "summary: $(cat err)"
jq -r '.missing[] | select(.analysis == "sched").text' lines | grep -qF "events without a format (unknown-$id)" || fail "summary: $(cat lines)"

# ---- Every file that a source has, whatever its format ----

# one KIND PATH [EVENTS]: the directory `one`, whose one source has been written, and what it states.
one() {
    cat >one/trace.json <<END_OF_JSON
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "s", "kind": "$1", "layer": "vmm", "path": "$2", "events": [${3:+"\"$3\""}],
  "files": {$(cd one && find "$2" ${3:+"$3"} -type f -printf '"%p": %s,\n' | sed '$s/,$//')},
  "began": {"realtime_ns": 1795246302879548000, "monotonic_ns": 1}, "ended": {"realtime_ns": 1795246303879548000},
  "lost": 0, "complete": true}]}
END_OF_JSON
    rm -rf whole cut
    cp -r one whole
    "$strata" report whole >whole.txt 2>told || fail "$(cat told)"
    ! grep -q 'recorder wrote' told || fail "$(cat told)"
    "$strata" info whole >info 2>told || fail "$(cat told)"
    fact complete | grep -qx 'yes\|no; [0-9]* events were lost' && [ "$(fact 'lost in all')" = 0 ] || fail "$(cat info)"
}
again() {
    rm -rf cut
    cp -r whole cut
}
# cut_is STATUS MESSAGE: what is left is a part of what was there, with a loss at its end.
cut_is() {
    status=0
    "$strata" report cut >lines 2>told || status=$?
    [ $status -eq "$1" ] || fail "report: exit status $status: $(cat told)"
    grep -qFx "strata: $2" told || fail "report: $(cat told)"
    [ "$(grep -c LOST lines)" -eq 1 ] && tail -n 1 lines | grep -q LOST || fail "$(tail -n 3 lines)"
    sed '$d' lines >kept
    cmp -s kept whole.txt && fail "nothing was cut"
    head -n "$(wc -l <kept)" whole.txt | cmp - kept || fail "events differ"
    status=0
    "$strata" info cut >info 2>told || status=$?
    [ $status -eq "$1" ] || fail "info: exit status $status: $(cat told)"
    [ "$(fact complete)" = 'no; the recorder finished, but parts cannot be read' ] &&
        [ "$(fact 'lost in all')" = "unknown; 0 by the recorder's count" ] || fail "$(cat info)"
    "$strata" report --keep-going cut >lines 2>told || fail "--keep-going: $(cat told)"
    grep -qFx "strata: $2" told || fail "--keep-going: $(cat told)"
    for jobs in 1 2; do
        "$strata" stat -f csv --keep-going --jobs $jobs cut >stat$jobs 2>told || fail "stat: $(cat told)"
    done
    cmp stat1 stat2 || fail "the number of jobs makes a difference"
}
size() { wc -c <"$1"; }

case="log"
rm -rf one
mkdir -p one/vmm
xz -dc "$DATA/qemu/stock-qemu.log.xz" | head -n 20000 >one/vmm/trace.log
cp "$DATA/qemu/trace-events-7.2" one/vmm/trace-events
one qemu-log vmm/trace.log vmm/trace-events
all=$(size one/vmm/trace.log)
again
head -n 10000 whole/vmm/trace.log >cut/vmm/trace.log
cut_is 1 "cut/vmm/trace.log: has $(size cut/vmm/trace.log) of the $all bytes that the recorder wrote; the rest is lost"
[ "$(wc -l <kept)" -gt 5000 ] || fail "$(wc -l kept)"

case="after the cut"
last=$(sed -n '$s/ .*//p' kept)
for option in "--from ${last%?????????}999999999" "--until +0.001"; do
    status=0
    # shellcheck disable=SC2086 # an option and its value
    "$strata" report --keep-going --strict $option cut >lines 2>told || status=$?
    [ $status -eq 3 ] || fail "$option: exit status $status: $(cat lines told)"
    # It has no end: it is in all that comes later.
    case $option in
    --from*) grep -q LOST lines || fail "$option: $(cat lines)" ;;
    *) ! grep -q LOST lines || fail "$option: $(cat lines)" ;;
    esac
done

case="half a line of a log"
truncate -s -7 cut/vmm/trace.log
cut_is 1 "cut/vmm/trace.log: has $(size cut/vmm/trace.log) of the $all bytes that the recorder wrote; the rest is lost"

case="empty log"
: >cut/vmm/trace.log
cut_is 1 "cut/vmm/trace.log: is empty; the $all bytes that the recorder wrote are lost"

case="no log"
rm cut/vmm/trace.log
status=0
"$strata" report cut >lines 2>told || status=$?
[ $status -eq 1 ] && grep -q 'cut/vmm/trace.log: is missing from the trace' told || fail "exit status $status: $(cat told)"

case="declarations"
again
truncate -s -100 cut/vmm/trace-events
status=0
"$strata" report cut >lines 2>told || status=$?
[ $status -eq 1 ] && grep -q "^strata: cut/vmm/trace-events: has [0-9]* of the $(size one/vmm/trace-events) bytes" told ||
    fail "exit status $status: $(cat told)"
! grep -q LOST lines || fail "$(tail lines)"

case="a longer log"
again
cat one/vmm/trace.log >>cut/vmm/trace.log
"$strata" report cut >lines 2>told || fail "$(cat told)"
# Only that the log is there twice.
[ "$(cat told)" = "strata: cut/vmm/trace.log: 19999 events are out of order: what is measured around them is wrong" ] || fail "$(cat told)"

case="merged log"
again
head -n 10000 whole/vmm/trace.log >cut/vmm/trace.log
"$strata" merge -o merged cut >out 2>told || [ $? -eq 1 ] || fail "$(cat told)"
[ "$(jq '.sources[0].files."s/trace.log"' merged/trace.json)" -eq "$all" ] || fail "$(cat merged/trace.json)"
status=0
"$strata" report merged >lines 2>told || status=$?
[ $status -eq 1 ] && grep -q "^strata: merged/s/trace.log: has [0-9]* of the $all bytes" told || fail "exit status $status: $(cat told)"
rm -r merged
"$strata" merge -o merged whole >out 2>told || fail "$(cat told)"
. "$here/../lib/stated_files.sh"
check_stated_files merged || fail "$(cat merged/trace.json)"

case="clock that is made anew"
mkdir hosts
xz -dc "$DATA/merge/guest.tar.xz" | tar -x -C hosts
one=$(dirname "$(find hosts -name trace.json)")
jq --argjson bytes "$(stat -c %s "$one/guest-guest/clock-pairs")" \
    '.sources[0].files["guest-guest/clock-pairs"] = $bytes' "$one/trace.json" >stated
cp stated "$one/trace.json"
cp -r "$one" hosts/other
jq '.sources[0] |= (.name = "other" | .host.boot_id = "11111111-3da7-4265-bc58-5a7f46478525" | .host.name = "other")' \
    stated >hosts/other/trace.json
"$strata" merge -o merged-hosts --sync=guest:print=other:print "$one" hosts/other >out 2>told || fail "$(cat told)"
"$strata" info merged-hosts >out 2>told || fail "$(cat told)"

case="simpletrace at the end of a record"
rm -rf one
mkdir -p one/vmm
xz -dc "$DATA/qemu/trace.simpletrace.xz" >one/vmm/trace.simple
cp "$DATA/qemu/trace-events-7.2" one/vmm/trace-events
one simpletrace vmm/trace.simple vmm/trace-events
python3 - one/vmm/trace.simple >half <<'END_OF_SCRIPT'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, ends = 24, []
while at < len(data):  # a name, or an event
    kind, = struct.unpack_from("<Q", data, at)
    at += 20 + struct.unpack_from("<I", data, at + 16)[0] if kind == 0 else 8 + struct.unpack_from("<QQII", data, at + 8)[2]
    ends.append(at)
print(ends[len(ends) // 2])
END_OF_SCRIPT
again
truncate -s "$(cat half)" cut/vmm/trace.simple
cut_is 1 "cut/vmm/trace.simple: has $(cat half) of the $(size one/vmm/trace.simple) bytes that the recorder wrote; the rest is lost"

case="stream of a program"
rm -rf one
mkdir one
tar -C one -xJf "$DATA/ctf/lttng-ust.tar.xz"
one ctf lttng-ust
for kind in removed nowhere pipe directory; do
    again
    rm cut/lttng-ust/chan_0
    case $kind in
    nowhere) ln -s nowhere cut/lttng-ust/chan_0 ;;
    pipe) mkfifo cut/lttng-ust/chan_0 ;;
    directory) mkdir cut/lttng-ust/chan_0 ;;
    esac
    cut_is 1 "cut/lttng-ust/chan_0: is missing; the $(size one/lttng-ust/chan_0) bytes that the recorder wrote are lost"
done

# Of several streams, the one that was cut has its loss where it ends, and the loss goes on to the end.
case="stream of several"
python3 - one/lttng-ust <<'END_OF_SCRIPT'
import struct, sys
data = bytearray(open(f"{sys.argv[1]}/chan_0", "rb").read())
for packet in range(0, len(data), 4096):
    struct.pack_into("<I", data, packet + 80, 1)  # the CPU
open(f"{sys.argv[1]}/chan_1", "wb").write(data)
END_OF_SCRIPT
one ctf lttng-ust
again
truncate -s 4096 cut/lttng-ust/chan_0
"$strata" report cut >lines 2>told && fail "nothing is missing"
awk '/LOST/ && /\[000\]/ { lost = 1 } /\[001\]/ && !/LOST/ && lost { after++ } END { exit !(after > 50) }' lines ||
    fail "it is not lost where the stream ends: $(cat lines)"
# What comes later lacks the events, too.
"$strata" stat -f json --from 26949 cut >stat.json 2>told || [ $? -eq 1 ] || fail "$(cat told)"
[ "$(jq -c '[.events, .lost.uncounted]' stat.json)" = '[73,1]' ] || fail "$(cat stat.json)"
# Of a stream that is not there, nothing is known from the begin on.
rm cut/lttng-ust/chan_0
"$strata" report cut >lines 2>told && fail "nothing is missing"
head -n 1 lines | grep -q LOST || fail "$(head -n 2 lines)"

# A CPU of Xen that was recorded and has no window is not recorded from begin to end.
case="a CPU of Xen"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
mkdir -p lacking/xen
python3 - xen.raw lacking/xen/trace.raw <<'END_OF_SCRIPT'
import struct, sys
data, at = open(sys.argv[1], "rb").read(), 0
with open(sys.argv[2], "wb") as out:
    while at < len(data):
        _, cpu, size = struct.unpack_from("<III", data, at)
        if cpu == 0:
            out.write(data[at:at + 12 + size])
        at += 12 + size
END_OF_SCRIPT
"$strata" exits --events -f csv xen.raw --cpu-vendor amd >all 2>told || fail "$(cat told)"
cut -d , -f 1,2 all | sort >whole.exits
for files in '' ', "files": {"xen/trace.raw": 2192436}'; do
    cat >lacking/trace.json <<END_OF_JSON
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "xen", "kind": "xentrace", "layer": "hypervisor", "path": "xen/trace.raw", "clock": {"name": "tsc", "hz": 1000000000},
  "xen": {"version": "4.17.7", "cpu_vendor": "amd", "cpus": [0, 1]}, "lost": 0, "complete": true$files}]}
END_OF_JSON
    "$strata" exits --events -f csv --keep-going lacking >some 2>told || fail "$(cat told)"
    [ -n "$files" ] || grep -q 'there are no data of CPU 1, which its events, files or vCPUs name' told || fail "$(cat told)"
    sed 1d some | cut -d , -f 1,2 | sort | comm -13 whole.exits - >other.exits
    [ ! -s other.exits ] || fail "exits that are none: $(head -n 3 other.exits)"
    shares_are lacking 0 100
done
