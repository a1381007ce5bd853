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
manifest() { # DIR CPUS
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
manifest whole "\"cpus\": [{\"id\": 0, \"bytes\": $size0}, {\"id\": 1, \"bytes\": $size1}, {\"id\": 2, \"bytes\": 0}],"
fact() { sed -n "s/^  $1  *//p" info; }
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
[ ! -s told ] && [ "$(fact complete)" = yes ] && [ "$(fact 'lost in all')" = 5 ] || fail "$(cat told info)"
! fact lost | grep -q unknown || fail "$(cat info)"

case=missing
copy cut
rm cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: is missing; the recorder wrote $size1 bytes; its events are lost"
read_cut 1 "$told"
keep_going "$told"
grep -v '\[000\]' lines | grep -q '^[1-9][0-9.]* \[001\].*LOST' || fail "$(head lines)"
[ "$(fact cpus)" = 2 ] || fail "$(cat info)"

case=empty
: >cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: is empty; the recorder wrote $size1 bytes; its events are lost"
read_cut 1 "$told"
keep_going "$told"

case="whole pages are missing"
copy cut
truncate -s -8192 cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: has $((size1 - 8192)) of the $size1 bytes that the recorder wrote; the events in the rest are lost"
read_cut 1 "$told"
grep '\[001\]' lines | tail -n 1 | grep -q LOST || fail "$(tail -n 3 lines)"
keep_going "$told"

case="cut in a page"
copy cut
truncate -s -6000 cut/guest/cpu1.raw
told="cut/guest/cpu1.raw: has $((size1 - 6000)) of the $size1 bytes that the recorder wrote; the events in the rest are lost"
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

case="not stated"
copy cut
rm cut/guest/cpu1.raw cut/trace.json
manifest cut ''
"$strata" info cut >info 2>told || fail "$(cat told)"
[ ! -s told ] && [ "$(fact complete)" = yes ] || fail "$(cat told info)"

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
told="the format of event $id is missing; it shows as bytes, as unknown-$id"
for verb in report info stat 'stat -j2'; do
    # shellcheck disable=SC2086 # a verb and its option
    "$strata" $verb cut >lines 2>err || fail "$verb: $(cat err)"
    [ "$(grep -cF "strata: cut/guest: $told" err)" -eq 1 ] || fail "$verb: $(cat err)"
done
