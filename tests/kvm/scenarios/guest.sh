# Records a virtual machine with 2 vCPUs under KVM at three layers: QEMU, the host's kernel, and the kernel in the virtual
# machine, whose agent comes by virtio-serial.

# wait_for FILE COMMAND...: at most two minutes; then it is all over, with what FILE says.
wait_for() {
    file=$1
    shift
    tries=2400
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || {
            say "FAILED: this did not become true: $*: $(cat "$file")"
            exit 1
        }
        usleep 50000
    done
}

mkdir -p /inner/added/bin
cp /bin/strata-agent /bin/guest-tool /inner/added/bin/
dd if=/dev/urandom of=/tmp/disk bs=1M count=4 2>/dev/null

# In the virtual machine: numbers are written to a register of the second serial port that does nothing, 0x2ff.
cat >/inner/added/work <<'END'
strata-agent --run sh /traced 2>&1
echo "the agent's exit status: $?"
END
cat >/inner/added/traced <<'END'
for cpu in 0 1; do
    guest-tool kernel-outs $cpu $((500 * cpu)) 500 767 250 /sys/kernel/tracing/instances/strata-agent-*
done
dd if=/dev/vda of=/dev/null bs=64k 2>/dev/null
END
(cd /inner/added && find . | cpio -o -H newc 2>/dev/null) | cat /inner/initramfs - >/inner/whole

# The default CPU model has no feature that the emulation lacks.
strata record -o port --guest --host --for exits,io,irq,sched -e serial_write -- qemu-system-x86_64 -accel kvm -m 192 -smp 2 \
    -nodefaults -display none -no-reboot -kernel /inner/vmlinux -initrd /inner/whole \
    -append "console=ttyS0 quiet panic=-1 cryptomgr.notests" -serial file:port.console -serial null \
    -drive file=/tmp/disk,if=virtio,format=raw >port.log 2>&1 &
recorder=$!
# Once its kernel runs.
wait_for port.log test -s port/guest-guest/clock-pairs
cat /sys/kernel/debug/kvm/*-*/vcpu*/tsc-offset >port.offsets
wait $recorder
echo $? >port.status
