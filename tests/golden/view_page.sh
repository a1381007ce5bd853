#!/bin/sh
# The page of the timeline in a real browser: see tests/web/page.py.
. "$(dirname "$0")/../lib/golden.sh"

for command in python3 chromium chromedriver; do
    command -v $command >/dev/null || { echo "SKIPPED: $command is not installed"; exit 77; }
done
export XDG_CACHE_HOME="$work/cache"
mkdir cache

tar -xJf "$DATA/io/virtio-blk.tar.xz"
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >xen.raw
python3 "$here/../web/hostile_trace.py" hostile
python3 "$here/../web/page.py" "$strata" vm hostile xen.raw
