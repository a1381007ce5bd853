# What tests/kvm/boot.sh and tests/xen/boot.sh have in common; both source it.
#
# A virtual machine has two disks without a file system: its init takes what it is to run from the second one, a cpio archive,
# and leaves its results on the first, a tar archive. It is booted once, saved when it says that it is up, and each scenario goes on from
# there: until then, init waits for the second disk to have something on it.
# shellcheck shell=sh

# Makes OUT again, and $work: in/, what the scenario gets, and out.img, the disk on which it leaves its results.
prepare_vm() { # OUT SCENARIO
    out=$1
    rm -rf "$out"
    mkdir -p "$out"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/in/bin"
    cp "$2" "$work/in/scenario"
    empty_disks
}

# A machine that is saved before another one goes on has disks of the same sizes.
empty_disks() {
    rm -f "$work/out.img" "$work/in.img"
    truncate -s 512M "$work/out.img"
    truncate -s 256M "$work/in.img"
}

# Whether Linux says that one of its CPUs has hung for a minute or longer. No program can do that to it.
stands_still() {
    grep -qE 'soft lockup - CPU#[0-9]+ stuck for ([6-9][0-9]|[0-9]{3,})s' "$out/serial.log" 2>/dev/null
}

# Starts it, as $vm. It has two CPUs, unless $VM_CPUS has other options for them and how they are emulated, by $EMULATOR or
# this machine's QEMU.
start_vm() { # SECONDS QEMU-OPTION...
    seconds=$1
    shift
    vm_cpus=${VM_CPUS:--accel tcg,thread=multi -smp 2}
    # shellcheck disable=SC2086 # options
    timeout --foreground "$seconds" "${EMULATOR:-qemu-system-x86_64}" -machine pc $vm_cpus \
        -drive "file=$work/out.img,format=raw,if=virtio" -drive "file=$work/in.img,format=raw,if=virtio" \
        -display none -chardev "file,id=serial,path=$out/serial.log,append=on" -serial chardev:serial \
        -monitor none -qmp "unix:$work/qmp,server=on,wait=off" -net none -no-reboot "$@" \
        </dev/null >"$out/qemu.log" 2>&1 &
    vm=$!
}

failed_vm() { # HOW
    ! stands_still || set -- "stands still"
    echo "The virtual machine $1; the end of $out/serial.log:" >&2
    cat "$out/qemu.log" >&2
    tail -n 30 "$out/serial.log" >&2
}

# Until the machine is ended, or COMMAND succeeds.
wait_for_vm() { # COMMAND...
    while kill -0 $vm 2>/dev/null && ! "$@"; do
        sleep 0.5
        ! stands_still || kill $vm 2>/dev/null || :
    done
}

is_up() {
    grep -q '^@@ .* is up' "$out/serial.log" 2>/dev/null
}

# Boots it and saves it as SAVED, with its console so far as SAVED.log, unless that was done with the same emulator and
# options, and FILE, what it is made of, is not newer. Its clock goes on at the rate that it has found, that of this machine.
save_vm() { # SAVED FILE SECONDS QEMU-OPTION...
    saved=$1
    of=$(cat "$2" /proc/sys/kernel/random/boot_id && "${EMULATOR:-qemu-system-x86_64}" --version && echo "${VM_CPUS:-}" "$@")
    shift 2
    [ "$(cat "$saved.of" 2>/dev/null)" != "$of" ] || return 0
    rm -f "$saved.of"
    start_vm "$@"
    wait_for_vm is_up
    is_up && "${here:?}/../lib/save_vm.py" "$work/qmp" "$saved" && wait $vm || {
        kill $vm 2>/dev/null || :
        failed_vm "cannot be saved"
        return 1
    }
    mv "$out/serial.log" "$saved.log"
    empty_disks
    echo "$of" >"$saved.of"
}

# Runs the virtual machine for SECONDS at most, and unpacks the results into OUT. With $SAVED, from there, which
# save_vm() has made with the same options.
run_vm() { # SECONDS QEMU-OPTION...
    status=0
    (cd "$work/in" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0) | dd of="$work/in.img" conv=notrunc status=none
    if [ -n "${SAVED:-}" ]; then
        cp "$SAVED.log" "$out/serial.log"
        set -- "$@" -incoming "exec:cat '$SAVED'"
    fi
    start_vm "$@"
    wait_for_vm false
    wait $vm || status=$?
    if [ $status -eq 0 ] && grep -q '^@@ .* complete' "$out/serial.log"; then
        tar -x -f "$work/out.img" -C "$out"
        return 0
    fi
    failed_vm "did not finish (status $status)"
    return 1
}
