#!/bin/sh
# The slices of strata export --to perfetto are the spans that strata latency, irq and exits count.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

# No rules of the user's.
XDG_CONFIG_HOME=$PWD/config
export XDG_CONFIG_HOME
. "$here/../lib/perfetto.sh"
. "$here/../lib/kernel_capture.sh"
kernel_capture local local
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen-4.17
xz -dc "$DATA/xen/xen-4.22-all.raw.xz" >xen-4.22
xz -dc "$DATA/kvm/exits.tar.xz" | tar -x
mv trace kvm
xz -dc "$DATA/io/virtio-blk.tar.xz" | tar -x

# compare FILTER TRACE [OPTION...]: what was compared is as the filter says.
compare() {
    filter=$1
    shift
    case="$*"
    export_perfetto "$@" || fail "$(cat err)"
    python3 "$here/export_counts.py" "$strata" decoded "$@" >seen || fail "they differ"
    jq -e "$filter" seen >out || fail "not $filter: $(cat seen)"
}

compare '.rules > 5000 and .irq > 50' local
# Of a CPU, an export leaves out the ends that are on another one, and the verbs do not.
compare '.rules > 3000' local -n 9000
compare '.rules > 1000 and .exits > 1000' xen-4.17 --cpu-vendor amd -e vmexit,vmentry
compare '.rules > 1000 and .exits > 1000' xen-4.22 --cpu-vendor amd -e vmexit,vmentry
compare '.exits > 100' xen-4.17 --cpu-vendor amd -e vmexit,vmentry -n 1000
compare '.guest > 1000 and .exits > 1000' kvm
compare '.rules > 500 and .irq > 100' vm
# Pages of one CPU are lost: what ends within that time may have ended before, on the other one.
cp -r kvm lossy
. "$here/../lib/lose_pages.sh"
lose_pages lossy/host/cpu1.raw 0.4 0.6
compare '.guest > 500 and .exits > 500' lossy
