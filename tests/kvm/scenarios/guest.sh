# Records virtual machines under KVM at three layers: QEMU, the host's kernel, and the kernel in the virtual machine.
#
#   port   2 vCPUs; the agent comes by virtio-serial.
#   vsock  1 vCPU; the agent comes by vsock, and the virtual machine sets its time stamp counter.

# wait_for FILE COMMAND...: at most five minutes, or more on a busy machine; then it is all over, with what FILE says.
wait_for() {
    file=$1
    shift
    tries=6000
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || {
            say "FAILED: this did not become true: $*: $(cat "$file")"
            exit 1
        }
        usleep 50000
    done
}

for module in vhost_iotlb vhost vsock vmw_vsock_virtio_transport_common vhost_vsock; do
    insmod "/lib/modules/$module.ko" || say "FAILED: no module $module"
done
mkdir -p /inner/added/bin
cp /bin/strata-agent /bin/guest-tool /inner/added/bin/
echo "a key of more than sixteen bytes" >/inner/added/key
chmod 600 /inner/added/key
dd if=/dev/urandom of=/tmp/disk bs=1M count=4 2>/dev/null

# In the virtual machine: numbers are written to a register of the second serial port that does nothing, 0x2ff. What the
# kernel does not know of its command line, run=port, is in the first process's environment.
cat >/inner/added/work <<'END'
marks() { # CPU FIRST
    guest-tool kernel-outs $1 $2 500 767 250 /sys/kernel/tracing/instances/strata-agent-*
}
case $run in
traced-*) . /$run ;;
*)
    listen=
    [ $run = port ] || listen='--listen=vsock:4727 --key=/key'
    strata-agent $listen --run /bin/busybox env run=traced-$run sh /work 2>&1
    echo "the agent's exit status: $?"
    ;;
esac
END
cat >/inner/added/traced-port <<'END'
marks 0 0
marks 1 500
dd if=/dev/vda of=/dev/null bs=64k 2>/dev/null
END
cat >/inner/added/traced-vsock <<'END'
stty -F /dev/ttyS1 -echo
exec 3</dev/ttyS1
marks 0 0
# Ahead by some seconds.
guest-tool tsc 0 8589934592
echo "the counter is set"
read line <&3
marks 0 500
END
(cd /inner/added && find . | cpio -o -H newc 2>/dev/null) | cat /inner/initramfs - >/inner/whole

# record NAME OPTIONS VCPUS QEMU-OPTION...: begins, until its kernel runs. The default CPU model has no feature that
# the emulation lacks.
record() {
    name=$1
    options=$2
    vcpus=$3
    shift 3
    # shellcheck disable=SC2086 # a list of words
    strata record -o "$name" $options --host -e serial_write -- qemu-system-x86_64 -accel kvm -m 192 \
        -smp "$vcpus" -nodefaults -display none -no-reboot -kernel /inner/vmlinux -initrd /inner/whole \
        -append "console=ttyS0 quiet panic=-1 cryptomgr.notests mitigations=off nokaslr run=$name" -serial "file:$name.console" "$@" >"$name.log" 2>&1 &
    recorder=$!
    wait_for "$name.log" test -s "$name/guest-guest/clock-pairs"
    say "$name is recorded"
    save_offsets "$name"
}
save_offsets() { # NAME
    cat /sys/kernel/debug/kvm/*-*/vcpu*/tsc-offset >"$1.offsets"
}
end() {
    wait $recorder
    echo $? >"$name.status"
    say "$name has ended"
}

record port '--guest --for exits,io,irq,sched' 2 -serial null -drive file=/tmp/disk,if=virtio,format=raw
end

mkfifo /tmp/go.in /tmp/go.out
cat /tmp/go.out >/dev/null &
record vsock '--guest=vsock:3:4727 --key=/inner/added/key' 1 -chardev pipe,id=go,path=/tmp/go -serial chardev:go \
    -device vhost-vsock-pci,guest-cid=3
wait_for vsock.console grep -q 'the counter is set' vsock.console
save_offsets vsock-set
# Another virtual machine cannot have its CID.
strata record -o taken --guest=vsock:3:4727 --key=/inner/added/key -- qemu-system-x86_64 -accel kvm -m 64 -nodefaults \
    -display none -device vhost-vsock-pci,guest-cid=3 >taken.log 2>&1
echo $? >taken.status
# Until the recorder knows of it, and has related the clocks again.
has_pairs() {
    [ "$(wc -l <vsock/guest-guest/clock-pairs)" -ge "$1" ]
}
wait_for vsock.log has_pairs $(($(wc -l <vsock/guest-guest/clock-pairs) + 10))
echo go >/tmp/go.in
end
