#!/bin/sh
# strata record: each two recorders at once, and all of them beside each kind that a recording is about: the manifest has
# all sources, the trace opens, and the exit status is that of the manual page, also by --time, --max-size, --strict and
# with --live. The guests are this machine's own kernel, by two agents. $EMIT: tests/runtime; $TOY: examples/toy-hypervisor.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/stated_files.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :; rm -f "/dev/shm/$buffers"'
buffers=strata-matrix-$$
skipped=

# ---- What this machine can do ----

kernels='host guests'
if ! can_trace_kernel; then
    kernels=
    skipped="$skipped; $no_kernel"
fi
leaders='program attached-program qemu attached-qemu'
qemu=$(command -v qemu-system-x86_64) || {
    leaders='program attached-program'
    skipped="$skipped; qemu-system-x86_64 is not installed"
}
percpu=percpu
[ -w /dev/shm ] || {
    percpu=
    skipped="$skipped; /dev/shm cannot be written"
}
others="$kernels $percpu"

# ---- The recorded programs and machines, for all cases ----

# Under a name that no other test has, which may be recorded as well.
seen=seen$$
ln -s /bin/true $seen
if [ "$kernels" ]; then
    for name in a b; do
        "$STRATA_BIN/strata-agent" --listen "unix:$work/$name" >agent-$name 2>&1 &
        pids="$pids $!"
        wait_for "[ -S $name ]"
    done
fi
mkdir rings
"$EMIT" -q -w never -t '*,writer=none,rings=rings' 200 1 >/dev/null 2>&1 &
pids="$pids $!"
wait_for '[ -e rings/*/ring-0 ]'
mkdir ended-rings
"$EMIT" -q -t '*,writer=none,rings=ended-rings' 200 1 >/dev/null 2>&1
ended=$(echo ended-rings/*)
none="$qemu -machine none -nodefaults -display none -msg timestamp=on"
if [ "$qemu" ]; then
    # shellcheck disable=SC2086 # words
    $none -qmp unix:socket,server=on,wait=off >/dev/null 2>qemu.err &
    pids="$pids $!"
    wait_for '[ -S socket ]'
    mkfifo monitor
fi

# ---- A recording ----

# start NAME LEADER "OTHER..." [OPTION...]: of what is named, in the background, until all of it is recorded. $pid is the
# recorder, $sources are those that the manifest has to have, sorted. LEADER "-": nothing leads.
start() {
    case=$1
    leader=$2
    beside=$3
    shift 3
    sources=
    for other in $beside; do
        case $other in
        host)
            set -- "$@" --event=host:"${of_host:-sched:sched_process_exec}"
            sources="$sources host"
            ;;
        guests)
            set -- "$@" --guest=a="$work/a" --guest b=unix:b --event=guest:sched:sched_process_exec
            sources="$sources a b"
            ;;
        own) # the guest of the attached QEMU, and others that have no name
            set -- "$@" --guest --guest="$work/a" --event=guest:sched:sched_process_exec
            sources="$sources guest guest2"
            ;;
        percpu)
            : >toy.out
            "$TOY" -buffer "$buffers" -wait -cpus 1 -exits 50 -pages 256 >toy.out 2>toy.err &
            toy=$!
            pids="$pids $toy"
            wait_for '[ -s toy.out ]'
            set -- "$@" --percpu "$buffers"
            sources="$sources percpu"
            ;;
        esac
    done
    ready=true
    case $leader in
    program)
        rm -f go
        set -- "$@" -- "$EMIT" -q -w go "${events:-200}" 1
        sources="$sources program"
        ;;
    attached-program)
        set -- "$@" --attach "$(echo rings/*)"
        sources="$sources program"
        ;;
    qemu)
        # shellcheck disable=SC2086 # words
        set -- "$@" -- $none -qmp stdio
        sources="$sources vmm"
        ready="grep -qs mon_iothread $case/trace.json"
        ;;
    attached-qemu)
        set -- "$@" --attach ./socket
        sources="$sources vmm"
        # The manifest names it before: a recorder that is killed leaves a trace that opens. QEMU may still serve another
        # client then, and a signal ends the recording with an error.
        ready="\"$strata\" ctl $case list runstate_set 2>/dev/null | grep -q ^on"
        ;;
    esac
    # shellcheck disable=SC2086 # words
    sources=$(printf '%s\n' $sources | sort | tr '\n' ' ')
    if [ "$leader" = qemu ]; then
        "$strata" record -o "$case" "$@" <monitor >out 2>err &
        pid=$!
        exec 9>monitor
    else
        "$strata" record -o "$case" "$@" >out 2>err &
        pid=$!
    fi
    pids="$pids $pid"
    for name in $sources; do
        case $name in
        a | b | guest2) ready="$ready && grep -qs '$name: traces' err" ;;
        # Quiet, and in the manifest before they trace: what this loop runs comes from them.
        guest) ready="$ready && has_pages guest-guest" ;;
        host) ready="$ready && has_pages host" ;;
        *) ready="$ready && grep -qs '\"name\": \"$name\"' $case/trace.json" ;;
        esac
    done
    wait_for "{ $ready; } || ! kill -0 $pid 2>/dev/null"
}

# has_pages DIRECTORY: a page of a kernel has come, or what came first was beyond --max-size.
has_pages() {
    [ -n "$(find "$case/$1" -name 'cpu*.raw' -size +0 2>/dev/null)" ] ||
        jq -e --arg path "$1" '.sources[] | select(.path == $path) | .ended' "$case/trace.json" >/dev/null 2>&1
}

# What the manifest has, as $sources.
recorded() {
    jq -r '.sources[].name' "$case/trace.json" | sort | tr '\n' ' '
}

# Waits for its end: $status.
await_end() {
    status=0
    wait $pid || status=$?
    case " $beside " in
    *' percpu '*)
        # It may not have run while it was recorded: it would wait for ever.
        kill -TERM $toy 2>/dev/null || :
        wait $toy || fail "the toy: $(cat toy.err)"
        ;;
    esac
}

# ends STATUS: it does, and all that was recorded is in the trace.
ends() {
    await_end
    has_ended "$1"
}

has_ended() { # STATUS
    [ $status -eq "$1" ] || fail "exit status $status, not $1: $(cat out err)"
    [ "$(recorded)" = "$sources" ] ||
        fail "the sources are not $sources: $(cat "$case/trace.json")"
    [ "$(jq '[.sources[].complete] | all' "$case/trace.json")" = true ] || fail "$(cat "$case/trace.json")"
    check_stated_files "$case" || fail "the stated files: $(cat "$case/trace.json")"
    "$strata" info "$case" >info 2>&1 || fail "info: $(cat info)"
    "$strata" report "$case" >report 2>report.err || fail "report: $(cat report.err)"
    for name in $sources; do
        grep -qw -- "$name" info || fail "info has no '$name': $(cat info)"
        "$strata" report --source="$name" "$case" >one 2>one.err || fail "report --source=$name: $(cat one.err)"
    done
    ! ls -d run/strata-record-* >left 2>/dev/null || fail "left behind: $(cat left)"
}

# stop STATUS: the recording ends as its leader does; without one, or attached to it, by a signal.
stop() {
    case $leader in
    program) : >go ;;
    qemu)
        printf '{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n' >&9
        exec 9>&-
        ;;
    *) kill -TERM $pid ;;
    esac
    ends "$1"
}

# sees SOURCE...: what ran when all were recorded is in each.
sees() {
    for name in "$@"; do
        [ "$("$strata" report --source="$name" -e sched_process_exec "$case" 2>/dev/null | grep -c "filename=.*/$seen ")" -eq 1 ] ||
            fail "$name: $("$strata" report --source="$name" "$case" 2>&1 | head)"
    done
}

# ---- Each two ----

for leader in $leaders; do
    for other in $others; do
        start "$leader-$other" "$leader" "$other"
        stop 0
    done
done
for pair in 'host guests' 'host percpu' 'guests percpu'; do
    case " $others " in
    *" ${pair% *} "*" ${pair#* } "*)
        start "$(echo "$pair" | tr ' ' -)" - "$pair"
        ./$seen
        stop 0
        for name in host a b; do
            case $sources in
            *"$name "*) sees $name ;;
            esac
        done
        ;;
    esac
done

if [ "$kernels" ]; then
    start live - 'host guests' --live
    ./$seen
    wait_for "[ \"\$(grep -c 'filename=.*/$seen ' out)\" -eq 3 ]"
    stop 0
    sees a b host
fi

# ---- All ----

for leader in $leaders; do
    # shellcheck disable=SC2086 # words
    start "all-$leader" "$leader" "$others" --strict --max-size=1G --time=10000
    ./$seen
    stop 0
    [ -z "$kernels" ] || sees a b host
done

# Losses of one source are --strict's, whatever else is recorded; of a program beyond --max-size, there is more to say.
if [ "$kernels" ]; then
    for strict in 0 3; do
        of_host='sched:*'
        # shellcheck disable=SC2046 # nothing, or a word
        start "lost-$strict" attached-program host --max-size=16K $([ $strict -eq 0 ] || echo --strict)
        wait_for "./$seen; jq -e '.sources[] | select(.name == \"host\") | .ended' $case/trace.json >/dev/null"
        stop $strict
        of_host=
        grep -q '^  host  *--max-size is reached: ' err || fail "$(cat err)"
    done
fi
events=30000
start max-size program "$others" --max-size=64K
stop 1
events=
grep -q 'events were lost: --max-size' err || fail "$(cat err)"
[ "$(jq '.sources[] | select(.name == "program") | .lost > 0' $case/trace.json)" = true ] || fail "$(cat $case/trace.json)"

# --time begins when all are recorded, a program when it was started: where that has made no rings within the time, it gets
# more. Started programs end then; those attached to continue.
for leader in $leaders; do
    for seconds in 0.2 2 20 200; do
        start "time-$leader-$seconds" "$leader" "$percpu" --time=$seconds
        await_end
        [ "$leader" = program ] && [ "$(recorded 2>/dev/null)" != "$sources" ] || break
    done
    if [ "$leader" = program ]; then
        has_ended 143
    else
        has_ended 0
    fi
done
[ -z "$qemu" ] || exec 9>&-

# ---- Names of guests ----

# The guest of QEMU, here an agent of this machine at the socket of its port, is one of those that have no name.
if [ "$qemu" ] && [ "$kernels" ]; then
    "$qemu" -M pc -S -nodefaults -display none -m 32 -msg timestamp=on -qmp unix:port-socket,server=on,wait=off \
        -chardev socket,id=agent,path="$work/agent",server=on,wait=off -device virtio-serial-pci \
        -device virtserialport,chardev=agent,name=org.strata.agent >/dev/null 2>qemu.err &
    pids="$pids $!"
    wait_for '[ -S port-socket ] && [ -S agent ]'
    rm -f agent socket
    mv port-socket socket
    "$STRATA_BIN/strata-agent" --listen "unix:$work/agent" >agent-own 2>&1 &
    pids="$pids $!"
    wait_for '[ -S agent ]'
    start own attached-qemu 'own host'
    ./$seen
    stop 0
    sees guest guest2 host
    [ -d own/guest-guest ] && [ -d own/guest-guest2 ] || fail "$(ls own)"
fi

# ---- What cannot be combined ----

# refuses STATUS TEXT OPTION...: nothing is recorded, and TEXT says why.
refuses() {
    want=$1
    text=$2
    shift 2
    status=0
    "$strata" record -o refused "$@" >out 2>err || status=$?
    [ $status -eq "$want" ] || fail "record $*: exit status $status: $(cat err)"
    grep -qF -- "$text" err || fail "record $*: does not say '$text': $(cat err)"
    [ ! -e refused ] && [ ! -e ran ] || fail "record $*: something is left"
}
case=refused
program=$(echo rings/*)
refuses 2 "excludes --attach" --attach -- touch ran
[ -z "$qemu" ] || refuses 2 "the guest of QEMU is called guest; give the other one another name: NAME=/x" \
    --guest --guest=guest=/x -- "$qemu" -machine none
refuses 2 "two guests are called a" --guest=a=/x --guest=a=/y --attach "$program"
refuses 2 "--guest without an endpoint is for QEMU" --guest --attach "$program"
refuses 2 "--event switches no events of a program that runs" -e '*' --attach "$program"
refuses 2 "--event='*' does not say whose events" -e '*' --percpu x --attach "$program"
refuses 2 "--host-threads requires --host" --host-threads -- touch ran
refuses 2 "--guest without an endpoint is for QEMU" --event='guest:sched:*' -- touch ran
refuses 2 "--buffer-size requires --guest, --host, --xen or --percpu" --buffer-size=1M -- touch ran
refuses 2 "--keep-in-memory requires --xen or --percpu" --keep-in-memory=1M --host -- touch ran
refuses 2 "--keep-in-memory is too large" --keep-in-memory=9223372036854775808 --percpu none
refuses 2 "--keep-rings requires --attach" --keep-rings -- touch ran
refuses 2 "--libvirt accepts one domain; record 'b' by a command of its own" --libvirt a --libvirt b
refuses 2 "must be more than 0" --time 0 -- touch ran
refuses 2 "--live prints the events of guests" --live --host --xen
refuses 2 "--live prints the events of guests" --live --host --percpu=x
refuses 2 "--live prints the events of guests" --live --host --attach "$program"
refuses 2 "--live prints the events of guests" --live --host -- touch ran
# A kernel is traced by then, and its files are there.
[ -z "$kernels" ] || refuses 127 'cannot be run' --host -- ./nosuch
[ -z "$kernels" ] || refuses 1 'has ended' --host --attach "$ended"
if ! [ -e /sys/hypervisor/type ]; then
    refuses 1 'this machine does not run on Xen' --xen --guest=a=/x
    refuses 1 'this machine does not run on Xen' --xen --attach "$program"
    refuses 1 'this machine does not run on Xen' --xen -- touch ran
    [ -z "$kernels" ] || refuses 1 'this machine does not run on Xen' --xen --host
fi

[ -z "$skipped" ] || {
    echo "record_matrix: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
