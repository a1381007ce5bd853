#!/bin/sh
# Directories of LTTng's sessions: all domains below them, in rotated chunks and in snapshots that overlap.
. "$(dirname "$0")/../lib/golden.sh"

python3 "$here/made_ctf_session.py" made

# events OPTION... SESSION
events() {
    "$strata" report -f json "$@" 2>err | jq -r 'select(.event) | (if .group then .group + ":" else "" end) + .event + " \(.fields.v)"'
}

for session in rotated snapshots limited empty restarted; do
    case=$session
    grep "^$session " made/events.txt | cut -d' ' -f2- >expected
    events made/$session >got || fail "$(cat err)"
    diff expected got || fail "other events"
    # A part, by seeking, and in threads.
    for from in 15 30 70 113; do
        awk -v from=$from '$2 >= from' expected >part
        events --from 0.0$(printf %05d $from)000 made/$session | diff part - || fail "from $from"
    done
    for options in -j1 -j3; do
        "$strata" stat $options -f json made/$session 2>/dev/null | jq -c '[.rows[] | [.event, .count]]' >stat$options
    done
    diff stat-j1 stat-j3 || fail "stat -j"
done
command -v babeltrace2 >/dev/null && for session in rotated snapshots limited; do
    case="$session, as babeltrace2"
    babeltrace2 made/$session 2>/dev/null | sed 's/^.* \([a-z:]*\): .* v = \([0-9]*\) .*$/\1 \2/' >theirs
    events made/$session | diff theirs - || fail "other events"
done

# What is lost is counted once, also between two files.
case=losses
"$strata" report made/rotated 2>err >out
grep -qx 'strata: 7 events were lost (CPU 0: 7) in 1 place, and an unknown number in 1 place' err || fail "$(cat err)"
"$strata" report made/restarted 2>err >out
grep -qx 'strata: 18 events were lost (CPU 0: 7, CPU 1: 11) in 5 places, and an unknown number in 3 places' err || fail "$(cat err)"
"$strata" report made/limited 2>err >out
grep -qx 'strata: 9 events were lost (CPU 0: 6, CPU 1: 3) in 3 places' err || fail "$(cat err)"
"$strata" report made/snapshots 2>err >out
[ ! -s err ] || fail "$(cat err)"

# A CPU whose first file is a loss has events in the next one.
case="a first file without events"
"$strata" report -f json made/empty 2>/dev/null | jq -c 'select(.cause) | [.cpu, .lost, .since_ns, .time_ns]' >out
printf '%s\n' '[1,5,null,16000]' '[1,3,31500,41500]' | diff - out || fail "losses"
[ "$("$strata" latency --no-causal -p 'k -> k by cpu' -f json made/empty 2>/dev/null | jq -c '[.covered_ns, .rows[].n]')" = '[28000,6]' ] ||
    fail "$("$strata" latency --no-causal -p 'k -> k by cpu' -f json made/empty)"

case="one domain, one chunk"
[ "$(events made/rotated/archives | wc -l)" -eq 12 ] || fail "archives: $(cat err)"
[ "$(events made/rotated/ust | wc -l)" -eq 2 ] || fail "$(cat err)"
[ "$(events made/rotated/archives/*-10 | wc -l)" -eq 6 ] || fail "$(cat err)"
"$strata" info -f json made/rotated | jq -s -c '[.[].events]' >out
[ "$("$strata" stat -f json made/rotated | jq '[.rows[].count] | add')" -eq 18 ] || fail "stat"

# A directory of several sessions is none.
case="several sessions"
"$strata" report made 2>err && fail "is read"
grep -q 'not a trace; the directory has [0-9]* traces: ' err || fail "$(cat err)"
