#!/bin/sh
# full_disk.py, with a disk of its own.
. "$(dirname "$0")/../lib/mount_namespace.sh"

if ! has_mount_namespace /mnt; then
    echo "flight-full-disk: SKIPPED: $no_namespace" >&2
    exit 77
fi
in_mount_namespace "$(dirname "$0")/full_disk.py"
