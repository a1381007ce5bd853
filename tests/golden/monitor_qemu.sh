#!/bin/sh
# The same requests to a program of ours and to a real QEMU, by QMP and by its human monitor: the same
# replies. $MONITORED: tests/runtime/monitored.c.
. "$(dirname "$0")/../lib/golden.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)
qemu=$(command -v qemu-system-x86_64) || { echo "SKIPPED: qemu-system-x86_64 is not installed"; exit 77; }
"$qemu" --version | grep -q '^QEMU emulator version 7\.2\.' || {
    echo "monitor_qemu: this QEMU is not 7.2, whose words these are" >&2
    exit 77
}
"$tests/runtime/monitor.py" qemu "$MONITORED" "$qemu"
