#!/bin/sh
# strata collect and what runs out: descriptors, room on the disk, lines that people read. One guest has its share, and
# ends no other one.
. "$(dirname "$0")/../lib/golden.sh"

mounted=
at_exit='kill $(cat "$work"/*/pid 2>/dev/null) 2>/dev/null || :; [ -z "$mounted" ] || umount -l "$mounted"'

. "$here/../lib/collect_agent.sh"

# collect NAME LIMIT [OPTION...]: begins to collect into NAME/out, as PID, with LIMIT open files at most.
collect() {
    name=$1
    limit=$2
    shift 2
    mkdir -p "$name"
    (
        ulimit -n "$limit"
        cd "$name"
        exec "$strata" collect -o out -e 'toy:*' "$@" >said 2>told
    ) &
    pid=$!
}

# told NAME TEXT: waits until collector NAME has reported TEXT.
told() {
    wait_for "grep -qs '$2' $1/told || ! kill -0 $pid 2>/dev/null"
    grep -q "$2" "$1/told" || fail "$1: '$2' was not reported: $(cat "$1/told")"
}

# ends NAME STATUS: stops the collector.
ends() {
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ $status -eq "$2" ] || fail "$1: exit status $status: $(cat "$1/told")"
}

# A guest with more CPUs than the limit of open files, and one that connects later: everything that both sent is recorded.
start greedy many-cpus
mkdir late
collect few 128 greedy=../greedy/socket late=../late-agent/socket
told few 'greedy: traces'
wait_for '[ -s few/out/guest-greedy/cpu4095.raw ] || ! kill -0 $pid 2>/dev/null'
start late-agent good
told few 'late: traces'
wait_for '[ -s few/out/guest-late/clock-pairs ]'
ends few 0
grep -q 'greedy: .* of 4096 CPUs' few/said || fail "$(cat few/said)"
grep -q 'late: 41.0 kB of 2 CPUs, 907 events' few/said || fail "$(cat few/said)"
[ "$(cat few/out/guest-greedy/cpu*.raw | wc -c)" -eq $(((4096 + 10) * 4096)) ] ||
    fail "$(du -sb few/out/guest-greedy)"

# A hundred at once.
mkdir hundred-agents
python3 "$here/../lib/collect_agent.py" hundred-agents good 100 >hundred-agents/out.txt 2>&1 &
echo $! >hundred-agents/pid
wait_for '[ -S hundred-agents/100 ]'
# shellcheck disable=SC2046 # a hundred words
collect hundred 1024 $(seq 100 | sed 's|.*|g&=../hundred-agents/&|')
wait_for '[ "$(grep -c ": traces" hundred/told)" = 100 ] || ! kill -0 $pid 2>/dev/null'
wait_for '[ "$(find hundred/out -name clock-pairs -size +0 | wc -l)" = 100 ] || ! kill -0 $pid 2>/dev/null'
ends hundred 0
[ "$(grep -c '41.0 kB of 2 CPUs, 907 events' hundred/said)" = 100 ] || fail "$(cat hundred/said)"
[ "$(grep -c '"layer": "guest"' hundred/out/trace.json)" = 100 ]
# More of them than there may be open files: it says so, and begins nothing.
status=0
# shellcheck disable=SC2046
(ulimit -n 256 && "$strata" collect -o x -e 'a:*' $(seq 100 | sed 's|.*|g&=none/&|')) 2>err || status=$?
[ $status -eq 1 ]
grep -q '100 guests need .* open files' err || fail "$(cat err)"

# Problems that a guest reports: at most 32 lines are shown and kept, and the rest is counted.
start problems problems
collect talk 1024 v=../problems/socket
told talk 'v: traces'
wait_for '[ -s talk/out/guest-v/clock-pairs ]'
ends talk 0
grep -q 'v: problem 0$' talk/told
[ "$(grep -c 'v: problem ' talk/told)" -le 32 ] || fail "$(wc -l talk/told)"
grep -q 'v: reported 4968 more problems' talk/told || fail "$(cat talk/told)"
grep -q 'reported 4968 more problems' talk/out/trace.json || fail "$(cat talk/out/trace.json)"

# One guest fills the disk: the other guest's recording continues, and without loss once there is space again.
start quiet good
start fills fills
mkdir -p disk/out
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=4m none disk/out 2>/dev/null; then
    mounted=$work/disk/out
    collect disk 1024 fills=../fills/socket quiet=../quiet/socket \
        other=../other/socket
    told disk 'fills: traces'
    told disk 'quiet: traces'
    wait_for '[ -s disk/out/guest-quiet/clock-pairs ] && [ -s disk/out/guest-fills/clock-pairs ]'
    children() {
        wc -w <"/proc/$pid/task/$pid/children"
    }
    [ "$(children)" = 3 ]
    touch fills/fill
    wait_for '[ "$(children)" = 2 ]'
    ! dd if=/dev/zero of=disk/out/guest-fills/cpu0.raw bs=1M count=4 oflag=append conv=notrunc 2>err ||
        fail 'the disk was not full'
    # Another one, that has room for its files, as that was kept, but not for its pages.
    start other much
    wait_for '[ "$(children)" = 1 ]'
    : >disk/out/guest-fills/cpu0.raw
    ends disk 1
    grep -q 'strata: fills: .*No space left' disk/told || fail "$(cat disk/told)"
    grep -q 'strata: other: .*No space left' disk/told || fail "$(cat disk/told)"
    grep -q 'quiet: 41.0 kB of 2 CPUs, 907 events' disk/said || fail "$(cat disk/said)"
    "$strata" report disk/out --source=quiet | grep -c 'beat: count=' | grep -qx 907
    umount -l disk/out
    mounted=
else
    echo "collect_limits: SKIPPED in part: no small file system can be mounted" >&2
fi
