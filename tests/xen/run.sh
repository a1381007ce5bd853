#!/bin/sh
# A test on a real Xen: runs tests/xen/scenarios/NAME.sh in its dom0, and looks at what that left with
# tests/xen/checks/NAME.py. Xen is booted once for all of them: DIR/saved.
#
#   run.sh NAME DIR     DIR holds debs/ (tools/packages fetch xen DIR/debs) and is kept for the next run
#
# For a scenario with a line "# xen: OPTION...", of Xen's command line, or "# dom0: OPTION...", of dom0's kernel's, it is
# booted once more. $STRATA_BIN: the built commands.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
name=$1
dir=$2
scenario=$here/scenarios/$name.sh
if ! [ -e "$dir/debs/complete" ]; then
    echo "NOT TESTED ON A REAL XEN: its packages are not in $dir/debs; fetch them: tools/packages fetch xen $dir/debs" >&2
    exit 77
fi
for tool in qemu-system-x86_64 cpio objcopy gcc python3; do
    command -v $tool >/dev/null || {
        echo "NOT TESTED ON A REAL XEN: there is no $tool here" >&2
        exit 77
    }
done

# Once for all tests that run at the same time.
flock "$dir/debs" "$here/dom0.sh" "$dir/debs" "$dir"
XEN_OPTIONS=$(sed -n 's/^# xen: //p' "$scenario")
DOM0_OPTIONS=$(sed -n 's/^# dom0: //p' "$scenario")
[ -n "$XEN_OPTIONS$DOM0_OPTIONS" ] || SAVED=$(cd "$dir" && pwd)/saved
export XEN_OPTIONS DOM0_OPTIONS SAVED="${SAVED:-}"
"$here/boot.sh" "$dir" "$dir/$name" "$scenario" "$STRATA_BIN/strata" "$STRATA_BIN/strata-agent"
grep '^@@' "$dir/$name/serial.log"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/checks/$name.py" "$dir/$name" "$dir/root" "$STRATA_BIN"
