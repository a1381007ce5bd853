# What tests/kvm/boot.sh and tests/xen/boot.sh have in common; both source it.

# Makes OUT again, and $work: in/, what the scenario gets, and out.img, the disk on which it leaves its results.
prepare_vm() { # OUT SCENARIO
    out=$1
    rm -rf "$out"
    mkdir -p "$out"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/in/bin"
    cp "$2" "$work/in/scenario"
    truncate -s 512M "$work/out.img"
}

# Runs the virtual machine for SECONDS at most, and unpacks the results into OUT. It has two CPUs, unless $VM_CPUS has
# other options for them and how they are emulated.
run_vm() { # SECONDS QEMU-OPTION...
    seconds=$1
    shift
    status=0
    vm_cpus=${VM_CPUS:--accel tcg,thread=multi -smp 2}
    # shellcheck disable=SC2086 # options
    timeout --foreground "$seconds" qemu-system-x86_64 -machine pc $vm_cpus \
        -drive "file=$work/out.img,format=raw,if=virtio" "$@" \
        -display none -serial "file:$out/serial.log" -monitor none -net none -no-reboot \
        </dev/null >"$out/qemu.log" 2>&1 || status=$?
    if [ $status -eq 0 ] && grep -q '^@@ .* complete' "$out/serial.log"; then
        tar -x -f "$work/out.img" -C "$out"
        return 0
    fi
    echo "The virtual machine did not finish (status $status); the end of $out/serial.log:" >&2
    cat "$out/qemu.log" >&2
    tail -n 30 "$out/serial.log" >&2
    return 1
}
