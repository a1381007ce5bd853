# Another program has left a mask of CPUs in Xen, which cannot be read.
. /common.sh
run left xentrace -D -c 0x1 -e 0x0002f000 -T 1 left.raw
start_record all -e sched
work 20
kill -TERM $recorder
finished all
run left-again xentrace -D -c 0x1 -e 0x0002f000 -T 1 left-again.raw
run old-name /ours/xentrace -D -e sched -T 2 old-name.raw
run small /ours/xentrace -D -e sched -M 64k -T 2 small.raw
