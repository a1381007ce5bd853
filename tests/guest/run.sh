#!/bin/sh
# Tests on a real guest: boots it once, and runs the scenarios, or those named, in it.
#
#   run.sh DIR [SCENARIO...]     DIR holds debs/ (tools/packages fetch guest DIR/debs) and is kept
#
# Environment: STRATA_BIN, the directory of the built commands; GUEST_TOOL, tool.c, built.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$1
shift
if [ -n "${SANITIZED:-}" ]; then
    echo "NOT TESTED ON A REAL GUEST: programs with sanitisers are not made for it" >&2
    exit 77
fi
if ! [ -e "$dir/debs/complete" ]; then
    echo "NOT TESTED ON A REAL GUEST: its packages are not in $dir/debs; fetch them: tools/packages fetch guest $dir/debs" >&2
    exit 77
fi
for tool in qemu-system-x86_64 cpio python3; do
    command -v $tool >/dev/null || {
        echo "NOT TESTED ON A REAL GUEST: there is no $tool here" >&2
        exit 77
    }
done

"$here/../../tools/guest-image" "$dir/debs" "$dir" "$here/init" "$GUEST_TOOL" "$STRATA_BIN/strata-agent"
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/scenarios.py" "$dir" "$@"
