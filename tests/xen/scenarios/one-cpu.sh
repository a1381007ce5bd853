# A machine of two CPUs, of which Xen uses one, and no toolstack: domains have no names. The
# first buffers are made by xentrace's old name.
#
# xen: maxcpus=1
# dom0: toolstack=no
. /common.sh
run old-size /ours/xentrace -D -S 64 -e all -T 1 old-size.raw
run all strata record --xen -o all -t 1
run other strata record --xen -o other --cpu 1 -t 1
run none strata record --xen -o none --buffer-size 128K -t 1
