#!/bin/sh
# strata serve: durations are those of strata latency and strata exits, and arrows join the requests of layers.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }

export XDG_CACHE_HOME="$work/cache"
tar -xJf "$DATA/io/virtio-blk.tar.xz"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" | head -c 2000000 >xen.raw

case="requests"
python3 "$here/serve_requests.py" "$strata" requests vm || fail "requests"

# At one tick a ns, so that durations are not rounded.
case="exits"
python3 "$here/serve_requests.py" "$strata" exits -k --cpu-hz 1000M xen.raw || fail "exits"

case="exits of KVM"
tar -xJf "$DATA/kvm/exits.tar.xz"
python3 "$here/serve_requests.py" "$strata" exits trace || fail "exits of KVM"

case="own pairs"
python3 "$here/serve_requests.py" "$strata" pair vm || fail "own pairs"
