#!/bin/sh
# strata record --libvirt with a real libvirtd of the test's own, which no other process of this machine sees:
#
#     tests/libvirt/run.sh system DIR     as root, in a mount namespace: QEMU is of another user, its log a pipe of virtlogd's
#     tests/libvirt/run.sh session DIR    the daemon of an ordinary user, who is "nobody" if root runs the test
#
# The domains have no disk. Their firmware looks for one, which is enough of a machine to be paused and resumed. Where
# DIR/debs has the packages of a guest (tools/packages fetch guest DIR/debs), one domain of the system's is a Linux.
# Environment: STRATA_BIN, the directory of the built commands; SANITIZED: they have sanitisers.
set -eu

instance=$1
case $2 in
/*) packages=$2/debs ;;
*) packages=$PWD/$2/debs ;;
esac
skip() {
    echo "SKIPPED: $*"
    exit 77
}

# Their wrappers of XDR's functions crash in a libvirt that is opened at run time, as they know no such functions then.
[ -z "${SANITIZED-}" ] || skip "libvirt's library does not run in programs with sanitisers"

PATH=$PATH:/usr/sbin
for program in libvirtd virtlogd virsh qemu-system-x86_64 jq; do
    command -v $program >/dev/null ||
        skip "$program is not installed (Debian: libvirt-daemon, libvirt-clients, qemu-system-x86, jq)"
done
[ -e "$(find /usr/lib/*/libvirt/connection-driver -name 'libvirt_driver_qemu.so' 2>/dev/null | head -n 1)" ] ||
    skip "libvirt has no driver for QEMU (Debian: libvirt-daemon-driver-qemu)"

# Debian 13's libvirt starts no domain there, and gives no reason.
[ -e /sys/devices/system/cpu/online ] || skip "libvirt needs /sys, which is not mounted here"

. "$(dirname "$0")/../lib/mount_namespace.sh"
# libvirt has sockets there, of names that may have 107 bytes.
[ -z "${TMPDIR-}" ] || [ ${#TMPDIR} -le 20 ] || unset TMPDIR
if [ -z "${STRATA_TEST_INSTANCE-}" ]; then
    export STRATA_TEST_INSTANCE="$instance"
    if [ "$instance" = system ]; then
        [ "$(id -u)" -eq 0 ] || skip "only root may start the system's libvirtd"
        has_mount_namespace /run /etc /var || skip "$no_namespace"
        status=0
        in_mount_namespace "$0" "$@" || status=$?
        exit $status
    elif [ "$(id -u)" -eq 0 ]; then
        # That user may not see the directory of the project.
        copy=$(mktemp -d "${TMPDIR:-/tmp}/test.XXXXXX")
        trap 'rm -rf "$copy"' EXIT
        mkdir "$copy/bin" "$copy/tests"
        cp -R "$(dirname "$0")" "$(dirname "$0")/../lib" "$copy/tests/"
        cp "$STRATA_BIN/strata" "$copy/bin/"
        chmod -R go+rX "$copy"
        export STRATA_BIN="$copy/bin"
        "$STRATA_BIN/strata" --version >/dev/null
        cd /
        as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
        for program in virsh libvirtd qemu-system-x86_64 jq "$STRATA_BIN/strata"; do
            $as_nobody "$program" --version >/dev/null 2>&1 || skip "an ordinary user cannot run $program"
        done
        $as_nobody test -w "${copy%/*}" || skip "an ordinary user cannot write to ${copy%/*}"
        $as_nobody "$copy/tests/libvirt/run.sh" "$@"
        exit
    fi
fi

. "$(dirname "$0")/../lib/golden.sh"

daemon= logd= pid= made=
ended() {
    [ -z "$pid" ] || kill -KILL $pid 2>/dev/null || true
    for name in $(virsh list --uuid 2>/dev/null); do
        virsh destroy "$name" >/dev/null 2>&1 || true
    done
    [ -z "$daemon" ] || kill $daemon 2>/dev/null || true
    [ -z "$logd" ] || kill $logd 2>/dev/null || true
    wait
    for dir in $made; do
        umount -l "$dir" && rmdir "$dir"
    done
}
at_exit=ended

# ---- The daemon ----

if [ "$instance" = system ]; then
    mount -t tmpfs none /run
    for dir in /etc/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt; do
        [ -d $dir ] || made="$dir $made"
        mkdir -p $dir
        mount -t tmpfs none $dir
    done
    mkdir -p /run/lock /run/libvirt
    # QEMU's user, which Debian's libvirt-daemon-system makes, and without which the daemon does not start.
    if ! getent passwd libvirt-qemu >/dev/null; then
        cp /etc/passwd /etc/group /run/
        echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >>/run/passwd
        echo 'libvirt-qemu:x:64055:' >>/run/group
        mount --bind /run/passwd /etc/passwd
        mount --bind /run/group /etc/group
    fi
    # libvirtd asks each QEMU again what it can do, for seconds, while it sees a KVM that QEMU's user may not open.
    if [ -e /dev/kvm ]; then
        ! mknod -m 666 /run/kvm c 10 232 || mount --bind /run/kvm /dev/kvm
    fi
    config=/etc/libvirt
    log_of() { echo "/var/log/libvirt/qemu/$1.log"; }
    LIBVIRT_DEFAULT_URI=qemu:///system
    # The pipe of a log is virtlogd's.
    handler=logd
else
    mkdir home
    HOME=$work/home
    export HOME
    unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME
    config=$HOME/.config/libvirt
    log_of() { echo "$HOME/.cache/libvirt/qemu/log/$1.log"; }
    LIBVIRT_DEFAULT_URI=qemu:///session
    handler=file
fi
mkdir -p run "$config"
chmod 700 run
XDG_RUNTIME_DIR=$work/run
# Otherwise virsh starts a session's daemon where it finds none yet.
LIBVIRT_AUTOSTART=0
export XDG_RUNTIME_DIR LIBVIRT_DEFAULT_URI LIBVIRT_AUTOSTART
cat >"$config/qemu.conf" <<END
stdio_handler = "$handler"
cgroup_controllers = [ ]
END
# It makes a mount namespace for each domain, and / private in it.
unshare --mount true 2>/dev/null || echo 'namespaces = [ ]' >>"$config/qemu.conf"
cat >"$config/libvirtd.conf" <<END
auth_unix_ro = "none"
auth_unix_rw = "none"
END

# start_daemon [skip]
start_daemon() {
    if [ $handler = logd ] && [ -z "$logd" ]; then
        virtlogd >logd.out 2>&1 &
        logd=$!
    fi
    libvirtd -f "$config/libvirtd.conf" >>daemon.out 2>&1 &
    daemon=$!
    wait_for 'virsh list >/dev/null 2>&1 || ! kill -0 $daemon 2>/dev/null'
    kill -0 $daemon 2>/dev/null ||
        "${1:-fail}" "libvirtd does not run here: $(sed -n 's/.*: error : //p' daemon.out | tail -n 3 | tr '\n' ';')"
}
stop_daemon() {
    kill $daemon
    wait $daemon || true
    daemon=
}

# ---- A domain ----

# domain NAME [DEVICES [SYSTEM]]
domain() {
    memory=64
    [ -z "${3-}" ] || memory=256
    cat >"$1.xml" <<END
<domain type='qemu'><name>$1</name><memory unit='MiB'>$memory</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type>${3-}</os><seclabel type='none'/>
<devices><emulator>$(command -v qemu-system-x86_64)</emulator><memballoon model='none'/>${2-}</devices></domain>
END
    virsh create "$1.xml" >/dev/null 2>errors || fail "virsh create: $(cat errors)"
    qemu=$(virsh_pid "$1")
}
# The process that libvirt has for it. The name of its file may be shortened.
virsh_pid() {
    pgrep -o -f -- "-uuid $(virsh domuuid "$1")"
}
hmp() {
    virsh qemu-monitor-command "$1" --hmp "$2" >hmp.out 2>&1 || fail "$2: $(cat hmp.out)"
}
# The events that are on, as QEMU says.
states() {
    virsh qemu-monitor-command "$1" '{"execute": "trace-event-get-state", "arguments": {"name": "*"}}' |
        jq -r '.return[] | select(.state == "enabled") | .name' | sort
}
# pause NAME N: two events runstate_set, N times.
pause() {
    for i in $(seq "$2"); do
        virsh suspend "$1" >/dev/null 2>errors && virsh resume "$1" >/dev/null 2>errors || fail "pause: $(cat errors)"
    done
}
files_of() {
    dir=$(tr '\0' '\n' </proc/$qemu/cmdline | sed -n 's/.*"id":"masterKey0".*"file":"\([^"]*\)\/[^"/]*".*/\1/p')
    ls "$dir"
}
# Whether what goes into QEMU's log arrives in the domain's log file of libvirt, from now on.
logs() {
    lines=$(grep -c runstate_set "$(log_of "$1")" || true)
    hmp "$1" 'trace-event runstate_set on'
    pause "$1" 1
    hmp "$1" 'trace-event runstate_set off'
    wait_for "[ \"\$(grep -c runstate_set \"\$(log_of $1)\")\" -eq $((lines + 2)) ]"
}

# ---- A recording ----

# begin NAME OPTION…: until what is asked for is on.
begin() {
    name=$1
    shift
    rm -rf trace
    env --default-signal=INT "$strata" record -o trace -e runstate_set "$@" >out 2>told &
    pid=$!
    wait_for "states $name 2>/dev/null | grep -q '^runstate_set\$' || ! kill -0 \$pid 2>/dev/null"
    kill -0 $pid 2>/dev/null || fail "$(cat told)"
}
# end SIGNAL
# [SIGNAL] [STATUS]: 1, where nothing was recorded of the guest.
end() {
    [ -z "$1" ] || kill "-$1" $pid || fail "has ended: $(cat told)"
    status=0
    wait $pid || status=$?
    [ $status -eq "${2:-0}" ] || fail "exit status $status: $(cat told)"
    pid=
    [ -z "$(find run -name 'strata-*')" ] || fail "left: $(find run -name 'strata-*')"
    grep -q '"complete": true' trace/trace.json || fail "$(cat trace/trace.json)"
}
recorded() {
    "$strata" report -e runstate_set trace >shown 2>told.shown || fail "$(cat told.shown)"
    [ "$(wc -l <shown)" -eq "$1" ] || fail "$(wc -l <shown) events, not $1: $(cat shown told)"
    ! grep -q 'not recorded\|cannot' told || fail "$(cat told)"
}
# says STATUS TEXT ARGUMENT…
says() {
    status=0
    expected=$1 text=$2
    shift 2
    "$strata" record "$@" >out 2>told || status=$?
    [ $status -eq "$expected" ] && grep -qF -- "$text" told || fail "exit status $status: $(cat told)"
    [ $status -eq 2 ] || [ "$(wc -l <told)" -eq 1 ] || fail "more than a line: $(cat told)"
}

start_daemon skip
"$strata" list >listed 2>&1 || fail "$(cat listed)"

case=record
# Both instances are tested at the same time, and strata knows all QEMUs of the machine by their names.
web=web-$instance
domain $web
"$strata" list | grep -q "^ *$qemu .* $web  *libvirt domain; strata record --libvirt $web$" || fail "$("$strata" list)"
states $web >before
stat -L -c '%u %a' /proc/$qemu/fd/2 >stderr.before
files_of >files.before
begin $web --libvirt $web
# One recorder at a time.
says 1 "process $qemu is being recorded already" -o other --libvirt $web
[ ! -e other ] || fail "a directory is left"
pause $web 3
end TERM
recorded 6
# QEMU's monitor has said so to libvirt, with its time.
grep -q 'the virtual machine stood still 3 times, for [0-9.]* seconds in all' told || fail "$(cat told)"
states $web | diff before - >&2 || fail "its events"
files_of | diff files.before - >&2 || fail "files are left"
stat -L -c '%u %a' /proc/$qemu/fd/2 | diff stderr.before - >&2 || fail "its standard error"
logs $web
"$strata" info trace | grep -q "^  vcpus  *0 by thread " || fail "$("$strata" info trace)"

# Its last minute, and a snapshot of that.
case=flight
begin $web --libvirt $web --flight=60s
pause $web 2
saved=$("$strata" ctl trace snapshot now) || fail "no snapshot"
"$strata" report -e runstate_set "$saved" >shown 2>told.shown || fail "$(cat told.shown)"
[ "$(wc -l <shown)" -eq 4 ] && [ ! -s told.shown ] || fail "$saved: $(cat shown told.shown)"
pause $web 1
end TERM
recorded 6
states $web | diff before - >&2 || fail "its events"

# What QEMU's monitor reports to libvirt saves snapshots, and so does the end of the domain.
case=triggers
domain ended-$instance
begin ended-$instance --libvirt ended-$instance --flight=60s --on qmp:STOP --on exit --after 0
pause ended-$instance 1
wait_for 'grep -q "saved .*-qmp-STOP" told'
virsh destroy ended-$instance >/dev/null
end ''
for snapshot in trace/snapshots/*-qmp-STOP trace/snapshots/*-exit; do
    "$strata" report -e runstate_set "$snapshot" >shown 2>told.shown || fail "$(cat told.shown)"
    [ -s shown ] || fail "$snapshot has no event"
done
jq -e '.snapshot.what == "destroyed"' trace/snapshots/*-exit/trace.json >/dev/null ||
    fail "$(cat trace/snapshots/*-exit/trace.json)"
qemu=$(virsh_pid $web)

# The firmware may reset it once more.
case=reset
begin $web --libvirt $web
virsh reset $web >/dev/null
pause $web 1
end TERM
grep -q 'the virtual machine was reset [1-9]' told || fail "$(cat told)"

# By its number, its UUID, its process; Ctrl-C ends it in the same way.
case=names
begin $web --libvirt "$(virsh domid $web)"
pause $web 1
end INT
recorded 2
begin $web --libvirt "$(virsh domuuid $web)" --libvirt-uri "$LIBVIRT_DEFAULT_URI"
pause $web 1
end TERM
recorded 2
begin $web --attach "$qemu"
pause $web 2
end TERM
recorded 4
states $web | diff before - >&2 || fail "its events"
logs $web

# A name that means something to shells, printf, globs and URIs, and has a letter that is not ASCII.
case=hostile
hostile="it's \$(touch pwned); touch pwned #?*%s%n\"-$instance é"
domain "$hostile"
"$strata" list >listed || fail "list"
word=$(sed -n "s/^ *$qemu .*; strata record --libvirt \(.*\)/\1/p" listed)
[ "$(eval "printf '%s' $word")" = "$hostile" ] || fail "$word: $(cat listed)"
rm -rf trace
env --default-signal=INT "$strata" record -o trace -e runstate_set --libvirt "$hostile" >out 2>told &
pid=$!
wait_for 'states "$hostile" 2>/dev/null | grep -q "^runstate_set\$" || ! kill -0 $pid 2>/dev/null'
kill -0 $pid 2>/dev/null || fail "$(cat told)"
pause "$hostile" 1
end TERM
recorded 2
"$strata" info trace >shown 2>&1 || fail "$(cat shown)"
"$strata" ctl "$hostile" list runstate_set >now 2>told || fail "$(cat told)"
[ ! -e pwned ] || fail "a name was run"
virsh destroy "$hostile" >/dev/null

# One that QEMU takes for a template of the name of a log, and one with a line feed: the command that is listed has them.
for hostile in "%s%d-$instance" "$(printf 'a\nb-%s' "$instance")"; do
    domain "$hostile"
    "$strata" list >listed || fail "list"
    word=$(sed -n "s/^ *$qemu .*; strata record --libvirt \(.*\)/\1/p" listed)
    [ "$(bash -c "printf '%s' $word")" = "$hostile" ] || fail "$word: $(cat listed)"
    rm -rf trace
    env --default-signal=INT "$strata" record -o trace -e runstate_set --libvirt "$hostile" >out 2>told &
    pid=$!
    wait_for 'states "$hostile" 2>/dev/null | grep -q "^runstate_set\$" || ! kill -0 $pid 2>/dev/null'
    kill -0 $pid 2>/dev/null || fail "$(cat told)"
    pause "$hostile" 1
    end TERM
    recorded 2
    virsh destroy "$hostile" >/dev/null
done

qemu=$(virsh_pid $web)

# A recorder that is killed leaves events on and the FIFO; the next one begins all the same.
case=killed
begin $web --libvirt $web
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
"$strata" ctl $web list runstate_set >now 2>told || fail "$(cat told)"
grep -q '^on *runstate_set$' now || fail "$(cat now)"
"$strata" ctl $web restore >out 2>told || fail "$(cat told)"
states $web | diff before - >&2 || fail "its events"
files_of | diff files.before - >&2 || fail "files are left"
logs $web
begin $web --libvirt $web
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
hmp $web 'trace-event runstate_set off'
begin $web --libvirt $web
"$strata" ctl trace on virtio_notify 2>told || fail "$(cat told)"
states $web | grep -q '^virtio_notify$' || fail "$(states $web)"
pause $web 1
end TERM
recorded 2
logs $web

# The daemon is another one at the end.
case=restarted
begin $web --libvirt $web
pause $web 1
stop_daemon
start_daemon
pause $web 1
end TERM
recorded 4
states $web | diff before - >&2 || fail "its events"
logs $web

# There is none at the end: what cannot be restored is reported, and restored later.
case=absent
begin $web --libvirt $web
pause $web 1
stop_daemon
kill -TERM $pid
status=0
wait $pid || status=$?
pid=
[ $status -eq 1 ] || fail "status $status: $(cat told)"
[ "$(grep -c "cannot restore QEMU's settings: .*; restore them: strata ctl $qemu restore" told)" -eq 1 ] || fail "$(cat told)"
start_daemon
states $web | grep -q . || fail "no event is on"
"$strata" ctl "$qemu" restore >out 2>told || fail "$(cat told)"
! grep -q 'no killed recorder' told || fail "$(cat told)"
states $web | diff before - >&2 || fail "its events"
files_of | diff files.before - >&2 || fail "files are left"
logs $web

# It ends with the domain, and says why.
case=ends
begin $web --libvirt $web
virsh destroy $web >/dev/null
end ''
grep -qF "strata: libvirt domain '$web' has ended: destroyed" told || fail "$(cat told)"
grep -q '"exit": "destroyed"' trace/trace.json || fail "$(cat trace/trace.json)"
domain $web
begin $web --libvirt $web
virsh save $web "$work/saved" >/dev/null 2>errors || fail "virsh save: $(cat errors)"
end ''
grep -qF "strata: libvirt domain '$web' has ended: saved to a file" told || fail "$(cat told)"
domain $web
begin $web --libvirt $web
kill -KILL "$qemu"
end ''
grep -qF "strata: libvirt domain '$web' has ended: " told || fail "$(cat told)"
# libvirt may see it later than the recorder.
wait_for 'virsh list --name >names && ! grep -qxF "$web" names'

# The domain's log file is libvirtd's own.
case='log file'
stop_daemon
sed -i 's/"logd"/"file"/' "$config/qemu.conf"
start_daemon
domain $web
stat -L -c '%u %a' /proc/$qemu/fd/2 >stderr.before
begin $web --libvirt $web
pause $web 1
end TERM
recorded 2
stat -L -c '%u %a' /proc/$qemu/fd/2 | diff stderr.before - >&2 || fail "its standard error"
logs $web
virsh destroy $web >/dev/null

# A channel for the agent: that of the domain; one that is added, where there is a controller; or none.
case=channel
channel="<channel type='unix'><source mode='bind'/><target type='virtio' name='org.strata.agent'/></channel>"
domain agent "$channel"
begin agent --guest --libvirt agent
end TERM 1
grep -q 'nothing of the guest: no agent' told || fail "$(cat told)"
virsh destroy agent >/dev/null
domain agent "<controller type='virtio-serial'/>"
begin agent --guest --libvirt agent
virsh dumpxml agent | grep -q "name='org.strata.agent'" || fail "no channel: $(virsh dumpxml agent)"
end TERM 1
grep -q 'nothing of the guest: no agent' told || fail "$(cat told)"
virsh dumpxml agent >xml
# The firmware has no driver that could refuse.
! grep -q 'org.strata.agent' xml || grep -q 'does not release' told || fail "a channel is left: $(cat told xml)"
virsh destroy agent >/dev/null
# That of a recorder that is killed, too.
domain agent "<controller type='virtio-serial'/>"
begin agent --guest --libvirt agent
virsh dumpxml agent | grep -q "name='org.strata.agent'" || fail "no channel: $(virsh dumpxml agent)"
kill -KILL $pid
wait $pid 2>/dev/null || true
pid=
"$strata" ctl "$qemu" restore >out 2>told || grep -q 'does not release' told || fail "$(cat told)"
virsh dumpxml agent >xml
! grep -q 'org.strata.agent' xml || grep -q 'does not release' told || fail "a channel is left: $(cat told xml)"
virsh destroy agent >/dev/null

# With a Linux whose agent waits: its kernel, too, by a channel that comes and goes.
case=guest
if [ "$instance" != system ]; then
    :
elif ! [ -e "$packages/complete" ] || ! command -v cpio >/dev/null; then
    echo "SKIPPED in part: a guest: there is no cpio, or no $packages: tools/packages fetch guest $packages"
else
    "$tree/tools/guest-image" "$packages" "$work/image" "$here/init" "$STRATA_BIN/strata-agent" >image.out 2>&1 ||
        fail "$(cat image.out)"
    mkdir /run/guest
    cp image/kernel image/initramfs /run/guest/
    console=/run/guest/console
    domain linux "<controller type='virtio-serial'/><serial type='file'><source path='$console'/></serial>" \
        "<kernel>/run/guest/kernel</kernel><initrd>/run/guest/initramfs</initrd>
        <cmdline>console=ttyS0 panic=-1</cmdline>"
    wait_for 'grep -qs "Linux version" $console'
    wait_for 'grep -q "guest: ready" $console'
    begin linux --event=guest:sched:sched_switch --libvirt linux
    wait_for 'find trace/guest-guest -name "*.raw" -size +0 2>/dev/null | grep -q . || ! kill -0 $pid'
    pause linux 1
    end TERM
    recorded 2
    "$strata" report --layer guest trace >shown 2>told.shown || fail "$(cat told.shown)"
    grep -q sched_switch shown || fail "nothing of the guest: $(cat told)"
    wait_for 'virsh dumpxml linux >xml && ! grep -q org.strata.agent xml'
    virsh destroy linux >/dev/null
fi

case=refused
says 1 "unknown domain 'wbe'; no domain runs" -o none --libvirt wbe
domain webserver
says 1 "unknown domain 'webservr'; did you mean 'webserver'?" -o none --libvirt webservr
says 1 "unknown domain 'x'; the running domains are: webserver" -o none --libvirt x
virsh destroy webserver >/dev/null
virsh define webserver.xml >/dev/null
says 1 "libvirt domain 'webserver': it does not run; start it with: virsh -c $LIBVIRT_DEFAULT_URI start webserver" \
    -o none --libvirt webserver
says 1 "libvirt serves TEST there, not QEMU" -o none --libvirt test --libvirt-uri test:///default
says 2 "--libvirt excludes --attach" -o none --libvirt webserver --attach 1
says 2 "a command after '--' excludes --libvirt" -o none --libvirt webserver -- true
says 2 "--libvirt-uri requires --libvirt or --attach" -o none --libvirt-uri qemu:///system --host
virsh undefine webserver >/dev/null

# The daemon refuses a user.
if [ "$instance" = system ]; then
    case='no permission'
    mkdir /run/bin
    cp "$strata" /run/bin/
    chmod 700 /run/libvirt/libvirt-sock
    status=0
    (cd /run/bin && setpriv --reuid=65534 --regid=65534 --clear-groups ./strata record --libvirt $web) >out 2>told || status=$?
    [ $status -eq 1 ] && [ "$(wc -l <told)" -eq 1 ] &&
        grep -qF 'libvirt refuses this user; run it as root, or as a user of the group libvirt' told ||
        fail "exit status $status: $(cat told)"
fi

# Without the daemon, its domain is known by its process.
case='no daemon'
domain $web
stop_daemon
says 1 "cannot connect to libvirt; start its daemon (libvirtd or virtqemud)" -o none --libvirt $web
says 1 "process $qemu is the QEMU of libvirt domain '$web', and its monitor is reached through libvirt only" \
    -o none --attach "$qemu"
if [ "$instance" = system ]; then
    library=$(find /usr/lib -name libvirt.so.0 | head -n 1)
    mount --bind /dev/null "$library"
    says 1 "libvirt.so.0 cannot be loaded; install libvirt's client library" -o none --libvirt $web
    umount "$library"
fi
[ ! -e none ] || fail "a directory is left"
start_daemon
