#!/bin/sh
# What `strata summary` says of a real machine with a fault that is known, and of one without.
#
#   run.sh DIR       DIR holds debs/ (tools/packages fetch guest DIR/debs), which are kept
#
# Environment: STRATA_BIN, the directory of the built commands.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${SANITIZED:-}" ]; then
    echo "NOT TESTED ON A REAL GUEST: programs with sanitisers are not made for it" >&2
    exit 77
fi
if ! [ -e "$1/debs/complete" ]; then
    echo "NOT TESTED ON A REAL GUEST: its packages are not in $1/debs; fetch them: tools/packages fetch guest $1/debs" >&2
    exit 77
fi
for tool in qemu-system-x86_64 cpio python3; do
    command -v $tool >/dev/null || {
        echo "NOT TESTED ON A REAL GUEST: there is no $tool here" >&2
        exit 77
    }
done
if ! chrt -r 1 taskset -c 0,1 true 2>/dev/null || ! [ -w /sys/kernel/tracing/instances ]; then
    echo "NO FAULTS PLANTED: that takes root, tracefs, two CPUs and real-time priorities" >&2
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/image"
cp -al "$1/debs" "$work/debs" 2>/dev/null || cp -a "$1/debs" "$work/debs"
"$here/../../tools/guest-image" "$work/debs" "$work/image" "$here/init" "$STRATA_BIN/strata-agent"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/planted.py" "$STRATA_BIN/strata" "$work"
