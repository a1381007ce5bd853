#!/bin/sh
# strata export --to trace.dat: event by event as trace-cmd shows it, and as strata reads it.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

command -v trace-cmd >/dev/null || { echo "SKIPPED: trace-cmd is not installed"; exit 77; }
# It shows times as ticks now and then where memory that it has not set is not 0 (3.1.6).
trace_cmd='env -u MALLOC_PERTURB_ trace-cmd'

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local local
kernel_capture tsc tsc

# ---- a kernel's trace: trace-cmd and strata show the same of the pages and of what was exported ----
# The second guest ran the same kernel at the same addresses; its own table was not saved.
cp local/guest/proc/kallsyms tsc/guest/proc/
# What `trace-cmd restore` makes does not say that times are ticks; and trace-cmd shows them so at times by itself.
words() { sed -E 's/(\] +([^ ]+ +)?[0-9]+)\.([0-9]{9}:)/\1\3/' "$1" | tr -s ' '; }
for clock in local tsc; do
    $trace_cmd restore -c -t $clock/guest -k $clock/guest/proc/kallsyms -o head.dat >out 2>&1
    $trace_cmd restore -i head.dat -o pages.dat $clock/cpu0.raw $clock/cpu1.raw >out 2>&1
    $trace_cmd report -t pages.dat 2>err >restored
    words restored >expected
    "$strata" export --to trace.dat -o export.dat $clock 2>err
    $trace_cmd report -t export.dat 2>err >exported
    [ $clock = tsc ] || cmp restored exported || fail "trace-cmd shows another trace"
    words exported >shown
    [ "$(wc -l <expected)" -gt 10000 ] && cmp expected shown || fail "trace-cmd shows another trace of $clock"
    "$strata" report $clock >expected 2>err
    "$strata" report export.dat >shown 2>err
    cmp expected shown || fail "strata shows another trace of $clock"
    # Again, as a trace.dat.
    "$strata" export --to trace.dat -o again.dat export.dat 2>err
    cmp export.dat again.dat || fail "an export of an export differs"
done
"$strata" report -e 'sched:*' --cpu 1 --from +0.02 local >expected 2>err
"$strata" export --to trace.dat -e 'sched:*' --cpu 1 --from +0.02 -o export.dat local 2>err
"$strata" report export.dat >shown 2>err
# CPU 0, which is left out, has a loss.
grep -q '\[000\] .*LOST' shown || fail "a CPU that is left out: $(grep LOST shown)"
sed -i '/\[000\] .*LOST/d' shown
[ -s expected ] && cmp expected shown || fail "selection"

# Kernels of either byte order and word size.
python3 "$here/export_trace_dat_orders.py"
for kernel in o0l4 o0l8 o1l4 o1l8; do
    "$strata" export --to trace.dat -o export.dat $kernel.dat 2>err
    "$strata" report $kernel.dat >expected 2>err
    "$strata" report export.dat 2>err | cmp expected - || fail "$kernel, as strata reads it"
    $trace_cmd report -t $kernel.dat >report 2>err
    words report >expected
    $trace_cmd report -t export.dat >report 2>err
    words report | cmp expected - || fail "$kernel, as trace-cmd reads it: $(words report | diff expected - | head -4)"
    [ "$(wc -l <expected)" -eq 1005 ] || fail "$kernel has $(wc -l <expected) lines"
done

# Two kernels: a number that is another event in the second one, a thread that is another one.
cp -r local other
sed -i 's/==>/=>/' other/guest/events/sched/sched_switch/format
sed -i 's/^157 .*/157 other/' other/guest/saved_cmdlines
for event in sched_switch sched_waking; do
    for kernel in local other; do
        "$strata" report -e $event $kernel 2>err | sed -n 's/.*: prev_comm/prev_comm/p; s/.*: comm/comm/p'
    done | sort
done >expected
"$strata" export --to trace.dat -o export.dat local other -e sched_switch,sched_waking 2>err
# The buffer's name precedes the count of dropped events, if there is one.
$trace_cmd report -N export.dat 2>err | sed '/DROPPED]$/{N;s/CPU.*\n//;}' >report
sed -n 's/.*sched_[a-z]*: *//p' report >texts
for event in prev_comm comm; do
    grep "^$event" texts | sort
done | cmp expected - || fail "two kernels' events"
grep -q '^guest: .*\[00[01]\].* => ' report && grep -q '^guest: *ls|other-157 ' report && ! grep '^ .* => ' report ||
    fail "two kernels' buffers"

# What a text of a kernel has keeps its system, by which analyses find it.
{
    echo '# tracer: nop'
    echo '#'
    echo '# entries-in-buffer/entries-written: 6/6   #P:1'
    echo '<idle>-0 [000] d..2. 1.000100: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120'
    echo 'a-7 [000] d..2. 1.001000: sched_waking: comm=b pid=8 prio=120 target_cpu=000'
    echo 'a-7 [000] d..2. 1.001100: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120'
    echo 'b-8 [000] d.h.. 1.001200: irq_handler_entry: irq=27 name=virtio0'
    echo 'b-8 [000] d.h.. 1.001300: irq_handler_exit: irq=27 ret=handled'
    echo 'b-8 [000] d..2. 1.002100: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120'
} >text
"$strata" export --to trace.dat -o export.dat text 2>err || fail "$(cat err)"
for verb in sched irq 'sched --events' 'sched --who'; do
    # That its times are cut to microseconds is not in the export.
    # shellcheck disable=SC2086 # words
    "$strata" $verb -f json text 2>err | jq 'del(.rows?[]?.error)' >expected || fail "$verb: $(cat err)"
    # shellcheck disable=SC2086
    "$strata" $verb -f json export.dat 2>err | jq 'del(.rows?[]?.error)' | cmp expected - || fail "a text's $verb: $(cat err)"
done

# ---- all others ----
# compare CAPTURE... [OPTION...]: exported and reported with the same.
compare() {
    "$strata" export --to trace.dat -o export.dat "$@" 2>err
    "$strata" report -f json "$@" >report 2>err
    "$strata" report -f json export.dat >again 2>err
    $trace_cmd report -R -t export.dat >shown 2>err || fail "$*: $(cat err)"
    python3 "$here/export_trace_dat.py" report shown again || fail "$* differs"
}
compare boot.trace -n 8000
compare lttng-ust
compare xen.raw -n 8000
compare xen.raw -e '*_to_*' -n 5000 --cpu-hz 2.4G
cp boot.trace again.trace
compare boot.trace again.trace -n 2000
$trace_cmd report export.dat 2>err | grep -q '^vmm: ' || fail "the second source is no buffer of its own"

# Several layers on one timeline; those of a VMM's thread stand on the row of its vCPU.
. "$here/../lib/three_layers.sh"
compare trace
[ "$(sed -n 's/^ *vmm: .*-\([0-9]*\) *\[\(...\)\].*/\1 \2/p' shown)" = "4713 000
4714 001
4715 002
4711 002" ] || fail "rows of the VMM"

# The text of QEMU's events is QEMU's.
"$strata" report boot.trace | sed 's/ \[---\] *[0-9]* / /' >expected
"$strata" export --to trace.dat -o export.dat boot.trace
# 3.3 shows flags before the time.
$trace_cmd report -t export.dat 2>err | sed -nE 's/^.*\] *([^ ]* +)?([0-9.]+: [a-z])/\2/p' | sed -E 's/: (\w+): */ \1: /' >shown
tr -s ' ' <expected | sed 's/ $//' >expected.words
tr -s ' ' <shown | sed 's/ $//' | cmp expected.words - || fail "trace-cmd shows other texts"

# Long texts, times far apart and before 0, threads, strange names: a simpletrace file of all.
python3 - <<'END'
import random, struct
random.seed(7)
names = [b"a_text", b"common_pid", b"numbers", b"nothing"]
with open("made.events", "w") as declared:
    print('a_text(int64_t n, const char *s, int32_t common_pid) "%" PRId64 " 100%% of \\"%s\\" %d"', file=declared)
    print('common_pid(uint8_t a, uint16_t b, uint32_t c, uint64_t d) "%02x %04x %#x %20" PRIu64 "|"', file=declared)
    print('numbers(int8_t a, int16_t b, int32_t c, void *d) "%d %5d %-8d| %p"', file=declared)
    print('nothing(void) ""', file=declared)
with open("made.trace", "wb") as f:
    f.write(struct.pack("=QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, 4))
    for i, name in enumerate(names):
        f.write(struct.pack("=QQI", 0, i, len(name)) + name)
    time = 5
    for i in range(3000):
        kind = random.randrange(4)
        args = [lambda: struct.pack("=qI", -i, n) + bytes(random.choices(b"abc %", k=n)) + struct.pack("=q", i),
                lambda: struct.pack("=4Q", i % 256, 65535 - i, 2**32 - 1 - i, 2**64 - 1 - i),
                lambda: struct.pack("=4q", i % 256 - 128, -i, i - 2**31, -i),
                lambda: b""]
        n = random.choice([0, 1, 100, 111, 112, 113, random.randrange(9000), 30000 if i % 500 == 0 else 3])
        time += random.choice([0, 1, 1000, 2**27 - 1, 2**27, 2**40, 2**59 // 3000])
        args = args[kind]()
        f.write(struct.pack("=QQQII", 1, kind, time, 24 + len(args), random.randrange(5)) + args)
END
compare --trace-events made.events made.trace

# Nothing selected, and what cannot be.
"$strata" export --to trace.dat -o none.dat -e nosuch boot.trace 2>err
[ -z "$($trace_cmd report none.dat 2>/dev/null | grep -v '^cpus=1$\|^CPU 0 is empty$')" ] || fail "nothing selected"
[ -z "$("$strata" report none.dat)" ] || fail "nothing selected, as strata reads it"
status=0
"$strata" export --to trace.dat boot.trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -q -- '--output=FILE is required' err || fail "standard output: $(cat err)"

# A full disk is reported, and no file is left.
mkdir small
(
    trap '' XFSZ
    ulimit -f 1000
    exec "$strata" export --to trace.dat -o small/export.dat boot.trace 2>err
) && fail "a file larger than is allowed"
grep -q '^strata: small/export.dat: cannot write: File too large' err || fail "no room: $(cat err)"
[ -z "$(ls -A small)" ] || fail "no room: leaves $(ls -A small)"
