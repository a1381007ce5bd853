#!/bin/sh
# What a service of strata record needs: its unit, what the service manager and the journal are told, and what strata list
# shows. $UNIT: the unit as it is installed.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/mount_namespace.sh"

XDG_RUNTIME_DIR=$work/run
export XDG_RUNTIME_DIR
mkdir -m 700 run
# Other users record below it.
chmod 711 "$work"
pids=
at_exit='[ -z "$pids" ] || kill -KILL $pids 2>/dev/null || :'
skipped=

# ---- The unit ----

case=unit
if command -v systemd-analyze >/dev/null && systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
    # It runs what was built; manual pages need not be installed.
    sed -e "s|^ExecStart=[^ ]*|ExecStart=$strata|" -e '/^Documentation=/d' "$UNIT" >strata-record@.service
    systemd-analyze verify ./strata-record@.service >out 2>&1 || fail "$(cat out)"
    ! grep -q 'strata-record@' out || fail "$(cat out)"
    systemd-analyze security --offline=yes --threshold=35 ./strata-record@.service >out 2>&1 ||
        fail "$(tail -n 1 out)"
    # The test can fail.
    sed 's/^NoNewPrivileges/NoNewPrivilege/' strata-record@.service >wrong@.service
    systemd-analyze verify ./wrong@.service >out 2>&1 || :
    grep -q 'NoNewPrivilege' out || fail "an unknown line is not found: $(cat out)"
else
    skipped="$skipped; systemd-analyze is not installed"
fi
# It may make the calls by which it confines what parses a guest's data.
for call in create_ruleset add_rule restrict_self; do
    grep -q "^SystemCallFilter=.* landlock_$call\\b" "$UNIT" || fail "landlock_$call is filtered"
done
# Its command line is one that strata understands.
sed -n 's/^ExecStart=[^ ]* //p' "$UNIT" | sed "s|/etc/strata/%i.conf|$work/service.conf|" >words
echo "output = trace
flight = 60s,10M
command = $EMIT -q -w go 1000 1" >service.conf
# shellcheck disable=SC2046 # words
"$strata" $(cat words) --print-command >out 2>err || fail "$(cat err)"
grep -q -- '--restart' out || fail "$(cat out)"

# ---- The service manager, and the journal ----

case=notify
cat >manager.py <<'END'
import os, socket, subprocess, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1].replace("@", "\0")
receiver.bind(name)
receiver.settimeout(60)
log = open("journal", "wb")
stat = os.fstat(log.fileno())
env = dict(os.environ, NOTIFY_SOCKET=sys.argv[1], JOURNAL_STREAM=f"{stat.st_dev}:{stat.st_ino}")
process = subprocess.Popen(sys.argv[2:], env=env, stderr=log)
print(receiver.recv(4096).decode(), flush=True)
sys.exit(process.wait())
END
for socket in "$work/notify" "@strata-test-$$"; do
    rm -rf go trace told
    # shellcheck disable=SC2046 # words
    python3 manager.py "$socket" "$strata" $(cat words) >told 2>err &
    pid=$!
    wait_for '[ -s told ] || ! kill -0 $pid 2>/dev/null'
    [ "$(cat told)" = "READY=1
STATUS=Recording into $work/trace" ] || fail "told: $(cat told err)"
    wait_for '[ -e trace/trace.json ]' # when the program has an event
    "$strata" ctl trace snapshot ready >out 2>err2 || fail "snapshot: $(cat out err2)"
    "$strata" list >listed
    grep -qE "  $work/trace +program \(process [0-9]+\)|  $work/trace  .*; keeps 1m,10M; 1 snapshot$" listed ||
        fail "listed: $(cat listed)"
    "$strata" list -f json | jq -se "any(.[]; .directory == \"$work/trace\" and .keeps == \"1m,10M\" and
        .snapshots == 1 and .user == $(id -u))" >/dev/null || fail "$("$strata" list -f json)"
    : >go
    wait $pid || fail "exit status $?: $(cat journal err)"
done
case=journal
# What stands on standard error has its priority, where that is the journal.
cat >fails.conf <<END
output = $work/file
flight = 60s
command = /nonexistent/program
END
echo >file
python3 - "$strata" <<'END' || fail "$(cat journal)"
import os, re, subprocess, sys
def run(*words, lies=0):
    with open("journal", "wb") as log:
        stat = os.fstat(log.fileno())
        env = dict(os.environ, JOURNAL_STREAM=f"{stat.st_dev}:{stat.st_ino + lies}")
        subprocess.run([sys.argv[1], *words], stderr=log, env=env)
    return open("journal").read()
assert re.fullmatch(r"<3>strata: .*/file.*\n", run("record", "--config=fails.conf"))
assert re.fullmatch(r"<3>strata record: unknown option .*\n<6>Try .*\n", run("record", "--nonsense"))
assert re.search(r"^<4>strata: the trace that was there is kept", run("record", "--config=service.conf", "--restart"), re.M)
assert re.fullmatch(r"strata: .*/file.*\n", run("record", "--config=fails.conf", lies=1))
END

# ---- What root sees of others ----

case=others
qemu=$(command -v qemu-system-x86_64) || :
if [ -z "$qemu" ]; then
    skipped="$skipped; qemu-system-x86_64 is not installed"
elif [ "$(id -u)" -ne 0 ]; then
    skipped="$skipped; only root can start what another user records"
elif [ -e /run/strata ]; then
    skipped="$skipped; what another user records: a service uses /run/strata"
elif ! has_mount_namespace /run; then
    skipped="$skipped; what another user records: $no_namespace"
elif ! setpriv --reuid=65534 --regid=65534 --clear-groups "$strata" --version >/dev/null 2>told; then
    skipped="$skipped; what another user records: $(tail -n 1 told)"
else
    # In a mount namespace of its own: /run/strata is the service's.
    cat >others.sh <<'END'
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 755 /run/strata
mkdir -m 700 output
chown 65534:65534 /run/strata output
mkfifo monitor
XDG_RUNTIME_DIR=/run/strata setpriv --reuid=65534 --regid=65534 --clear-groups "$STRATA_BIN/strata" record \
    -o output/trace --flight=60s -- "$qemu" -machine none -nodefaults -display none -qmp stdio <monitor >out 2>err &
pid=$!
exec 9>monitor
. "$here/../lib/wait_for.sh"
wait_for '{ [ -e output/trace/trace.json ] && [ -S output/trace/control.sock ]; } || ! kill -0 $pid 2>/dev/null'
"$STRATA_BIN/strata" list >listed
"$STRATA_BIN/strata" ctl output/trace snapshot by-root >snapshot || :
XDG_RUNTIME_DIR=$work/run setpriv --reuid=65533 --regid=65533 --clear-groups "$STRATA_BIN/strata" list >listed-by-others || :
kill $pid
wait $pid || :
END
    export here work qemu
    in_mount_namespace sh -eu others.sh || fail "$(cat err out)"
    grep -q "  $work/output/trace  .*; user " listed || fail "$(cat listed)"
    [ "$(cat snapshot)" = "$work/output/trace/snapshots/by-root" ] || fail "$(cat snapshot)"
    ! grep -q output/trace listed-by-others || fail "$(cat listed-by-others)"
fi

# ---- With the capabilities that the unit gives, an ordinary user records this machine's kernel, and another user's QEMU ----

case=capabilities
caps=$(sed -n 's/^AmbientCapabilities=//p' "$UNIT" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
# as_service WORD...: as the service's user would be.
as_service() {
    setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps="-all,$caps" \
        --ambient-caps="-all,$caps" --bounding-set="-all,$caps" "$@"
}
if [ "$(id -u)" -ne 0 ]; then
    skipped="$skipped; only root may give capabilities"
elif ! can_trace_kernel; then
    skipped="$skipped; capabilities: $no_kernel"
elif ! as_service "$strata" --version >/dev/null 2>told; then
    skipped="$skipped; capabilities: $(tail -n 1 told)"
else
    as_service "$strata" record --event=host:sched:sched_switch -o host -t 0.1 >out 2>err || fail "$(cat out err)"
    "$strata" report --limit 1 host | grep -q sched_switch || fail "nothing of the kernel: $(cat out err)"
    if [ "$qemu" ]; then
        mkdir -m 700 private
        chown 65533:65533 private
        setpriv --reuid=65533 --regid=65533 --clear-groups "$qemu" -machine none -nodefaults -display none \
            -qmp "unix:$work/private/qmp,server=on,wait=off" >out 2>&1 &
        vm=$!
        pids="$pids $vm"
        wait_for '[ -S private/qmp ] || ! kill -0 $vm 2>/dev/null'
        # of_theirs: what the recorder gave that user, in a directory from which only its owner removes
        # Those of other tests come and go meanwhile, which find fails at.
        of_theirs() { find /tmp -maxdepth 1 -name 'strata-record-*' -user 65533 2>/dev/null || true; }
        before=$(of_theirs)
        as_service "$strata" record --attach $vm -o attached -t 0.1 -e 'visit_*' >out 2>err || fail "$(cat out err)"
        "$strata" report --limit 1 attached | grep -q visit_ || fail "nothing of QEMU: $(cat out err)"
        [ "$(of_theirs)" = "$before" ] || fail "left in /tmp: $(of_theirs)"
        kill $vm
        wait $vm || :
    fi
fi

[ -z "$skipped" ] || {
    echo "service: SKIPPED in part: ${skipped#; }" >&2
    exit 77
}
