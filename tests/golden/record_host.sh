#!/bin/sh
# strata record --host: this machine's own kernel beside a program, on one timeline, and without leaving anything in
# tracefs, however the recorder ends. $EMIT, $VICTIM: tests/runtime.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/mount_namespace.sh"
skipped=

pid=
ended() {
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    [ ! -e "$instances/strata-test-$$" ] || rmdir "$instances/strata-test-$$"
}
at_exit=ended
instances=/sys/kernel/tracing/instances

# Without its agent.
case="no agent"
mkdir alone
cp "$strata" alone
status=0
PATH=/usr/bin:/bin alone/strata record -o trace --event=host:sched -- touch ran >out 2>told || status=$?
[ $status -eq 1 ] || fail "exit status $status: $(cat told)"
grep -q "cannot run 'strata-agent': No such file or directory; it belongs beside strata" told || fail "$(cat told)"
[ ! -e trace ] && [ ! -e ran ] || fail "something is left: $(ls)"

# A kernel that may not be traced is an error, before the program runs.
case=forbidden
if [ "$(id -u)" -eq 0 ]; then
    chmod 777 .
    as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
else
    as_nobody=
fi
if [ -z "$as_nobody" ] || $as_nobody test -x "$strata"; then
    status=0
    $as_nobody "$strata" record -o forbidden --event=host:sched -- touch ran >out 2>told || status=$?
    [ $status -eq 1 ] || fail "exit status $status: $(cat told)"
    grep -q "the host's kernel cannot be recorded: .*trac.*; \(run \)*as root" told || fail "$(cat told)"
    [ ! -e forbidden ] && [ ! -e ran ] || fail "something is left: $(ls)"
fi
# Beside a virtual machine, that is recorded alone, and the trace says why.
if { [ -z "$as_nobody" ] || $as_nobody test -x "$strata"; } && command -v qemu-system-x86_64 >/dev/null; then
    case="forbidden beside QEMU"
    mkdir -m 777 run
    status=0
    echo quit | $as_nobody env XDG_RUNTIME_DIR="$work/run" "$strata" record -o alone-vmm --host -e 'qmp*' -- qemu-system-x86_64 \
        -M none -nodefaults -display none -monitor stdio >out 2>told || status=$?
    [ $status -eq 1 ] || fail "exit status $status: $(cat told)"
    grep -q "^strata: the host's kernel cannot be recorded: .*trac.*; \(run \)*as root.*; the rest is recorded$" told || fail "$(cat told)"
    grep -q '^  host  *nothing$' told || fail "$(cat told)"
    "$strata" info alone-vmm >info 2>&1 || fail "info: $(cat info)"
    grep -q "problems  *the host's kernel cannot be recorded: .*trac" info || fail "$(cat info)"
    grep -q 'complete  *yes' info || fail "$(cat info)"
    # A misspelt event is not a matter of permission.
    if [ "$(id -u)" -eq 0 ] && [ -d $instances ]; then
        status=0
        "$strata" record -o nosuch --event='host:shced:*' -- qemu-system-x86_64 -M none -display none >out 2>told || status=$?
        [ $status -eq 1 ] || fail "exit status $status: $(cat told)"
        grep -qF "did you mean 'sched:*'" told && [ ! -e nosuch ] || fail "$(cat told)"
    fi
fi

if ! can_trace_kernel; then
    echo "record_host: SKIPPED in part: $no_kernel" >&2
    exit 77
fi

# The usual events are those that this kernel has, also where tracefs is mounted nowhere: the agent mounts it for itself.
case="tracefs not mounted"
if has_mount_namespace /sys; then
    in_mount_namespace sh -ec '
        for dir in /sys/kernel/debug/tracing /sys/kernel/tracing; do
            while umount -l $dir 2>/dev/null; do :; done
        done
        ! grep -q " tracefs " /proc/self/mounts
        exec "$@"' sh "$strata" record -o unmounted --host -- true >out 2>told || fail "$(cat told)"
    grep -q '^  host ' told || fail "$(cat told)"
    rm -r unmounted
else
    skipped="$skipped; a kernel without tracefs: $no_namespace"
fi

# Buffers as large as was asked for.
case="buffer size"
cat >sizes.sh <<'END'
# Of the agent beside this program: others may record this kernel, too.
for agent in $(pgrep -P $PPID); do
    cat "$1"/strata-agent-$agent-*/buffer_size_kb 2>&3 || :
done
END
"$strata" record -o sized --event=host:sched:sched_process_exec --buffer-size=1M -- \
    sh sizes.sh $instances >sizes 2>told 3>/dev/null || fail "$(cat told)"
# The kernel rounds up to its pages.
[ "$(sort -nu sizes | tr '\n' ' ' | awk 'NF == 1 && $1 >= 1024 && $1 < 1100')" ] || fail "the buffers have $(cat sizes)"
rm -r sized

# Pages that a user reads from larger sub-buffers, which Linux has from 6.8 on: all of their events are there.
case="large pages"
large=$instances/strata-test-$$
copy_pages() {
    rm -rf pages
    mkdir -p pages/events/sched/sched_switch
    cp "$large/events/sched/sched_switch/format" pages/events/sched/sched_switch/
    cp "$large/events/header_page" pages/events/
    cp "$large/trace_clock" "$large/tracing_on" pages/
    grep -vc '^#' "$large/trace" >pages.expected
    python3 - "$large/per_cpu" <<'END'
import glob, os, re, sys
for path in glob.glob(sys.argv[1] + "/cpu*/trace_pipe_raw"):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open("pages/cpu%s.raw" % re.search(r"/cpu(\d+)/", path).group(1), "wb") as out:
        try:
            while piece := os.read(fd, 1 << 20):
                out.write(piece)
        except BlockingIOError:
            pass
END
}
if mkdir "$large" 2>/dev/null && [ -e "$large/buffer_subbuf_size_kb" ]; then
    for kib in 16 64; do
        echo $kib >"$large/buffer_subbuf_size_kb"
        echo 1 >"$large/events/sched/sched_switch/enable"
        "$EMIT" -q 6000 2 >out
        echo 0 >"$large/tracing_on"
        copy_pages
        [ "$(cat pages.expected)" -gt 0 ] && "$strata" report pages 2>told | wc -l | diff pages.expected - >&2 || fail "$kib KiB: $(cat told)"
        echo 0 >"$large/events/sched/sched_switch/enable"
        echo >"$large/trace"
        echo 1 >"$large/tracing_on"
    done
else
    skipped="$skipped; this kernel has no sub-buffers of several pages"
fi
[ ! -e "$large" ] || rmdir "$large"

# A full disk is an error, as is what the trace lacks.
case="full disk"
mkdir small
if mount -t tmpfs -o size=2M none small 2>told; then
    status=0
    "$strata" record -o small/trace --event='host:sched:*' -- \
        sh -c 'until [ "$(df --output=avail small | tail -n 1)" -lt 300 ]; do :; done
            for i in $(seq 300); do sh -c :; done' >out 2>told || status=$?
    [ $status -eq 1 ] && grep -q 'cannot write its pages: No space left' told || fail "exit status $status: $(cat told)"
    status=0
    "$strata" info --strict small/trace >info 2>&1 || status=$?
    [ $status -eq 3 ] || fail "info --strict: exit status $status: $(cat info)"
    umount -l small
else
    skipped="$skipped; a full disk: $(cat told)"
fi

# Where its agent does not send the rest, that is what is said, not that a guest did not.
case="cut off"
"$strata" record -o cut --event=host:sched:sched_process_fork >out 2>told &
pid=$!
wait_for '[ -s cut/trace.json ]' || fail "$(cat told)"
for child in $(cat /proc/$pid/task/$pid/children); do
    [ "$(cat /proc/$child/comm)" != strata-agent ] || kill -STOP "$child"
done
for n in 1 2 3; do
    kill -TERM $pid 2>/dev/null || :
    sleep 0.1 # signals that are pending are one
done
wait $pid || :
pid=
grep -q 'was ended before the agent of the host.s kernel had sent the rest' told || fail "$(cat told)"
! grep -q 'guest' told || fail "$(cat told)"

# An idle recording does not wake the machine: while nothing comes, neither strata nor its agent runs by short timers.
case=idle
"$strata" record -o idle --event=host:sched:sched_kthread_stop >out 2>told &
pid=$!
wait_for '[ -s idle/trace.json ]' || fail "$(cat told)"
python3 - $pid <<'EOF' || fail "an idle recording wakes up too often: $(cat told)"
import os, re, sys, time

def processes(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in open(f"/proc/{pid}/task/{task}/children").read().split():
            yield from processes(child)
    yield pid

def sleeps():
    """How often each thread of the recording has gone to sleep; nothing, where one ends meanwhile, as while it starts."""
    found = {}
    try:
        for pid in processes(sys.argv[1]):
            for task in os.listdir(f"/proc/{pid}/task"):
                status = open(f"/proc/{pid}/task/{task}/status").read()
                found[task] = int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", status)[1])
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return found

# The first seconds look for the first page, and relate the clocks; on a busy machine, more of them: one with a short timer is
# never idle.
for _ in range(20):
    before, begin = sleeps(), time.monotonic()
    time.sleep(6)
    after, seconds = sleeps(), time.monotonic() - begin
    # Each CPU has a reader.
    most = (5 + os.cpu_count()) * seconds
    n = sum(after.values()) - sum(before.values())
    if len(after) >= 6 and before.keys() == after.keys() and n <= most:
        break
else:
    assert False, (n, most, before, after)
EOF
kill -TERM $pid
wait $pid || :
pid=
grep -q '^strata: [0-9.]* seconds were recorded into idle$' told || fail "$(cat told)"

# The files and what was written to each are stated at the end.
case="stated files"
. "$here/../lib/stated_files.sh"
check_stated_files idle || fail "trace.json: $(cat idle/trace.json)"

# In the kernel's trace the program begins before its first event and ends after its last, within the stated errors.
case=timeline
"$strata" record -o trace --event=host:sched:sched_process_exec,host:sched:sched_process_exit -- "$EMIT" 600 1 >out 2>told ||
    fail "$(cat told)"
grep -q '^  host  *[1-9][0-9]* events, 0 lost' told && ! grep -q 'seconds were recorded' told || fail "$(cat told)"
"$strata" report --format json trace >shown || fail report
python3 - trace/trace.json shown <<'EOF' || fail "the timeline: $(cat told)"
import json, os, sys
sources = {s["name"]: s for s in json.load(open(sys.argv[1]))["sources"]}
# The processes that recorded, where their numbers are the host's.
recorders = sources["host"]["host"].get("recorder"), sources["host"]["guest"].get("agent_pid")
if os.stat("/proc/self/ns/pid").st_ino == 0xeffffffc:
    assert all(recorders) and recorders[0] != recorders[1], recorders
else:
    assert recorders == (None, None), recorders
assert sources["host"]["layer"] == "host" and sources["host"]["clock"]["host"], sources["host"]
pid = sources["program"]["vmm"]["pid"]
assert sources["host"]["complete"] and sources["program"]["complete"]
events = [json.loads(line) for line in open(sys.argv[2])]
emitted = [e for e in events if e["layer"] == "vmm"]
assert len(emitted) == 600, len(emitted)
# (Its first thread ends the process: its exit comes after those of the other threads.)
begin = [e for e in events if e["event"] == "sched_process_exec" and e["fields"]["pid"] == pid]
end = [e for e in events if e["event"] == "sched_process_exit" and e["fields"]["pid"] == pid]
assert len(begin) == 1 and len(end) == 1, (begin, end)
error = sum(s["clock"].get("error_ns", 0) for s in sources.values())
assert begin[0]["time_ns"] - error < emitted[0]["time_ns"], (begin, emitted[0])
assert emitted[-1]["time_ns"] < end[0]["time_ns"] + error, (emitted[-1], end)
EOF

# --for records the events that the analyses use, and those of -e; no others.
case=for
for events in '' sched:sched_process_exec; do
    rm -rf for
    "$strata" record -o for --for exits,sched --host ${events:+-e host:$events} -- "$EMIT" 600 1 >out 2>told || fail "$(cat told)"
    "$strata" report --format json --layer host for | sed 's/.*"event":"\([^"]*\)".*/\1/' | sort -u >seen
    grep -qx sched_switch seen && grep -qx sched_waking seen && grep -qx sched_process_exit seen || fail "missing: $(cat seen)"
    ! grep -qvE '^(kvm_.*|sched_(switch|waking|wakeup_new|migrate_task|process_exit|process_exec))$' seen || fail "others: $(cat seen)"
    [ -z "$events" ] || grep -qx sched_process_exec seen || fail "not what --host names: $(cat seen)"
    [ -n "$events" ] || ! grep -qx sched_process_exec seen || fail "more than was asked for: $(cat seen)"
done
status=0
"$strata" record -o none --for exits,exit --host -- "$EMIT" 1 1 >out 2>told || status=$?
[ $status -eq 2 ] || fail "exit status $status: $(cat told)"
grep -q "invalid analysis 'exit' (they are exits, sched, io and irq)" told || fail "$(cat told)"

# A recording of the kernel beside any command is one; what the command did not emit is not an error.
case=command
status=0
"$strata" record -o command --event=host:sched:sched_process_exec -- sh -c 'env true; exit 4' >out 2>told || status=$?
[ $status -eq 4 ] || fail "exit status $status: $(cat told)"
"$strata" record -o command0 --event=host:sched:sched_process_exec -- env true >out 2>told || fail "$(cat told)"
grep -q '^  host  *[1-9][0-9]* events' told || fail "$(cat told)"
! grep -q 'nothing was recorded' told || fail "$(cat told)"
"$strata" report command0 >shown 2>told || fail "$(cat told)"
grep -q sched_process_exec shown || fail "$(cat shown)"
# Events of the program that were asked for and did not come are worth a word.
"$strata" record -o asked -e 'emti_*' --event=host:sched:sched_process_exec -- "$EMIT" 60 1 >out 2>told || fail "$(cat told)"
grep -q "^strata: only the host kernel was recorded: no event of 'emit' matches 'emti_\*'; did you mean" told ||
    fail "$(cat told)"

# Only what the program does, and not what happens beside.
case=threads
(while [ ! -e stop ]; do env true; done) &
"$strata" record -o threads --event=host:sched:sched_process_exec --host-threads -- sh -c "env env true; exec '$EMIT' 60 1" \
    >out 2>told || fail "$(cat told)"
: >stop
wait
"$strata" report --layer host threads | sed -n 's/.*filename=\([^ ]*\).*/\1/p' | sed 's|.*/||' | sort | uniq -c >execs
[ "$(tr -s ' \n' ' ' <execs)" = " 1 emit 2 env 1 sh 1 true " ] || fail "$(cat execs)"

# In a PID namespace, threads have other numbers than in the kernel.
case=threads-namespace
if unshare --pid --fork --mount-proc --propagation unchanged true 2>told; then
    status=0
    unshare --pid --fork --mount-proc --propagation unchanged "$strata" record -o namespace --event=host:sched:sched_process_exec \
        --host-threads -- true >out 2>told || status=$?
    [ $status -eq 1 ] && grep -q "its number in the kernel is unknown in this PID namespace" told || fail "status $status: $(cat told)"

    # A recorder there does not see the process of this recording's agent, and yet leaves the agent's instance alone.
    case=namespace-instance
    ln -s /bin/true ran-after
    cat >beside.sh <<'END'
for agent in $(pgrep -P $PPID); do
    for dir in "$1"/strata-agent-$agent-*; do
        [ ! -d "$dir" ] || echo "$dir" >instance
    done
done
unshare --pid --fork --mount-proc --propagation unchanged "$2" record -o inner --event=host:sched:sched_process_fork -- true >out-inner 2>&1
cat "$(cat instance)/set_event" "$(cat instance)/tracing_on" >state
./ran-after
END
    "$strata" record -o outer --event=host:sched:sched_process_exec -- sh beside.sh $instances "$strata" >out 2>told || fail "$(cat told)"
    [ -s inner/trace.json ] || fail "$(cat out-inner)"
    [ "$(tr '\n' ' ' <state)" = "sched:sched_process_exec 1 " ] || fail "the instance has $(cat state)"
    "$strata" report --layer host outer | grep -q 'filename=./ran-after ' || fail "the recording was switched off"
    rm -r inner outer
else
    echo "record_host: SKIPPED in part: a PID namespace: $(cat told)" >&2
fi

# Of what runs beside, such a recording has the switches to and from the threads of the program: no time is claimed for it.
case=threads-sched
cp "$(command -v dash || command -v sh)" beside
./beside -c 'while [ ! -e stopped ]; do :; done' &
./beside -c 'while [ ! -e stopped ]; do :; done' &
"$strata" record -o filtered --event='host:sched:*' --host-threads -- sh -c 'i=0; while [ $i -lt 200 ]; do true | cat; i=$((i + 1)); done' \
    >out 2>told || fail "$(cat told)"
: >stopped
wait
"$strata" report --layer host -e sched_switch filtered | grep -q 'next_comm=beside' || fail "nothing ran beside"
jq -e '.sources[] | select(.name == "host") | .filters == []' filtered/trace.json >/dev/null || fail "$(cat filtered/trace.json)"
"$strata" info filtered | grep -q '^ *filtered  *only the threads of what was recorded' || fail "$("$strata" info filtered)"
"$strata" sched --layer host -f json filtered >sched 2>told || fail "$(cat told)"
jq -e '[.rows[].key.task] as $tasks | ($tasks | index("sh")) != null and ($tasks | index("beside")) == null' sched >/dev/null ||
    fail "$(cat sched)"
"$strata" sched --layer host filtered >shown 2>&1 || fail "$(cat shown)"
grep -q 'record without --host-threads' shown || fail "$(cat shown)"
"$strata" sched --who --layer host filtered >shown 2>&1 || fail "$(cat shown)"
! grep -q 'beside' shown || fail "$(cat shown)"

# What ends in interrupts mostly ends while another thread runs.
case=threads-io
warning='^strata: .*--host-threads: requests to disks end in interrupts.*record without --host-threads$'
for events in host:block:block_rq_complete,host:sched:sched_process_exec host:block_rq_issue,host:sched:sched_process_exec; do
    "$strata" record -o requests --event="$events" --host-threads -- true >out 2>told || fail "$(cat told)"
    grep -q "$warning" told || fail "$events: $(cat told)"
    rm -rf requests
done
"$strata" record -o requests --event=host:sched:sched_process_exec --host-threads -- true >out 2>told || fail "$(cat told)"
! grep -q "$warning" told || fail "for other events: $(cat told)"

# So are events that it does not have; the nearest are named.
case=nosuch
for given in nosuch:* shced:* sched:shced_switch; do
    status=0
    "$strata" record -o nosuch --event=host:"$given" -- touch ran >out 2>told || status=$?
    [ $status -eq 1 ] || fail "exit status $status: $(cat told)"
    grep -qF "the host's kernel cannot be recorded: the agent: the kernel has no event '$given'" told || fail "$(cat told)"
    [ "$(grep -c "no event" told)" -eq 1 ] || fail "more than once: $(cat told)"
    case $given in
    shced:*) grep -qF "did you mean 'sched:*'" told || fail "$(cat told)" ;;
    sched:*) grep -qF "did you mean 'sched:sched_switch'" told || fail "$(cat told)" ;;
    esac
    [ ! -e nosuch ] && [ ! -e ran ] || fail "something is left: $(ls)"
done

# Events beyond --max-size are a loss, which is reported.
case=max-size
status=0
"$strata" record --strict -o full --max-size 64K --event='host:sched:*,host:timer:*' -- \
    sh -c 'i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done' >out 2>told || status=$?
[ $status -eq 3 ] || fail "exit status $status: $(cat told)"
grep -q '^  host  *--max-size is reached: ' told || fail "$(cat told)"
[ "$(grep -c -e '--max-size is reached' told)" -eq 1 ] || fail "$(cat told)"
"$strata" info full 2>/dev/null | grep -q -e '--max-size is reached' || fail "$("$strata" info full)"

# Another program may switch off the tracing, or its events: the trace says that events are missing.
case=disturbed
cat >disturb.sh <<'END'
for agent in $(pgrep -P $PPID); do
    for dir in "$1"/strata-agent-$agent-*; do
        [ ! -d "$dir" ] || instance=$dir
    done
done
case $2 in
    tracing_on) echo 0 >"$instance/tracing_on" ;;
    set_event) echo >"$instance/set_event" ;;
    event) echo 0 >"$instance/events/sched/sched_process_fork/enable" ;;
    more) echo 1 >"$instance/events/irq/enable" ;;
esac
END
for what in tracing_on set_event event more; do
    "$strata" record -o disturbed --event='host:sched:*,host:timer:hrtimer_start' -- sh disturb.sh $instances $what >out 2>told ||
        fail "$(cat told)"
    problem=no
    ! grep -q '^  host: tracing was switched off by another program; events are missing$' told || problem=yes
    "$strata" info disturbed 2>/dev/null >info
    complete=$(sed -n 's/^  complete *\([a-z]*\).*/\1/p' info)
    case $what,$problem,$complete in
        more,no,yes | tracing_on,yes,no | set_event,yes,no | event,yes,no) ;;
        *) fail "$what: problem $problem, complete $complete: $(cat told info)" ;;
    esac
    rm -r disturbed
done

# If the agent is killed, its recorder removes the instance.
case="agent killed"
cat >kill.sh <<'END'
for agent in $(pgrep -P $PPID); do
    for dir in "$1"/strata-agent-$agent-*; do
        [ ! -d "$dir" ] || { echo "$dir" >instance && kill -KILL $agent; }
    done
done
END
"$strata" record -o killed --event=host:sched:sched_process_fork -- sh kill.sh $instances >out 2>told || :
[ -s instance ] || fail "there is no agent: $(cat told)"
[ ! -d "$(cat instance)" ] || fail "the instance is left: $(cat told)"
"$strata" info killed 2>/dev/null | grep -q '^  complete *no' || fail "$("$strata" info killed)"
rm -r killed

# After any end, the instance is removed.
for signal in TERM KILL; do
    case=SIG$signal
    rm -rf trace
    "$strata" record -o trace --event=host:sched:sched_process_fork -- "$VICTIM" run counters 1 0 500 >out 2>told &
    pid=$!
    wait_for '[ -s trace/program/stream-0 ] && grep -qs "\"pid\": " trace/trace.json'
    agent=
    for child in $(cat /proc/$pid/task/$pid/children); do
        [ "$(cat /proc/$child/comm)" != strata-agent ] || agent=$child
    done
    [ -n "$agent" ] || fail "there is no agent"
    ls $instances | grep -q "^strata-agent-$agent-" || fail "there is no instance"
    victim=$(grep -o '"pid": [0-9]*' trace/trace.json | head -n 1 | tr -dc 0-9)
    kill -$signal $pid
    wait $pid 2>/dev/null || true
    pid=
    wait_for "! ls $instances | grep -q '^strata-agent-$agent-'"
    wait_for "! kill -0 $agent 2>/dev/null"
    kill -KILL "$victim" 2>/dev/null || true
    "$strata" report trace >/dev/null 2>told || fail "$(cat told)"
done
wait_for "! kill -0 $victim 2>/dev/null"
# Another recorder that has started since may be completing the trace, or have done so and removed the rings.
recovered() {
    "$strata" recover "$victim" >told 2>&1 || grep -q 'has left nothing' told
}
wait_for 'recovered || ! grep -q "another strata is reading these rings" told'
recovered || fail "$(cat told)"
# Others may be left of a process that had this number before.
wait_for '! grep -qsF "$work" /dev/shm/strata-*/record-*/strata-"$victim"-*/process'

[ -z "$skipped" ] || {
    echo "record_host: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
