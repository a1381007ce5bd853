# Strata records, by its own options and by xentrace's, while dom0 and guests work.
. /common.sh
tbuf 0x0fffe000
mask >mask.before

# All classes, and a size that only the first after the boot can set.
start_record all --buffer-size 512K
work 10
run_guest pvh
kill -TERM $recorder
finished all
mask >mask.after-all

# All that xenalyze can read.
start_record no-guest -e 'gen,sched,dom0op,hvm,mem,pv,shadow,hw'
work 10
run_guest pvh
run_guest hvm
kill -INT $recorder
finished no-guest

# What Xen's mask can express, and what it cannot.
start_record classes -e sched,dom0op
run_guest pvh
kill -HUP $recorder
finished classes
start subclass strata record --xen -o subclass -e 0x81000
until_true 240 test -e subclass/trace.json
run_guest pvh
kill -TERM $recorder
finished subclass
start_record globs -e 'vmexit,csched2_*,cpuid,domain_*'
run_guest pvh
kill -TERM $recorder
finished globs
# Events of the guest's own, as xentrace_format's files declare them, and kept with the trace.
cat >own.formats <<'END'
# The guest says hello.
0x0800f123  CPU%(cpu)d  %(tsc)d (+%(reltsc)8d)  my_event  [ magic = 0x%(1)08x, one = %(2)d, round = %(3)d ]
END
start own strata record --xen -o own --trace-events own.formats -e my_event
until_true 240 test -e own/trace.json
run_guest pvh
kill -TERM $recorder
finished own
start_record cpu --cpu 1
work 10
kill -TERM $recorder
finished cpu

# Xen and dom0's kernel, in one trace.
mount -t tracefs tracefs /sys/kernel/tracing
start_record both -e sched --event=host:sched:sched_process_exec,host:sched:sched_process_exit
work 10
run_guest pvh
kill -TERM $recorder
finished both

# The last seconds, or bytes, of both, and snapshots of them, which have what happened just before. /tmp is a tmpfs. One that
# says that a source did not send its latest events in time, as on a busy machine, is made again.
flight() {
    start "$1" strata record --xen -o "/tmp/$1" "--flight=$2" -e sched --event=host:sched:sched_process_exec
    until_true 240 grown "/tmp/$1/xen/trace.raw" "$3" || say "FAILED: nothing is recorded into $1: $(cat "$1.log")"
    for n in 1 2; do
        ln -s /bin/true "seen-$1-$n"
        for tries in $(seq 20); do
            rm -rf "/tmp/$1/snapshots/$n"
            "./seen-$1-$n" 2>/dev/null # busybox has no such program, which is all the same
            strata ctl "/tmp/$1" snapshot "$n" >>"$1.snapshots" 2>&1 || say "FAILED: a snapshot of $1: $(cat "$1.snapshots")"
            grep -q 'the latest events are missing' "/tmp/$1/snapshots/$n/trace.json" || break
        done
        echo "$tries" >"$1.$n.tries"
    done
    du -k "/tmp/$1/xen/trace.raw" >"$1.kept"
    wc -c <"/tmp/$1/xen/trace.raw" >"$1.written"
    kill -TERM $recorder
    finished "$1"
    mkdir "$1"
    cp -r "/tmp/$1/snapshots" "$1"
}
flight flight 60s 0
while :; do work 1; done &
working=$!
flight flight-size 128K 300000
kill $working

# A time limit; a buffer in memory; output to a pipe; xentrace's name and options.
run seconds strata record --xen -o seconds -t 2
start memory strata record --xen -o memory --keep-in-memory 1M
until_true 240 test -e memory/trace.json
work 10
run_guest pvh
kill -TERM $recorder
finished memory
run size strata record --xen -o size -e sched,pv --max-size 256K
run old-name /ours/xentrace -D -e all -T 2 old-name.raw
{ /ours/xentrace -D -e 0x21000 -c 0 -T 2 2>pipe.log; echo $? >pipe.status; } | cat >pipe.raw
start old-memory /ours/xentrace --discard-buffers --evt-mask=sched --memory-buffer=1M old-memory.raw
until_true 240 masked 0x0002f000
work 10
kill -TERM $recorder
finished old-memory

mask >mask.after
cp -r /run/strata state
