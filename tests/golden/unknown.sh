#!/bin/sh
# What is unknown of CPUs, vCPUs and threads has rows in `state`, as much as strata sched says: after losses of Xen, and of a
# CPU whose file is cut. Where nothing was lost, nothing is unknown between two switches.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
. "$here/../lib/kernel_capture.sh"
. "$here/../lib/perfetto.sh"

check() {
    python3 "$here/unknown.py" "$strata" "$@" || fail "$*"
}

case="Xen"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >whole.raw
check whole whole.raw
python3 "$here/unknown.py" lose whole.raw lost.raw
check lost lost.raw
for trace in whole lost; do
    export_perfetto --cpu-hz 2.4G $trace.raw || fail "$(cat err)"
    mv decoded $trace.decoded
done
"$strata" report --cpu-hz 2.4G lost.raw >lost.txt 2>err || fail "$(cat err)"
python3 "$here/unknown_slices.py" whole.decoded lost.decoded lost.txt || fail "slices"
"$strata" sql -q steal lost.raw >rows 2>err || fail "$(cat err)"
head -n 1 rows | grep -q ' unknown$' && grep -q ' d0v1  [0-9]*  [0-9]*  [0-9]*$' rows || fail "$(cat rows)"

case="a kernel"
kernel_capture local guest
check whole guest
size=$(wc -c <guest/cpu1.raw)
cat >trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest",
  "files": {"guest/cpu0.raw": $(wc -c <guest/cpu0.raw), "guest/cpu1.raw": $size}, "complete": true}]}
END
mkdir cut
mv guest trace.json cut
truncate -s $((size / 4096 / 2 * 4096)) cut/guest/cpu1.raw
check lost --keep-going cut

# A loss is found when it ends. Where reading stops before that, at --until or --limit, and of an export, it is there all the same.
case="a loss that goes beyond what is read"
python3 - "$here/../simulation" <<'PYTHON' || fail "the machine"
import random, sys
sys.path.insert(0, sys.argv[1])
import kernel_files, machine
from recording import BASE, Source
made = machine.Machine(random.Random(8), 2, 0, 4, True, False)
made.run(61 * machine.MILLI)
host = Source(made.host, 0, 60 * machine.MILLI)
pages = len(host.cpus[1])
host.lose(1, pages // 5, pages * 3 // 5, True)
(gap,) = host.gaps
kernel_files.write_manifest("beyond", [host.write("beyond")])
third = (gap.until - gap.since) // 3
n = sum(e.time < gap.since + third for e in host.events())
print(f"{(BASE + gap.since + third) / 1e9:.9f} {(BASE + gap.until - third) / 1e9:.9f} {n}", file=open("places", "w"))
PYTHON
read -r from until n <places
# on_cpu1 WHAT TRACE OPTION...: the share of CPU 1's time that is WHAT.
on_cpu1() {
    of=$1
    shift
    "$strata" sched --by cpu -f json "$@" 2>/dev/null | jq ".rows[] | select(.key.cpu == 1).${of}_share"
}
[ "$(on_cpu1 unknown beyond --from "$from" --until "$until")" = 1 ] || fail "$(on_cpu1 unknown beyond --from "$from" --until "$until")"
on_cpu1 unknown beyond --limit "$n" | jq -e '. > 0.3' >/dev/null || fail "--limit: $(on_cpu1 unknown beyond --limit "$n")"
for verb in stat irq summary; do
    "$strata" $verb --from "$from" --until "$until" beyond >out 2>&1 || fail "$verb: $(cat out)"
    grep -q ' place' out || fail "$verb does not say that events were lost: $(cat out)"
done
"$strata" irq -f json --from "$from" --until "$until" beyond | jq -e '.covered_ns * 10 < .duration_ns * 6' >/dev/null || fail "what irq covers"
"$strata" stat --strict --from "$from" --until "$until" beyond >out 2>&1 && fail "--strict"
for to in ctf trace.dat; do
    rm -rf exported
    "$strata" export --to $to -o exported --until "$from" beyond 2>err || fail "$(cat err)"
    on_cpu1 unknown exported | jq -e '. > 0.3' >/dev/null || fail "$to: $(on_cpu1 unknown exported)"
done
# Its begin and its end may be far away: the same in minutes.
python3 - "$here/../simulation" <<'PYTHON' || fail "the machine"
import random, sys
sys.path.insert(0, sys.argv[1])
import machine
from recording import BASE, Source
made = machine.Machine(random.Random(8), 2, 0, 4, True, False)
made.run(61 * machine.MILLI)
host = Source(made.host, 0, 60 * machine.MILLI, hz=10**12)
pages = len(host.cpus[1])
host.lose(1, pages // 6, pages * 4 // 6, True)
(gap,) = host.gaps
middle = (BASE + gap.since + (gap.until - gap.since) // 2) / 1e6
assert gap.until - gap.since > 24 * machine.MILLI, gap
host.write("far")
print(f"{middle:.9f} {middle + 1:.9f}", file=open("places", "w"))
PYTHON
read -r from until <places
[ "$(on_cpu1 unknown far/host --from "$from" --until "$until")" = 1 ] || fail "$(on_cpu1 unknown far/host --from "$from" --until "$until")"
# … and where all of the trace is read, nothing has begun there.
"$strata" stat --until 99999999999999 whole.raw >out 2>&1 || fail "$(cat out)"
! grep -q ' place' out || fail "a loss at the end: $(cat out)"

# What sched says of an export is true of the machine: a thread that left for a CPU that is not in it is unknown meanwhile.
case="an export of some CPUs"
python3 - "$here/../simulation" <<'PYTHON' || fail "the machine"
import random, sys
sys.path.insert(0, sys.argv[1])
import kernel_files, machine
from recording import Source
made = machine.Machine(random.Random(1), 3, 0, 6, True, False)
made.run(31 * machine.MILLI)
host = Source(made.host, 0, 30 * machine.MILLI)
kernel_files.write_manifest("some", [host.write("some")])
PYTHON
"$strata" sched --events -f json some | sort >whole
for to in ctf trace.dat; do
    rm -rf exported
    "$strata" export --strict --to $to -o exported --cpu 0,2 some 2>err || fail "$(cat err)"
    ! [ -s err ] || fail "what was not asked for was lost: $(cat err)"
    "$strata" sched --events -f json exported 2>err | sort >part
    [ "$(wc -l <part)" -gt 200 ] || fail "$to: $(wc -l <part) intervals"
    [ "$(comm -13 whole part | wc -l)" -eq 0 ] || fail "$to: $(comm -13 whole part | wc -l) of $(wc -l <part) intervals are false"
    case $(on_cpu1 unknown exported) in "" | 1) ;; *) fail "$to: CPU 1: $(on_cpu1 unknown exported)" ;; esac
    "$strata" info exported 2>err | grep -q 'lost  *events were lost in 1 place, how many is unknown' || fail "$to: info"
done
for to in simpletrace sqlite; do
    rm -rf exported
    "$strata" export --to $to -o exported --cpu 0 some 2>err || fail "$(cat err)"
    [ $to = sqlite ] || "$strata" info exported 2>err | grep -q 'in 2 places, how many is unknown' || fail "$to: info"
done
python3 -c 'import sqlite3; assert sqlite3.connect("exported").execute("SELECT DISTINCT cpu FROM loss ORDER BY cpu").fetchall() == [(1,), (2,)]' ||
    fail "sqlite"
