#!/bin/sh
# strata record that is terminated while it starts: it ends, and leaves nothing, or a recording that can be read.
. "$(dirname "$0")/../lib/golden.sh"

mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
pid=
ended() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}
at_exit=ended

# terminated STATUS: the recorder ends with it, and no process that it started is left.
terminated() {
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    pid=
    [ $status -eq "$1" ] || fail "exit status $status: $(cat told)"
    wait_for '! kill -0 "$(cat started)" 2>/dev/null'
    [ -z "$(ls run)" ] || fail "left: $(ls run)"
}

# A QEMU that does not answer when it is asked what it can trace.
case=asked
cat >qemu-system-silent <<'END'
#!/bin/sh
echo $$ >started
exec sleep 1000
END
chmod +x qemu-system-silent
"$strata" record -o asked -- ./qemu-system-silent -M none >out 2>told &
pid=$!
wait_for '[ -s started ]'
terminated 1
grep -q '^strata: ended by a signal while QEMU was asked what it can trace$' told || fail "$(cat told)"
[ ! -e asked ] || fail "left: $(ls asked)"

# The host's kernel, whose agent does not set up the tracing: nothing else is started, and the agent is not waited for.
case=host
mkdir slow
cp "$strata" slow
cat >slow/strata-agent <<'END'
#!/bin/sh
echo $$ >started
kill -STOP $$
END
chmod +x slow/strata-agent
rm -f started
slow/strata record -o host --host -- touch ran >out 2>told &
pid=$!
wait_for '[ -s started ]'
terminated 1
grep -q '^strata: ended by a signal before the recording of touch began$' told || fail "$(cat told)"
[ ! -e host ] && [ ! -e ran ] || fail "left: $(ls)"

# … alone.
case="host alone"
rm -f started
slow/strata record -o host --host >out 2>told &
pid=$!
wait_for '[ -s started ]'
terminated 1
grep -q '^strata: nothing was recorded, and nothing is left in host$' told || fail "$(cat told)"
[ ! -e host ] || fail "left: $(ls host)"

# One that prints no help.
case=help
command -v qemu-system-x86_64 >/dev/null || {
    echo "record_stopped: SKIPPED in part: qemu-system-x86_64 is not installed" >&2
    exit 0
}
rm -f started
cat >qemu-system-silent <<'END'
#!/bin/sh
[ "$1" != -d ] || {
    echo $$ >started
    exec sleep 1000
}
exec qemu-system-x86_64 "$@"
END
"$strata" record -o help -- ./qemu-system-silent -M none >out 2>told &
pid=$!
wait_for '[ -s started ]'
terminated 1
grep -q '^strata: ended by a signal while QEMU was asked what it can trace$' told || fail "$(cat told)"
[ ! -e help ] || fail "left: $(ls help)"

# A script that has not started QEMU yet.
case=script
rm -f started
"$strata" record -o script --qemu=qemu-system-x86_64 -- sh -c 'echo $$ >started; exec sleep 1000' >out 2>told &
pid=$!
wait_for '[ -s started ]'
terminated 143
"$strata" info script >info 2>&1 || fail "$(cat info)"
grep -q 'problems .*started no QEMU' info || fail "$(cat info)"
