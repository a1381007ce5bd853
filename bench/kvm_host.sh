# shellcheck shell=sh
# The KVM host of bench/kvm, a scenario of tests/kvm: a virtual machine works a round at a time, in turn while it is not
# recorded and while it is. Writes lines to the console:
#
#     @@ UPTIME row CONFIG PRIMES READS VCPU QEMU RECORDER WALL EXITS     ns each, but for EXITS
#     @@ UPTIME recorded CONFIG LINE                                      what the recorder has printed of a source
#
# /bench sets ROUNDS, LOOPS, READS and CONFIG: what is recorded.

. /bench

# wait_for FILE COMMAND...: until it succeeds; then it is all over, with what FILE says.
wait_for() {
    file=$1
    shift
    tries=4000
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || {
            say "FAILED: this did not become true: $*: $(tail -n 20 "$file")"
            exit 1
        }
        usleep 20000
    done
}

# KVM would poll for what the emulator takes as long as it polls.
echo 0 >/sys/module/kvm/parameters/halt_poll_ns

mkdir -p /inner/added/bin
cp /bin/strata-agent /bin/kvm-work /inner/added/bin/
cat >/inner/added/work <<'WORK'
strata-agent >/dev/ttyS0 2>&1 &
stty -F /dev/ttyS1 raw -echo
kvm-work /dev/vda $loops $reads </dev/ttyS1 >/dev/ttyS1
WORK
(cd /inner/added && find . | cpio -o -H newc 2>/dev/null) | cat /inner/initramfs - >/inner/whole
dd if=/dev/zero of=/tmp/disk bs=1M count=8 2>/dev/null
mkfifo /tmp/go.in /tmp/go.out

qemu-system-x86_64 -name guest,debug-threads=on -accel kvm -m 192 -smp 1 -nodefaults -display none -no-reboot \
    -kernel /inner/vmlinux -initrd /inner/whole \
    -append "console=ttyS0 quiet panic=-1 cryptomgr.notests cpuidle.off=1 loops=$LOOPS reads=$READS" -serial file:console \
    -chardev pipe,id=go,path=/tmp/go -serial chardev:go -drive file=/tmp/disk,if=virtio,format=raw \
    -qmp unix:/tmp/qmp,server=on,wait=off \
    -device virtio-serial-pci -chardev socket,id=agent,path=/tmp/agent,server=on,wait=off \
    -device virtserialport,chardev=agent,name=org.strata.agent >qemu.log 2>&1 &
qemu=$!
exec 3<>/tmp/go.in 4<>/tmp/go.out
read -r line <&4
say "the guest is $line"
for task in /proc/$qemu/task/*; do
    case $(cat "$task/comm") in
    CPU*) vcpu=$task ;;
    esac
done
# The nanoseconds on a CPU of all threads of PIDs.
cpu_ns() { # PID...
    sum=0
    for pid; do
        for file in /proc/"$pid"/task/*/schedstat; do
            read -r ns rest <"$file" && sum=$((sum + ns))
        done
    done
    echo $sum
}
exits() {
    cat /sys/kernel/debug/kvm/exits
}
wall_ns() {
    awk '/now at/ { print $3; exit }' /proc/timer_list
}
work() { # CONFIG
    # shellcheck disable=SC2086 # PIDs
    before="$(cut -d' ' -f1 "$vcpu/schedstat") $(cpu_ns $qemu) $(cpu_ns $recorders) $(wall_ns) $(exits)"
    echo go >&3
    read -r line <&4
    # shellcheck disable=SC2086
    set -- $1 $line $before "$(cut -d' ' -f1 "$vcpu/schedstat")" "$(cpu_ns $qemu)" "$(cpu_ns $recorders)" "$(wall_ns)" "$(exits)"
    say "row $1 $2 $3 $(($9 - $4)) $((${10} - $5)) $((${11} - $6)) $((${12} - $7)) $((${13} - $8))"
}

# A recorder, its confined processes, and the host's agent.
family() { # PID
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        family "$child"
    done
}
case $CONFIG in
vmm) options= ;;
guest) options=--guest ;;
host) options=--host ;;
both) options='--guest --host' ;;
# The flight recorder: kernels hold what they record, and hand it over after seconds, which is longer than a round.
flight) options='--flight=60s --guest' ;;
flight-both) options='--flight=60s --guest --host' ;;
# Parts of these: without QEMU's events of work, and with an agent that records next to nothing.
no-events) options='-e runstate_set' ;;
agent) options='-e runstate_set --event=guest:sched:sched_process_exec' ;;
guest-only) options='-e runstate_set --guest' ;;
host-only) options='-e runstate_set --host' ;;
# What the kernel's own tracing of the default events takes, into buffers that nobody reads.
*-ftrace) ;;
esac
usual="sched/sched_switch sched/sched_wakeup irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry irq/softirq_exit"
of_kvm="entry exit userspace_exit pio mmio msr cpuid hypercall page_fault inj_virq inj_exception vcpu_wakeup"
ftrace() { # EVENT...: the command that enables them; without, the one that ends it
    instance=/sys/kernel/tracing/instances/bench
    if [ $# -eq 0 ]; then
        echo "rmdir $instance"
    else
        echo "mkdir $instance; cd $instance; echo 4096 >buffer_size_kb; echo mono_raw >trace_clock; for e in $*; do echo 1 >events/\$e/enable; done"
    fi
}
tell() { # COMMAND: that the guest runs
    echo "run $1" >&3
    read -r line <&4
}
start_ftrace() {
    case $CONFIG in
    guest-*) tell "$(ftrace $usual)" ;;
    # shellcheck disable=SC2046 # words
    *) (eval "$(ftrace $usual $(for e in $of_kvm; do echo "kvm/kvm_$e"; done))") ;;
    esac
}
end_ftrace() {
    case $CONFIG in
    guest-*) tell "cat /sys/kernel/tracing/instances/bench/per_cpu/cpu0/stats >/dev/ttyS0; $(ftrace)" ;;
    *)
        say "recorded $CONFIG $(grep -h '^entries\|^overrun' /sys/kernel/tracing/instances/bench/per_cpu/cpu0/stats | tr '\n' ' ')0 lost"
        (eval "$(ftrace)")
        ;;
    esac
}

recorders=
work warm
n=0
while [ $n -lt "$ROUNDS" ]; do
    n=$((n + 1))
    recorders=
    work off
    case $CONFIG in
    *-ftrace)
        start_ftrace
        sleep 0.3
        work "$CONFIG"
        end_ftrace
        continue
        ;;
    esac
    # shellcheck disable=SC2086 # words
    strata record --attach -o /tmp/trace $options $qemu >recorder.log 2>&1 &
    recorder=$!
    case $CONFIG in
    host*) wait_for recorder.log test -s /tmp/trace/host/cpu0.raw ;;
    vmm | no-events) wait_for recorder.log test -s /tmp/trace/trace.json ;;
    *) wait_for recorder.log test -s /tmp/trace/guest-guest/clock-pairs ;;
    esac
    sleep 0.3
    recorders=$(family $recorder | tr '\n' ' ')
    work "$CONFIG"
    kill -TERM $recorder
    wait $recorder || say "FAILED: $(cat recorder.log)"
    grep ' lost' recorder.log | while read -r line; do
        say "recorded $CONFIG $line"
    done
    rm -rf /tmp/trace
done
kill $qemu
