#!/bin/sh
# strata record -- QEMU with the options that people start it with: each machine is recorded, QEMU has its options
# unchanged, and nothing is left behind; what cannot be recorded is refused before QEMU starts.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/record_qemu.sh"

recorder= guest=
ended() {
    [ -z "$recorder" ] || kill $recorder 2>/dev/null || true
}
at_exit=ended

# records OPTION...: a machine with these is recorded until QEMU is ready, and ended.
records() {
    case="$*"
    rm -rf trace
    # shellcheck disable=SC2086 # nothing, or an option
    "$strata" record -o trace -e $answers -e runstate_set $guest -- "$qemu" "$@" -display none -m 32 \
        </dev/null >out 2>err &
    recorder=$!
    wait_ready trace
    pid=$(jq '.sources[0].vmm.pid' trace/trace.json) || fail "no QEMU"
    tr '\0' '\n' <"/proc/$pid/cmdline" >has
    printf '%s\n' "$qemu" "$@" -display none -m 32 >given
    head -n "$(wc -l <given)" has | cmp - given || fail "its options are others: $(cat has)"
    kill -TERM $recorder
    # No agent answers.
    status=0
    wait $recorder || status=$?
    [ $status -eq $((${#guest} > 0)) ] || fail "exit status $status"
    recorder=
    [ ! -e "/proc/$pid" ] && [ -z "$(ls run)" ] || fail "left behind: $pid $(ls -R run)"
    "$strata" report -e $answers --limit 1 --format json trace >json
    grep -q '"layer":"vmm"' json || fail "no event decodes: $(cat json)"
    says "0 lost"
}

printf '[name]\n  guest = "read"\n' >user.cfg
truncate -s 1M disk
for machine in pc q35 microvm none; do
    records -M $machine -nodefaults
done
while read -r options; do
    # shellcheck disable=SC2086 # words
    records -nodefaults $options
done <<'END'
-accel tcg
-accel thread=multi,accel=tcg
--machine type=pc,accel=tcg --smp 4
-sandbox on
-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny
-pidfile pid
-incoming defer
-S
-readconfig user.cfg
-no-user-config
-qmp unix:own.sock,server=on,wait=off
-chardev socket,id=c,path=own2.sock,server=on,wait=off -mon chardev=c,mode=control
-device {"driver":"virtio-rng-pci","id":"r"} -netdev {"type":"user","id":"n"}
-object {"qom-type":"iothread","id":"i"}
-name guest=a,,b,process=p
-trace enable=vm_state_notify
--trace vm_state_notify
-msg guest-name=on
-no-shutdown -no-reboot
-snapshot -drive file=disk,format=raw
END

# As root, QEMU changes its user and its root directory once it has opened what it was given.
if [ "$(id -u)" -eq 0 ]; then
    mkdir empty
    # QEMU 10 has -run-with alone.
    if "$qemu" -help | grep -q -e '^-runas '; then
        records -nodefaults -runas nobody
        records -nodefaults -sandbox on -runas nobody -chroot empty
    else
        records -nodefaults -run-with user=nobody
        records -nodefaults -sandbox on -run-with user=nobody,chroot=empty
    fi
else
    echo "record_command_lines: SKIPPED in part: another user and root directory: requires root" >&2
fi

# The machine that a file of the user's chooses is known, too.
printf '[machine]\n  type = "microvm"\n  accel = "tcg"\n' >microvm.cfg
guest=--guest
records -nodefaults -readconfig microvm.cfg
printf '[machine]\n  type = "none"\n' >none.cfg
case='a machine without a bus'
record 1 -o refused --guest -- "$qemu" -nodefaults -readconfig none.cfg
says 'this machine type has no bus for the virtio-serial device that --guest requires'
[ ! -e refused ] || fail "a trace is there"

for option in -daemonize --daemonize; do
    case=$option
    record 1 -o refused -- "$qemu" -nodefaults $option
    says "cannot record QEMU with -daemonize"
    [ ! -e refused ] || fail "a trace is there"
done
