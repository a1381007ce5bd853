#!/bin/sh
# The JSON of all analyses fits the schema that is published.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/kernel_capture.sh"

for trace in 4.17-all 4.22-all; do
    xz -dc "$DATA/xen/xen-$trace.raw.xz" >xen-$trace
done
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
mv trace kvm
xz -dc "$DATA/kvm/perf.ctf.tar.xz" | tar -x
xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x
kernel_capture local guest
cp "$DATA/qemu/made/v4.simpletrace" .

STRATA_EVENTS=$DATA/qemu/made/trace-events python3 "$here/analysis_schema.py" "$strata" \
    "$tree/data/analysis.schema.json" "$here/../lib"
