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

# Whether Linux says that one of its CPUs has hung for a minute or longer. No program can do that to it.
stands_still() {
    grep -qE 'soft lockup - CPU#[0-9]+ stuck for ([6-9][0-9]|[0-9]{3,})s' "$out/serial.log" 2>/dev/null
}

# Runs the virtual machine for SECONDS at most, and unpacks the results into OUT. It has two CPUs, unless $VM_CPUS has
# other options for them and how they are emulated, by $EMULATOR or this machine's QEMU.
run_vm() { # SECONDS QEMU-OPTION...
    seconds=$1
    shift
    status=0
    vm_cpus=${VM_CPUS:--accel tcg,thread=multi -smp 2}
    # shellcheck disable=SC2086 # options
    timeout --foreground "$seconds" "${EMULATOR:-qemu-system-x86_64}" -machine pc $vm_cpus \
        -drive "file=$work/out.img,format=raw,if=virtio" "$@" \
        -display none -serial "file:$out/serial.log" -monitor none -net none -no-reboot \
        </dev/null >"$out/qemu.log" 2>&1 &
    vm=$!
    while kill -0 $vm 2>/dev/null; do
        sleep 1
        ! stands_still || kill $vm 2>/dev/null || :
    done
    wait $vm || status=$?
    if [ $status -eq 0 ] && grep -q '^@@ .* complete' "$out/serial.log"; then
        tar -x -f "$work/out.img" -C "$out"
        return 0
    fi
    how="did not finish (status $status)"
    ! stands_still || how="stands still"
    echo "The virtual machine $how; the end of $out/serial.log:" >&2
    cat "$out/qemu.log" >&2
    tail -n 30 "$out/serial.log" >&2
    return 1
}
