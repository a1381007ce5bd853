#!/bin/sh
# What is unknown of CPUs, vCPUs and threads has rows in `state`, as much as strata sched says: after losses of Xen, and of a
# CPU whose file is cut. Where nothing was lost, nothing is unknown between two switches.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
. "$here/../lib/kernel_capture.sh"

check() {
    python3 "$here/unknown.py" "$strata" "$@" || fail "$*"
}

case="Xen"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >whole.raw
check whole whole.raw
python3 "$here/unknown.py" lose whole.raw lost.raw
check lost lost.raw
python3 "$here/unknown_slices.py" "$strata" whole.raw lost.raw || fail "slices"
"$strata" sql -q steal lost.raw >rows 2>err || fail "$(cat err)"
head -n 1 rows | grep -q ' unknown$' && grep -q ' d0v1  [0-9]*  [0-9]*  [0-9]*$' rows || fail "$(cat rows)"

case="a kernel"
kernel_capture local guest
check whole guest
size=$(wc -c <guest/cpu1.raw)
cat >trace.json <<END
{"format": "strata-trace", "version": 1, "sources": [
 {"name": "guest", "kind": "ftrace", "layer": "guest", "path": "guest",
  "files": {"guest/cpu0.raw": $(wc -c <guest/cpu0.raw), "guest/cpu1.raw": $size}, "complete": true}]}
END
mkdir cut
mv guest trace.json cut
truncate -s $((size / 4096 / 2 * 4096)) cut/guest/cpu1.raw
check lost --keep-going cut
