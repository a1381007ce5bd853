#!/bin/sh
# memory_directory.sh KILOBYTES: where files are in memory, with room for that, and can be run; nothing if there is none.
set -eu

if [ -w /dev/shm ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts &&
    [ "$(df -kP /dev/shm | awk 'NR == 2 { print $4 }')" -ge "$1" ]; then
    echo /dev/shm
fi
