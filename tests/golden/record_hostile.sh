#!/bin/sh
# strata record of programs that write into their rings what no program writes, and cut the files of them short, while they
# are read: the recorder comes to its end, and what another program emits is all there. $EMIT: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"

recorder=
at_exit='[ -z "$recorder" ] || kill -KILL $recorder 2>/dev/null || :'

# The directory of the rings of process PID, or those of a trace of this test's; others may be left of a process that had this
# number before.
rings_of() {
    grep -lsF "$work" "/dev/shm/strata-$(id -u)"/*/strata-"$1"-*/process | sed 's|/process$||'
}

cat >program <<'END'
#!/bin/sh
# This one is meant to crash: a sanitizer need not report it.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0:handle_sigbus=0:handle_abort=0:detect_leaks=0 \
    "$EMIT" -w go-1 3000 1 >emitted-1 &
echo $! >pid-1
"$EMIT" -w go-2 3000 2 >emitted-2 &
echo $! >pid-2
wait
END
chmod +x program

# Words of the header, of packet headers and of the descriptions, to any value: what a number of them does is seen by many
# readings meanwhile.
cat >write-anything <<'END'
import mmap, os, random, struct, sys

random.seed(int(sys.argv[2]))
folder = sys.argv[1]
maps = []
for name in ("ring-0", "process"):
    fd = os.open(f"{folder}/{name}", os.O_RDWR)
    maps.append(mmap.mmap(fd, 0))
for i in range(int(sys.argv[3])):
    m = random.choice(maps)
    at = random.choice((random.randrange(576), random.randrange(4096),
                        4096 + random.randrange(128) * 65536 + random.randrange(96)))
    at = at % (len(m) - 8) & ~7
    # Not the magic, nor what tells whose it is: a reader would look no further.
    if m is maps[1] and at < 64 or at < 16:
        continue
    value = random.choice((0, 1, 2**64 - 1, 2**40, 65536, random.getrandbits(64),
                           struct.unpack_from("<Q", m, at)[0] + 8 & 2**64 - 1))
    struct.pack_into("<Q", m, at, value >> random.choice((0, 0, 8, 32, 48)))
END

# try CASE COMMAND…: records both programs, runs COMMAND with the directory of the first one's rings as $1, then lets both end.
try() {
    case=$1
    shift
    rm -rf trace go-* pid-*
    "$strata" record -o trace -- ./program >out 2>told &
    recorder=$!
    wait_for '[ -s pid-2 ] && [ -n "$(rings_of "$(cat pid-1)")" ]'
    wait_for '[ -s "trace/program-$(cat pid-1)/stream-0" ] && [ -s "trace/program-$(cat pid-2)/stream-1" ]'
    rings=$(rings_of "$(cat pid-1)")
    "$@" "$rings"
    : >go-1
    : >go-2
    status=0
    wait $recorder || status=$?
    recorder=
    [ $status -le 1 ] || fail "exit status $status: $(cat told)"
    "$strata" report "trace/program-$(cat pid-2)" 2>err >shown || fail "report: $(cat err)"
    [ "$(wc -l <shown)" -eq 6000 ] || fail "$(wc -l <shown) events of the other program: $(cat told)"
    # Whatever came of the first one can be looked at.
    "$strata" report trace >shown 2>err || [ $? -eq 1 ] || fail "report: $(cat err)"
    rm -rf "$rings"
}

cut_rings() {
    truncate -s 4096 "$1/ring-0"
}

cut_process() {
    truncate -s 100 "$1/process"
}

cut_both() {
    : >"$1/ring-0"
    : >"$1/process"
}

write_anything() {
    python3 write-anything "$2" "$1" 200000
}

export EMIT
try 'cut rings' cut_rings
try 'cut process' cut_process
try 'cut both' cut_both
for seed in 1 2 3 4; do
    try "anything $seed" write_anything $seed
done
