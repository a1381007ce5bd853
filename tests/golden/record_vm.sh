#!/bin/sh
# strata record -- QEMU, with a real one that has no guest but its firmware, or no machine at all: what it traces
# is recorded, it behaves as without, and whatever happens, the trace opens and nothing is left behind.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/record_qemu.sh"
. "$here/../lib/mount_namespace.sh"
# strata info reads the trace FOLDER and prints PATTERN.
tells() {
    "$strata" info "$1" >info 2>&1 || fail "info: $(cat info)"
    grep -qF -- "$2" info || fail "info does not tell '$2': $(cat info)"
}
# Only the named files are left: no runtime directory, no QEMU with this working directory.
nothing_left() {
    [ -z "$(ls run)" ] || fail "left behind: $(ls -R run)"
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/cwd" 2>/dev/null)" != "$work" ] || case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in
        *qemu-system*) fail "it still runs: $(tr '\0' ' ' <"$p/cmdline")" ;;
        esac
    done
}
# seen FOLDER PATTERN [OPTION...] -- COMMAND: records until QEMU is ready, the log has PATTERN and what is $known is, and
# ends it.
known='"threads"'
seen() {
    into=$1 pattern=$2
    shift 2
    "$strata" record -o "$into" -e $answers "$@" >out 2>err &
    recorder=$!
    wait_ready "$into"
    wait_for "grep -qs -- '$pattern' $into/vmm/trace.log && grep -qs '$known' $into/trace.json"
    kill -TERM $recorder
    status=0
    wait $recorder || status=$?
    [ $status -eq $expected ] || fail "exit status $status"
}
expected=0
quit='{"execute":"qmp_capabilities"}
{"execute":"quit"}'
none="$qemu -machine none -nodefaults -display none"

case=events
known='"vcpu": 1'
seen events pic_set_irq -e 'pic_set_irq,runstate_set' -e 'pci_*' -- "$qemu" -M pc -nodefaults -display none -m 32 \
    -smp 2 -name 'a machine' -uuid 2b01f7c5-1f2d-4d8a-9e4f-0a4c7f9f2b11
known='"threads"'
nothing_left
grep -q '^[0-9]*@[0-9.]*:pic_set_irq ' events/vmm/trace.log || fail "no event: $(head events/vmm/trace.log)"
"$strata" report -e runstate_set --limit 1 --format json events >json
grep -q '"layer":"vmm".*"event":"runstate_set","fields":{.*"new_state":9' json || fail "report: $(cat json)"
[ "$(wc -l <events/vmm/clock-pairs)" -ge 2 ] || fail "$(cat events/vmm/clock-pairs)"
jq -e '.sources[0] | .kind == "qemu-log" and .complete and .lost == 0 and .clock.pairs == "vmm/clock-pairs"
    and .vmm.version and .vmm.exit and .vmm.accelerator == "tcg" and (.vmm.qmp | not)
    and ([.vmm.threads[] | select(.vcpu != null) | .vcpu] | sort) == [0, 1]
    and (.vmm.command | index("a machine"))
    and .vmm.name == "a machine" and .vmm.uuid == "2b01f7c5-1f2d-4d8a-9e4f-0a4c7f9f2b11" and .vmm.pid > 0' \
    events/trace.json >/dev/null || fail "$(cat events/trace.json)"
"$strata" info events >info
grep -qx '  virtual machine        a machine' info || fail "$(cat info)"
grep -qx '  uuid                   2b01f7c5-1f2d-4d8a-9e4f-0a4c7f9f2b11' info || fail "$(cat info)"
"$strata" stat --by vm events >by_vm
grep -q '^a machine ' by_vm || fail "$(cat by_vm)"
says "lines of events, 0 lost"

# The firmware reads from the disk: what strata io needs of QEMU is recorded, beside what -e names, and nothing else.
case=for
truncate -s 1M for.disk
seen for virtio_blk_rw_complete --for io -- "$qemu" -M pc -nodefaults -display none -m 32 \
    -drive file=for.disk,format=raw,if=virtio
nothing_left
sed -n 's/^[0-9]*@[0-9.]*:\([a-z0-9_]*\).*/\1/p' for/vmm/trace.log | sort -u >names
grep -qx virtio_queue_notify names && grep -qx virtio_blk_handle_read names && grep -qx blk_co_preadv names ||
    fail "missing: $(cat names)"
! grep -vE '^(virtio_(queue_)?notify(_irqfd(_deferred_fn)?)?|virtio_blk_.*|blk_co_p.*|thread_pool_.*|luring_.*)$' names |
    grep -vqx "$answers" || fail "others: $(cat names)"

# QEMU has no vCPU until its user has it make the machine.
case=preconfig
known='"vcpu": 1'
{
    echo '{"execute":"qmp_capabilities"}'
    wait_for "grep -qs mon_iothread preconfig/trace.json"
    echo '{"execute":"x-exit-preconfig"}'
    wait_for "grep -qs '\"vcpu\": 1' preconfig/trace.json"
    echo '{"execute":"quit"}'
} | record 0 -o preconfig -e runstate_set -- "$qemu" --preconfig -M pc -nodefaults -display none -m 32 -smp 2 -qmp stdio
nothing_left
known='"threads"'

# What its user said stays: the monitor on the terminal that there is by default, its log file, -msg, -d.
case=behaves
{
    printf '\001c'
    wait_for "grep -qs 'QEMU.*monitor' out"
    printf 'quit\n'
} | timeout 240 "$strata" record -o behaves -e runstate_set -- "$qemu" -M pc -m 32 -nographic -net none -msg guest-name=on \
    -d guest_errors,trace:vm_state_notify -D own.log >out 2>err || fail "exit status $?"
grep -q 'vm_state_notify' own.log || fail "its own log file: $(cat own.log)"
cmp own.log behaves/vmm/trace.log || fail "its own log file is another"
nothing_left

# Where its user has the log by -trace, the options that are added behind must not forget it.
case='a trace file of its own'
{ wait_ready file && echo "$quit"; } |
    record 0 -o file -e $answers -- $none -qmp stdio -trace 'vm_state_notify,file=own.trace'
[ -s own.trace ] && cmp own.trace file/vmm/trace.log || fail "its own file: $(cat own.trace)"
nothing_left

case='exits early'
{ wait_ready early && echo "$quit"; } | record 0 -o early -e $answers -- $none -qmp stdio
grep -q '"return"' out || fail "its own monitor: $(cat out)"
tells early host-qmp-quit
nothing_left

# Ctrl-C in a terminal before QEMU is there, while it is asked what it can: nothing is recorded.
case='early Ctrl-C'
cat >qemu-system-slow <<END
#!/bin/sh
trap '' INT
: >asked
until [ -e typed ]; do sleep 0.05; done
exec $qemu "\$@"
END
chmod +x qemu-system-slow
cat >terminal.py <<'END'
import os, pty, sys, time

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while not os.path.exists("asked"):
    time.sleep(0.02)
os.write(terminal, b"\x03")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
status=0
timeout 240 python3 terminal.py "$strata" record -o ctrl-c -- ./qemu-system-slow -M pc -nodefaults -display none -m 32 \
    >out 2>err || status=$?
[ $status -eq 1 ] && [ ! -e ctrl-c ] || fail "exit status $status: $(ls ctrl-c)"
: >typed
nothing_left

case='another status'
record 1 -o option -- $none -nosuch
says 'invalid option'
says 'QEMU ended with status 1'
says 'strata: nothing was recorded, and nothing is left in option'
[ ! -e option ] || fail "left: $(ls -R option)"
# The next try may have the same directory, also one that was there.
mkdir option
record 1 -o option -- $none -nosuch
record 1 -o option -- $none -drive file=nosuch
record 0 -o option -- $none -device help
[ -z "$(ls option)" ] || fail "left: $(ls -R option)"
nothing_left

# QEMU is asked what it can trace without what its user wants traced, and ends in order, so that nothing is left of it.
case=probing
cat >qemu-system-asked <<END
#!/bin/sh
case " \$* " in
*' -readconfig '* | *' -d '*) exec $qemu "\$@" ;;
esac
echo "STRATA_TRACE=\$STRATA_TRACE" >>asked
$qemu "\$@"
echo "ended with \$?" >>asked
END
chmod +x qemu-system-asked
rm -f asked
echo "$quit" | STRATA_TRACE='visit_*' record 0 -o asking -- ./qemu-system-asked -M none -nodefaults -display none -qmp stdio
printf 'STRATA_TRACE=\nended with 0\n' | cmp -s - asked || fail "$(cat asked)"

# One that cannot emulate: the accelerator that the command names, or one that needs nothing.
case='without TCG'
cat >qemu-system-notcg <<END
#!/bin/sh
case " \$* " in
*accel*qtest* | *' -d help '*) ;;
*)
    echo "fatal: could not load module for type 'tcg-accel-ops'" >&2
    exit 1
    ;;
esac
# What stands for the other accelerator here.
for word; do
    shift
    case \$word in
    none,accel=qtest*) word=none ;;
    qtest) word=tcg ;;
    esac
    set -- "\$@" "\$word"
done
exec $qemu "\$@"
END
chmod +x qemu-system-notcg
echo "$quit" | record 0 -o notcg -- ./qemu-system-notcg -M none,accel=qtest -nodefaults -display none -qmp stdio
printf '#!/bin/sh\nexec ./qemu-system-notcg -accel qtest -M none -nodefaults -display none "$@"\n' >notcg.sh
chmod +x notcg.sh
seen notcg.script runstate_set -e runstate_set --qemu ./qemu-system-notcg -- ./notcg.sh

# The declarations of another QEMU lack events: those that have all of them are taken, wherever they are.
case='declarations of another QEMU'
mkdir -p other/bin other/share/qemu
printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >other/bin/qemu-system-other
chmod +x other/bin/qemu-system-other
declared=/usr/share/qemu/trace-events-all
grep -v '^runstate_set(' $declared >other/share/qemu/trace-events-all
echo "$quit" | record 0 -o others -e runstate_set -- other/bin/qemu-system-other -M none -nodefaults -display none -qmp stdio
cmp -s $declared others/vmm/trace-events || fail "not those of this QEMU"
! grep -q 'is not declared' err || fail "$(cat err)"
if ! has_mount_namespace /usr/share/qemu; then
    echo "SKIPPED in part: $no_namespace"
else
    echo "$quit" | in_mount_namespace sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh \
        other/share/qemu/trace-events-all $declared \
        "$strata" record -o undeclared -e runstate_set -- $none -qmp stdio >out 2>err || fail "exit status $?: $(cat err)"
    says "'runstate_set' is not declared"
fi

case='no such program'
record 127 -o nope -- qemu-system-nope
says 'cannot be run: No such file'
[ ! -e nope ] || fail "a directory is left"

case='no such event'
record 1 -o nope -e 'pci_cfg_red' -- $none
says "did you mean 'pci_cfg_read'"
[ ! -e nope ] || fail "a directory is left"

case='its directory exists'
record 1 -o events -- $none
says 'directory is not empty'
[ -s events/vmm/trace.log ] || fail "what was there is gone"

case=daemonize
record 1 -o nope -- $none -daemonize
says '-daemonize'
[ ! -e nope ] || fail "a directory is left"
nothing_left

case='no place for a port'
record 1 -o nope --guest -- $none
says 'no bus for the virtio-serial device'
[ ! -e nope ] || fail "a directory is left"

# What was to be recorded of the guest was not.
case='no agent'
expected=1
seen agent runstate_set --guest -e runstate_set -- "$qemu" -M pc -m 32 -nodefaults -display none \
    -device virtio-serial-pci,id=strata-serial
says 'no agent has answered: start strata-agent'
tells agent 'no agent has answered: start strata-agent'
"$strata" report agent >report 2>&1 || fail "report: $(cat report)"
grep -q runstate_set report || fail "report: $(cat report)"
nothing_left

# While it is recorded, the guest's row says so.
"$strata" record -o silent --guest -e $answers -- "$qemu" -M pc -m 32 -nodefaults -display none -S \
    -device virtio-serial-pci,id=strata-serial >out 2>err &
recorder=$!
wait_ready silent
"$strata" ctl silent status >status || fail "$(cat status)"
grep -q '^guest  *guest .* no agent has answered$' status || fail "$(cat status)"
"$strata" ctl silent status -f json >status || fail "$(cat status)"
jq -se 'map(select(.source == "guest")) | length == 1 and (.[0].recording | not)' status >/dev/null || fail "$(cat status)"
"$strata" report silent >report 2>told || fail "$(cat told)"
wait_for 'grep -q "^strata: .*no agent has answered yet" err'
! grep -q 'cannot be shown' told || fail "$(cat told)"
kill -TERM $recorder
wait $recorder || [ $? -eq 1 ] || fail "$(cat err)"
[ "$(jq '[.sources[].name] == ["vmm"]' silent/trace.json)" = true ] || fail "$(cat silent/trace.json)"
"$strata" report silent >report 2>told || fail "$(cat told)"
nothing_left

# A guest has one port of a name: if the command line defines it, the recorder uses it.
case='a port of its own'
seen port runstate_set --guest -e runstate_set -- "$qemu" -M pc -m 32 -nodefaults -display none -device virtio-serial-pci \
    -chardev socket,id=own,path=own.port,server=on,wait=off \
    -device virtserialport,chardev=own,name=org.strata.agent
says 'no agent has answered'
nothing_left
expected=0

# Nothing is looked at by time but the clocks and QEMU's threads, once a second.
case=idle
"$strata" record -o idle -e $answers -- "$qemu" -M pc -m 32 -nodefaults -display none -S >out 2>err &
recorder=$!
wait_ready idle
wakeups() {
    sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' /proc/$recorder/status
}
# Its start, and what disturbs this machine, may be in the first of these. A second of a loaded machine is longer than that.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    began=$(date +%s%3N)
    before=$(wakeups)
    sleep 3
    n=$(($(wakeups) - before))
    ms=$(($(date +%s%3N) - began))
    [ $((n * 1000)) -ge $((ms * 5)) ] || break
done
kill -TERM $recorder
wait $recorder || fail "exit status $?"
[ $((n * 1000)) -lt $((ms * 5)) ] || fail "$n wake-ups in $ms ms"
nothing_left

case='QEMU is killed'
"$strata" record -o killed -e runstate_set -- $none >out 2>err &
recorder=$!
wait_for "grep -qs runstate_set killed/vmm/trace.log && grep -qs '\"pid\"' killed/trace.json"
kill -9 "$(jq '.sources[0].vmm.pid' killed/trace.json)"
status=0
wait $recorder || status=$?
[ $status -eq 137 ] || fail "exit status $status"
tells killed 'QEMU was killed by signal 9'
nothing_left

case='QEMU stands still'
"$strata" record -o halted -e $answers -- $none >out 2>err &
recorder=$!
wait_ready halted
qemu_pid=$(jq .sources[0].vmm.pid halted/trace.json)
kill -STOP "$qemu_pid"
wait_for 'grep -q "is stopped by a signal, and its machine stands still" err'
kill -CONT "$qemu_pid"
kill -TERM $recorder
wait $recorder || fail "exit status $?"
says "QEMU's process was stopped by a signal 1 time, for about"
jq -e '.sources[0].vmm.stopped_ns > 0' halted/trace.json >out || fail "trace.json: $(jq -c .sources[0].vmm halted/trace.json)"
nothing_left

case='QEMU does not end'
"$strata" record -o stays -e $answers -- $none >out 2>err &
recorder=$!
wait_ready stays
kill -STOP "$(jq '.sources[0].vmm.pid' stays/trace.json)"
kill -TERM $recorder
wait_for "grep -qs 'another signal kills it' err"
kill -TERM $recorder
status=0
wait $recorder || status=$?
[ $status -eq 137 ] || fail "exit status $status"
tells stays 'QEMU was killed by signal 9'
nothing_left

case='the recorder is killed'
"$strata" record -o orphan -e runstate_set -- $none >out 2>err &
recorder=$!
wait_for "grep -qs runstate_set orphan/vmm/trace.log && grep -qs '\"pid\"' orphan/trace.json"
pid=$(jq '.sources[0].vmm.pid' orphan/trace.json)
kill -9 $recorder
wait $recorder 2>/dev/null || :
wait_for "[ ! -e /proc/$pid ] || grep -qs '^State:.Z' /proc/$pid/status"
tells orphan 'its recorder was killed'
"$strata" report orphan >report 2>&1 || fail "report: $(cat report)"
grep -q runstate_set report || fail "report: $(cat report)"
[ -n "$(ls run)" ] || fail "nothing was left behind: this tests nothing"
# What it left goes with the next one.
echo "$quit" | record 0 -o after -- $none -qmp stdio
nothing_left

case='two at once'
"$strata" record -o one -e runstate_set -- $none >out1 2>err1 &
other=$!
wait_for "grep -qs 'new_state 9' one/vmm/trace.log"
seen two 'new_state 9' -e runstate_set -- $none
kill -TERM $other
wait $other || fail "the other: $(cat err1)"
"$strata" report one two >report 2>err || fail "report"
[ "$(grep -c 'new_state 9' report)" -eq 2 ] || fail "$(cat report)"
nothing_left

case='no room for the log'
(
    ulimit -f 1200
    exec "$strata" record -o full -e '*' -- "$qemu" -M pc -nodefaults -display none -m 32
) >out 2>err &
recorder=$!
wait_for '[ -e full/vmm/trace.log ] && [ "$(stat -c %s full/vmm/trace.log)" -ge 612000 ] || ! kill -0 $recorder 2>/dev/null'
# What QEMU traces at its end is more than what is left of 600 KiB.
kill -TERM $recorder || fail "has ended"
status=0
wait $recorder || status=$?
[ $status -eq 1 ] || fail "exit status $status"
says 'further lines are lost'
tells full 'are lost'
"$strata" report full 2>report.err | tail -n 1 >last || fail "report: $(cat report.err)"
grep -q LOST last || fail "its last item: $(cat last)"
nothing_left

case='max-size'
record 1 -o small -t 3 --max-size 4K -e '*' -- $none
says '--max-size'
[ "$(stat -c %s small/vmm/trace.log)" -le 4096 ] || fail "$(ls -l small/vmm)"
nothing_left

case='min-free'
record 1 -o room --min-free 900000G -e $answers -- $none
says 'stopped: less than'
tells room 'recording stopped as the disk was nearly full'
tells room host-signal
nothing_left

case='its directory goes away'
"$strata" record -o away -e runstate_set -- $none >out 2>err &
recorder=$!
wait_for "grep -qs runstate_set away/vmm/trace.log"
# While it writes its manifest there the directory cannot be removed.
wait_for "rm -rf away 2>rm.err; [ ! -e away ]"
kill -TERM $recorder
status=0
wait $recorder || status=$?
[ $status -eq 1 ] || fail "exit status $status"
says 'away'
nothing_left

case='at any moment'
for delay in 0.01 0.03 0.06 0.1 0.15 0.2 0.3; do
    rm -rf any
    status=0
    timeout --foreground -s INT $delay "$strata" record -o any --guest -e runstate_set -- "$qemu" -M pc -m 32 \
        -nodefaults -display none >out 2>err || status=$?
    [ $status -eq 124 ] || fail "after $delay: exit status $status"
    [ ! -e any ] || "$strata" info any >info 2>&1 || fail "after $delay: $(cat info)"
    nothing_left
done
