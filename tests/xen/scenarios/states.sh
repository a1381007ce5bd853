# What a recorder finds and what it must leave: somebody else at it, buffers of another size, a full disk,
# no rights, a recorder that was killed, small buffers that lose records, a CPU that goes.
. /common.sh
tbuf size 4
tbuf 0x0f7fe000
mask >mask.before

# The first start has to drop what was recorded since the boot, and lost. An emulated machine may take longer than a second
# for a hundred records of the scheduler.
start_record first
until_true 240 work_until_grown first/xen/trace.raw 200000 || say "FAILED: too little is recorded into first"
kill -TERM $recorder
finished first
mask >mask.first

# Somebody else's recorder, and ours after it.
start theirs xentrace -D -e sched theirs.raw
until_true 240 grown theirs.raw 0 || say "FAILED: xentrace records nothing"
mask >mask.theirs-before
run after-theirs strata record --xen -o after-theirs -e hvm -t 1
run after-theirs-old /ours/xentrace -D -e hvm -T 1 after-theirs-old.raw
mask >mask.theirs-after
before=$(wc -c <theirs.raw)
work 5
until_true 240 grown theirs.raw "$before" || say "FAILED: xentrace does not go on"
kill -TERM $recorder
finished theirs
tbuf 0x0f7fe000

# Ours, and another of ours after it.
start_record ours -e sched
mask >mask.ours-before
run after-ours strata record --xen -o after-ours -e hvm -t 1
run after-ours-old /ours/xentrace -e hvm -T 1 after-ours-old.raw
mask >mask.ours-after
kill -TERM $recorder
finished ours
mask >mask.ours

# Ours, whose mask is changed under it.
start_record changed -e sched
tbuf 0x0020f000
until_true 240 grep -q 'is set again' changed.log
mask >mask.set-again
work 3
kill -TERM $recorder
finished changed
mask >mask.changed

# Another size than they have; nonsense.
run other-size strata record --xen -o other-size --buffer-size 1M -t 1
run same-size strata record --xen -o same-size --buffer-size 16K -t 1
start old-other-size /ours/xentrace -D -S 256 -e sched old-other-size.raw
until_true 240 work_until_grown old-other-size.raw 16384 || say "FAILED: too little is recorded into old-other-size.raw"
kill -TERM $recorder
finished old-other-size
run no-event strata record --xen -o no-event -e 'no_such_*' -t 1
run no-cpu strata record --xen -o no-cpu --cpu 7 -t 1
run exists strata record --xen -o same-size -t 1
mask >mask.wrong

# A disk that gets full (a recorder keeps a little of it free for the trace's description), by itself and with a reserve.
mkdir /small
mount -t tmpfs -o size=512k small /small
start disk-full strata record --xen -o /small/trace --min-free 0
work 10
finished disk-full
mask >mask.disk-full
mkdir disk-full
cp -r /small/trace disk-full/
rm -rf /small/*
start reserve strata record --xen -o /small/trace --min-free 128K
work 10
finished reserve
mask >mask.reserve
mkdir reserve
cp -r /small/trace reserve/
rm -rf /small/*
start old-disk-full /ours/xentrace -D -e all /small/trace.raw
work 10
finished old-disk-full
mask >mask.old-disk-full
cp /small/trace.raw old-disk-full.raw
# A FIFO without a reader.
mkfifo fifo
start fifo-unread /ours/xentrace -D -e sched fifo
# Until it reads SIGTERM from a descriptor.
for n in $(seq 60); do
    grep -q 'SigBlk:.*[4-7c-f]...$' /proc/$recorder/status && break
    sleep 1
done
work 2
kill -TERM $recorder
finished fifo-unread
mask >mask.fifo-unread
rm fifo
run no-folder strata record --xen -o /no/such/folder -t 1

# Not root.
chmod 777 /out
run nobody su nobody -c 'strata record --xen -o /out/nobody -t 1'
run old-nobody su nobody -c '/ours/xentrace -D -e all -T 1 /out/old-nobody.raw'

# Killed, and started again.
start_record killed -e sched
kill -KILL $recorder
finished killed
mask >mask.killed
run after-killed strata record --xen -o after-killed -e mem -t 1
mask >mask.after-killed

# It stands still while the buffers get full; -x and -X.
start_record losses --strict
for i in 1 2; do
    kill -STOP $recorder
    work 10
    kill -CONT $recorder
    work 5
done
kill -TERM $recorder
finished losses
run leave-on strata record --xen -o leave-on -e sched --leave-enabled -t 1
mask >mask.leave-on
tbuf 0x0f7fe000
run old-leave-on /ours/xentrace -x -e 0x21000 -T 1 old-leave-on.raw
mask >mask.old-leave-on
tbuf 0x0f7fe000

# A CPU less.
xen-hptool cpu-offline 1 >offline.log 2>&1
run offline strata record --xen -o offline -t 2
xen-hptool cpu-online 1 >online.log 2>&1
run online strata record --xen -o online -t 2
mask >mask.after
cp -r /run/strata state
