# Small buffers lose records while the recorder stands still; the credit scheduler, of the CPU that runs guests; a guest with
# the devices that Xen emulates itself.
. /common.sh
tbuf size 4
# Xen may dereference a null pointer when it wakes a vCPU of dom0 on a CPU that leaves its pool: none is there.
on_first_cpu() {
    xl vcpu-list Domain-0 | awk 'NR > 1 && $4 != 0 { bad = 1 } END { exit bad || NR < 2 }'
}
xl vcpu-pin Domain-0 all 0 && until_true 240 on_first_cpu || say "FAILED: dom0 stays on the CPU"
xl cpupool-cpu-remove Pool-0 1 && xl cpupool-create 'name="guests"' 'sched="credit"' 'cpus=["1"]' || say "FAILED: no pool of CPUs"
echo 'pool = "guests"' >>/hvm.cfg

xentrace -D -e 0x7fff000 losses.raw &
recorder=$!
until_true 240 grown losses.raw 0 || say "FAILED: xentrace records nothing"
run_guest hvm
for i in 1 2 3; do
    kill -STOP $recorder
    work 10
    kill -CONT $recorder
    work 5
done
kill -TERM $recorder
wait $recorder || say "FAILED: xentrace: status $?"

# One class alone, of which many records have no time of their own.
xentrace -D -e hvm hvm.raw &
recorder=$!
until_true 240 test -e hvm.raw
run_guest hvm
kill -TERM $recorder
wait $recorder || say "FAILED: xentrace: status $?"
