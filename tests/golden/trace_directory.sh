#!/bin/sh
# Trace directories: trace.json decodes the trace, and every error in it is reported.
. "$(dirname "$0")/../lib/golden.sh"

TZ=Asia/Tokyo
export TZ

mkdir -p trace/xen
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >trace/xen/trace.raw
cat >trace/xen/events <<'END'
0x0800f123  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_guest  [ magic = 0x%(1)08x, n = 0x%(3)08x%(2)08x ]
END
# Three CPUs without an event, of which nothing is missing.
cpus='[0, 1, 4, 5, 6]'
files=", \"files\": {\"xen/trace.raw\": $(wc -c <trace/xen/trace.raw)}"
manifest() { # COMPLETE PROBLEMS [MORE SOURCES]
    cat >trace/trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "xen", "kind": "xentrace", "layer": "hypervisor", "path": "xen/trace.raw",
  "events": ["xen/events"], "clock": {"name": "tsc", "hz": 2400000000},
  "xen": {"version": "4.17.7", "extra": "-test", "caps": "xen-3.0-x86_64", "commandline": "com1",
          "cpu_vendor": "amd", "scheduler": "credit2", "cpus": $cpus, "offline": [2],
          "domains": [{"id": 0, "name": "Domain-0"}, {"id": 1, "name": "tiny"}]},
  "began": {"realtime_ns": 1795246302879548000}, "lost": 0, "complete": $1, "problems": [$2]$files}$3]}
END
}

manifest true '' ''
"$strata" info trace >actual 2>err
cat >expected <<'END'
trace
  format         xentrace
  layer          hypervisor
  source         xen
  file           xen/trace.raw
  declared in    xen/events
  hypervisor     Xen 4.17.7-test
  cpu vendor     amd
  scheduler      credit2
  command line   com1
  capabilities   xen-3.0-x86_64
  recorded cpus  0,1,4-6
  offline cpus   2
  domains        d0 Domain-0, d1 tiny
  began          2026-11-21 07:31:42.879 UTC
  complete       no; 248363 events were lost
  lost in all    0
  windows        77
  cpu-hz         2400000000
  xen            4.17
  clock          tsc, 2400000000 ticks a second
  cpus           2
  events         107202 of 71 classes
  time           16.993483687 to 21.560687203, 4.57s
  lost           248363 events were lost (CPU 0: 188650, CPU 1: 59713) in 2 places
END
diff expected actual
[ ! -s err ]
"$strata" info -f json trace | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["path"] == "trace" and info["facts"]["hypervisor"] == "Xen 4.17.7-test"
assert info["clock"] == {"name": "tsc", "hz": 2400000000}
'

# Seconds, the exits by SVM'"'"'s names, and the user'"'"'s event.
"$strata" report -e vmexit -e my_guest trace 2>err | grep -v LOST | sed -n '1p;/my_guest/{p;q;}' >actual
cat >expected <<'END'
20.220070747 [001]     d1v0 vmexit: reason=ioio rip=0x100117
20.279000918 [001]     d1v0 my_guest: magic = 0xdecafbad, n = 0x0000000200000001
END
sed -i 's/\[00[01]\]/[001]/' actual
diff expected actual

# Options take precedence over trace.json, and supply the same for a bare file.
"$strata" report -e vmexit --cpu-vendor intel trace 2>err | grep -v LOST | grep -q 'reason=0x7b '
"$strata" report -e vmexit --xen-version 4.17 --cpu-vendor amd trace/xen/trace.raw 2>err | grep -q 'reason=ioio '
"$strata" report -e vmexit trace/xen/trace.raw 2>err | grep -q 'reason=ioio '
"$strata" report --cpu-hz 1G --limit 2 -e vmexit trace 2>err | tail -n 1 | grep -q '^48\.'
"$strata" stat --by task trace | grep -q 'd1v0 tiny  '
"$strata" stat --by task trace | grep -q 'idlev0  '
"$strata" stat --by task -f json trace | grep -q '"vcpu":"d1v0","domain":"tiny",'

# One formats file for both: as xentrace_format has it, and by name.
"$STRATA_BIN/xentrace_format" trace/xen/events <trace/xen/trace.raw | sed -n '/my_guest/{p;q;}' >actual
echo 'CPU0  0 (+       0)  my_guest  [ magic = 0xdecafbad, n = 0x0000000200000001 ]' | diff - actual
"$strata" report --trace-events trace/xen/events -e my_guest trace/xen/trace.raw 2>err |
    grep -q 'my_guest: magic = 0xdecafbad, n = 0x0000000200000001$'
"$strata" report --trace-events trace/xen/events -e my_guest --format json trace/xen/trace.raw 2>err |
    grep -q '"event":"my_guest","fields":{"magic":3737844653,"n":8589934593}'

# Losses after the last record are known only from trace.json (lost_at_end).
cpus='[0, 1]' files=
manifest true '' ''
sed 's/"lost": 0/"lost": 248370, "lost_at_end": 7/' trace/trace.json >more
cp more trace/trace.json
"$strata" report trace 2>err | tail -n 1 | grep -q 'LOST: 7 events'
grep -q '^strata: 248370 events were lost (CPU 0: 188650, CPU 1: 59713) in 3 places$' err
manifest true '' ''

# A recorder that was killed, within a record, a window and a window's head.
size=$(wc -c <trace/xen/trace.raw)
manifest false '"the disk was full"' ''
for cut in 2 3 4 40; do
    head -c $((size - cut)) trace/xen/trace.raw >cut
    mkdir -p "cut$cut/xen"
    cp cut "cut$cut/xen/trace.raw"
    cp trace/xen/events "cut$cut/xen/"
    cp trace/trace.json "cut$cut/"
    "$strata" report "cut$cut" 2>err >actual
    tail -n 1 actual | grep -q LOST
    grep -q "^strata: cut$cut: the recording of 'xen' is incomplete" err
    grep -q "^strata: cut$cut: xen: the disk was full$" err
    "$strata" info "cut$cut" 2>err | grep -q '^  complete  *no$'
done
printf '\003\360\001\040\0' >>trace/xen/trace.raw
"$strata" report trace 2>err | tail -n 1 | grep -q LOST
head -c "$size" trace/xen/trace.raw >whole
mv whole trace/xen/trace.raw
# Complete, the same damage is an error.
mkdir -p damaged/xen
cp cut2/xen/* damaged/xen/
manifest true '' ''
cp trace/trace.json damaged/
if "$strata" report damaged >actual 2>err; then exit 1; fi
grep -q 'the file ends within a window' err
# Killed before the first record.
mkdir -p early/xen
: >early/xen/trace.raw
: >early/xen/events
manifest false '' ''
cp trace/trace.json early/
"$strata" report early >actual 2>err
[ ! -s actual ]
"$strata" info early 2>err | grep -q '^  events  *0 of 0 classes$'

# Of two sources, one is missing: it is reported, and the other is shown.
manifest true '' ', {"name": "gone", "kind": "xentrace", "layer": "hypervisor", "path": "xen/gone"}'
if "$strata" report --limit 3 trace >actual 2>err; then exit 1; fi
grep -vc LOST actual | grep -qx 3
grep -q "^strata: the source 'gone' cannot be shown: trace/xen/gone: is missing" err
if "$strata" info trace >actual 2>err; then exit 1; fi
grep -q '^  source  *xen$' actual
"$strata" report --source xen --limit 3 trace 2>err >actual
if "$strata" report --source gone trace >actual 2>err; then exit 1; fi
grep -q '^strata: trace/xen/gone: is missing' err
if "$strata" report --source nonesuch trace >actual 2>err; then exit 1; fi
grep -q "^strata: trace: has no source 'nonesuch'" err
# The same of one that is of no known kind, and of tables that are not there or wrong.
manifest true '' ', {"name": "odd", "kind": "abacus", "layer": "host", "path": "odd"}'
head -c 5000 /dev/zero | tr '\0' x >trace/odd
if "$strata" report --limit 3 trace >actual 2>err; then exit 1; fi
grep -vc LOST actual | grep -qx 3
grep -q "^strata: the source 'odd' cannot be shown: trace/odd: not a known trace format" err
if "$strata" report --source odd trace >actual 2>err; then exit 1; fi
grep -q "^strata: trace/odd: not a known trace format" err
head -c 5000 /dev/zero >trace/odd
if "$strata" report --source odd trace >actual 2>err; then exit 1; fi
grep -q "^strata: trace/odd: has nothing but zeros" err
rm trace/odd
manifest true '' ''
mv trace/xen/events events
if "$strata" report -e 'guest_*' --limit 1 trace >actual 2>err; then exit 1; fi
grep -q 'guest_0x123: 0xdecafbad ' actual
grep -q "^strata: xen/events, which declares events of 'xen', is left out: trace/xen/events: is missing" err
echo 'nonsense %(' >trace/xen/events
if "$strata" report -e 'guest_*' --limit 1 trace >actual 2>err; then exit 1; fi
grep -q 'guest_0x123: 0xdecafbad ' actual
cp events trace/xen/events
# Of other clocks they are shown one by one.
manifest true '' ', {"name": "other", "kind": "xentrace", "layer": "hypervisor", "path": "xen/trace.raw"}'
if "$strata" report trace >actual 2>err; then exit 1; fi
grep -q 'show them one by one (--source)' err
"$strata" info trace 2>err | grep -c '^  source' | grep -qx 2

# What the recorder counted as lost, of which the records say nothing.
mkdir counted
xz -dc "$DATA/qemu/trace.simpletrace.xz" >counted/trace.simple
cat >counted/trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "vmm", "kind": "simpletrace", "layer": "vmm", "path": "trace.simple", "events": ["trace-events"],
  "began": {"realtime_ns": 1795246302879548000}, "lost": 12, "complete": true, "problems": []}]}
END
cp "$DATA/qemu/trace-events-7.2" counted/trace-events
"$strata" info counted >actual 2>err
grep -qx "  lost  *12 events were lost by the recorder's count; when is unknown" actual || { cat actual err >&2; exit 1; }
"$strata" info -f json counted | jq -ce .lost >actual
[ "$(cat actual)" = '{"events":12,"uncounted":0,"places":0,"skipped_bytes":0}' ] || { cat actual >&2; exit 1; }

# What only the manifest states as lost counts for --strict of every command: a number; what is not counted; a source that
# was cut off. But not what may be elsewhere than what is selected.
status_of() { # EXPECTED COMMAND...
    expected=$1
    shift
    status=0
    "$strata" "$@" >/dev/null 2>err || status=$?
    [ $status -eq "$expected" ] || { echo "strata $*: exit status $status, expected $expected: $(cat err)" >&2; exit 1; }
}
stated() { # LOST COMPLETE MORE
    sed "s/\"lost\": 12, \"complete\": true/\"lost\": $1, \"complete\": $2$3/" counted/trace.json >stated.json
    rm -rf stated
    cp -r counted stated
    mv stated.json stated/trace.json
}
for lost in '0 true' '12 true' '0 false' '0 true , "lost_uncounted": true'; do
    # shellcheck disable=SC2086 # words
    stated ${lost%% ,*} "${lost#"${lost%% ,*}"}"
    expected=3
    [ "$lost" != '0 true' ] || expected=0
    for command in report stat info 'sql -c SELECT(1)' 'export --to csv'; do
        # shellcheck disable=SC2086 # words
        status_of $expected $command --strict stated
    done
    status_of $expected diff --strict counted/trace.simple stated --trace-events counted/trace-events
    status_of $expected merge --strict -o merged-$expected stated
    rm -rf merged-*
    case $lost in '12 true') expected=0 ;; esac
    status_of $expected report --strict --limit 1 stated
    status_of 0 report stated
done

# Every command prints it, as info does.
prints() { # EXPECTED COMMAND...
    expected=$1
    shift
    "$strata" "$@" stated >actual 2>&1
    grep -qF -- "$expected" actual || { echo "strata $*: no '$expected': $(cat actual)" >&2; exit 1; }
}
lost_is() { # EXPECTED COMMAND...
    expected=$1
    shift
    "$strata" "$@" -f json stated 2>err | jq -c .lost >actual
    [ "$(cat actual)" = "$expected" ] || { echo "strata $*: .lost: $(cat actual)" >&2; exit 1; }
}
of='latency -p virtio_blk_handle_read->virtio_blk_req_complete'
stated 12 true ''
for command in report stat summary "$of" 'export --to csv' 'sql -c SELECT(count(*))FROM(event)'; do
    # shellcheck disable=SC2086 # words
    prints "12 events were lost by the recorder's count; when is unknown" $command
done
for command in stat summary "$of"; do
    # shellcheck disable=SC2086 # words
    lost_is '{"events":12,"uncounted":0,"places":0,"skipped_bytes":0,"unplaced":12}' $command
    # shellcheck disable=SC2086 # words
    lost_is '{"events":0,"uncounted":0,"places":0,"skipped_bytes":0,"elsewhere":12}' $command --from +0.1
done
prints "12 events were lost by the recorder's count of the whole trace; when is unknown" summary --from +0.1
prints ' 12 ' summary
prints ' 0+ ' summary --from +0.1
"$strata" summary -f json stated | jq -ce '.sources[0].lost.events == 12' >actual
stated 0 false ''
for command in report stat summary "$of"; do
    # shellcheck disable=SC2086 # words
    prints "events may be missing; how many is unknown" $command
done
lost_is '{"events":0,"uncounted":0,"places":0,"skipped_bytes":0,"incomplete":true}' summary
stated 0 true ', "lost_uncounted": true'
"$strata" info stated >actual 2>err
grep -qx "  lost  *an unknown number, as its problems say" actual || { cat actual err >&2; exit 1; }
[ "$("$strata" info -f json stated | jq -c .lost.events)" = null ]
# Somebody set the time of day: the end is before the begin.
cp -r trace set
jq '.sources[0].began = {"realtime_ns": 1700003600000000000, "monotonic_ns": 1000000000} |
    .sources[0].ended = {"realtime_ns": 1700000002000000000, "monotonic_ns": 3000000000}' trace/trace.json >set/trace.json
"$strata" info set | grep -q '^  time of day moved  *-3600.0 s against the monotonic clock, as the clock was set$' ||
    { "$strata" info set >&2; exit 1; }

# No path leads out of the directory, and a malformed trace.json is reported with the position.
manifest true '' ''
mv trace/xen/trace.raw outside
ln -s ../../outside trace/xen/trace.raw
if "$strata" report trace >actual 2>err; then exit 1; fi
grep -q 'symbolic link' err
rm trace/xen/trace.raw
mv outside trace/xen/trace.raw
sed 's,"xen/trace.raw",".././trace/xen/trace.raw",' trace/trace.json >bad
cp bad trace/trace.json
if "$strata" report trace >actual 2>err; then exit 1; fi
grep -q 'does not stay in the trace' err
printf '{\n"format": "strata-trace"\n"version": 1}\n' >trace/trace.json
if "$strata" info trace >actual 2>err; then exit 1; fi
grep -q '^strata: trace/trace.json:3: is not JSON' err
printf '{"format": "strata-trace", "version": 2}' >trace/trace.json
if "$strata" info trace >actual 2>err; then exit 1; fi
grep -q 'newer strata' err
