#!/bin/sh
# What strata serve answers at random places, at every level of detail, is what is in the report: see tests/web/places.py.
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
export XDG_CACHE_HOME="$work/cache"
mkdir cache

case="a guest's kernel, QEMU and the host"
tar -xJf "$DATA/io/virtio-blk.tar.xz"
python3 "$here/../web/places.py" "$strata" vm || fail "another answer"

case="Xen, which lost events"
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
python3 "$here/../web/places.py" "$strata" --cpu-hz 2.4G xen.raw 2>err || fail "$(cat err)"
