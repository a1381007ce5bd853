#!/bin/sh
# Text that ftrace, trace-cmd and perf print, read as events: as the files from which it was made, and by itself.
. "$(dirname "$0")/../lib/golden.sh"

# compare TEXT FILE N: both are the same events, with N numbers in the fields of the text.
compare() {
    "$strata" report -f json "$1" >text.json 2>err || fail "$(cat err)"
    ! grep -v -e ' events were lost (CPU 0: [0-9]*, CPU 1: [0-9]*) in 16 places; more may be missing that are not counted$' \
        -e '^strata: events may be missing; how many is unknown$' err || fail "$(cat err)"
    "$strata" report -f json "$2" >file.json 2>/dev/null || :
    python3 "$here/trace_text.py" text.json file.json "$3" || fail "$1 is not $2"
}

for name in kvm:0 switch:0 lost:6000 one:200 stream:6000 packed:13000; do
    case="perf script of ${name%:*}"
    xz -dc "$DATA/perf/${name%:*}.script.xz" >text
    xz -dc "$DATA/perf/${name%:*}.data.xz" >file
    compare text file "${name#*:}"
done

# The analyses work.
case="perf script: sched, irq, io"
xz -dc "$DATA/perf/packed.script.xz" >text
xz -dc "$DATA/perf/packed.data.xz" >file
for verb in "sched --by task" "irq" "latency --no-causal softirq"; do
    for input in text file; do
        "$strata" $verb -f json $input 2>/dev/null | jq -c '[.rows[] | {key: (.key | del(.comm, .source)), n, sum}]' >$input.rows
    done
    [ "$(jq length text.rows)" -gt 0 ] || fail "$verb: nothing"
    diff file.rows text.rows || fail "$verb"
done

# ---- ftrace's ----
case=trace_pipe
cat >trace.txt <<'END'
# tracer: nop
#
# entries-in-buffer/entries-written: 3/3   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
CPU:1 [LOST 12 EVENTS]
          <idle>-0       [001] d..2.  1234.567890: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my-task [1] next_pid=70 next_prio=120
     my-task [1]-70      [001] .....  1234.567990: tracing_mark_write: B|70|draw
     my-task [1]-70      (     70) [001] .....  1234.568000: do_this <-do_that+0x10
     my-task [1]-70      (-------) [001] d.h..  1234.568100: irq_handler_entry: irq=5 name=virtio0
     my-task [1]-70      [001]  1234.568200: irq_handler_exit: irq=5 ret=handled
     my-task [1]-70      [001] .....  1234.568300: block_rq_issue: 254,0 WS 4096 () 2048 + 8 none,0,0 [my-task [1]]
     my-task [1]-70      [001] .....  1234.568400: kmalloc: (foo+0x1) call_site=x ptr=1
     my-task [1]-70      [001] .....  1234.568500: <stack trace>
 => do_this
 => do_that
          <idle>-0       [000] d.h..  1234.568900: block_rq_complete: 254,0 WS () 2048 + 8 [0]
     my-task [1]-70      [001] .....  1234.569000: tracing_mark_write: E|70
     my-task [1]-70      [001] d..2.  1234.569100: sched_switch: prev_comm=my-task [1] prev_pid=70 prev_prio=120 prev_state=D|K ==> next_comm=swapper/1 next_pid=0 next_prio=120
END
"$strata" report -f json trace.txt 2>err | jq -r 'select(.event) | "\(.time_ns) \(.cpu) \(.pid) \(.comm) \(.event) \(.fields | tojson)"' >got
cat >expected <<'END'
1234567890000 1 0 <idle> sched_switch {"prev_comm":"swapper/1","prev_pid":0,"prev_prio":120,"prev_state":0,"next_comm":"my-task [1]","next_pid":70,"next_prio":120}
1234567990000 1 70 my-task [1] print {"buf":"B|70|draw"}
1234568000000 1 70 my-task [1] function {"func":"do_this","parent":"do_that+0x10"}
1234568100000 1 70 my-task [1] irq_handler_entry {"irq":5,"name":"virtio0"}
1234568200000 1 70 my-task [1] irq_handler_exit {"irq":5,"ret":1}
1234568300000 1 70 my-task [1] block_rq_issue {"dev":266338304,"rwbs":"WS","bytes":4096,"sector":2048,"nr_sector":8,"comm":"my-task [1]"}
1234568400000 1 70 my-task [1] kmalloc {"text":"(foo+0x1) call_site=x ptr=1"}
1234568500000 1 70 my-task [1] kernel_stack {"text":"<stack trace>"}
1234568900000 0 0 <idle> block_rq_complete {"dev":266338304,"rwbs":"WS","sector":2048,"nr_sector":8,"error":0}
1234569000000 1 70 my-task [1] print {"buf":"E|70"}
1234569100000 1 70 my-task [1] sched_switch {"prev_comm":"my-task [1]","prev_pid":70,"prev_prio":120,"prev_state":2,"next_comm":"swapper/1","next_pid":0,"next_prio":120}
END
diff expected got || fail "events"
echo 'strata: 12 events were lost (CPU 1: 12) in 1 place' | diff - err || fail "losses"
[ "$("$strata" latency --no-causal -f json trace.txt 2>/dev/null | jq -c '[.rows[] | [.key.name, .sum]]')" = '[["block",600000],["irq",100000],["marker",1010000]]' ] ||
    fail "spans"
[ "$("$strata" info -f json trace.txt | jq -r .format)" = kernel-text ] || fail "info"
[ "$("$strata" io -f json --task 'my-task*' trace.txt 2>/dev/null | jq '.rows[0].n')" = 1 ] || fail "$("$strata" io --task 'my-task*' trace.txt 2>&1)"
# By a pipe, too, and with the text as it was.
"$strata" report - <trace.txt 2>/dev/null | sed -n 's/^.* kmalloc: //p' | diff - /dev/fd/3 3<<'END' || fail "a pipe"
(foo+0x1) call_site=x ptr=1
END

case="overwritten"
sed 's,^# entries-in-buffer/entries-written: 3/3,# entries-in-buffer/entries-written: 11/4711,' trace.txt >overwritten.txt
"$strata" report overwritten.txt 2>err >out
echo 'strata: 4712 events were lost (CPU 1: 12) in 2 places, and an unknown number in 1 place' | diff - err || fail "$(cat err)"
# CPU 0 begins later.
grep -n LOST out | cut -d: -f1 | paste -sd' ' | grep -qx '1 2 11' || fail "$(cat out)"

# What is lost of a CPU is missing between its last event and its next one; what begins meanwhile elsewhere may not be complete.
case="a loss of a CPU"
cat >loss.txt <<'END'
            a-7       [000] .....     1.000000: sys_enter: NR 1 (0, 0, 0, 0, 0, 0)
            b-8       [001] .....     1.500000: sys_enter: NR 1 (0, 0, 0, 0, 0, 0)
            a-7       [000] .....     2.100000: block_rq_issue: 254,0 WS 4096 () 2048 + 8 none,0,0 [a]
            a-7       [000] .....     2.500000: block_rq_complete: 254,0 WS () 2048 + 8 [0]
CPU:1 [LOST 12 EVENTS]
            b-8       [001] .....     3.500000: sys_exit: NR 1 = 1
            a-7       [000] .....     5.000000: sys_exit: NR 1 = 1
END
# loss_of FILE: from when to when.
loss_of() { "$strata" report -f json "$1" 2>/dev/null | jq -c 'select(.cause) | [.cpu, .lost, .since_ns, .time_ns]'; }
[ "$(loss_of loss.txt)" = '[1,12,1500000000,3500000000]' ] || fail "$(loss_of loss.txt)"
# Half of CPU 1's time is unknown.
[ "$("$strata" latency --no-causal block -f json loss.txt 2>/dev/null | jq -c '[.covered_ns, .unpaired.lost, .rows[].n]')" = '[3000000000,1,0]' ] ||
    fail "$("$strata" latency --no-causal block -f json loss.txt 2>/dev/null)"
# By a pipe, too.
cat loss.txt | "$strata" report -f json - 2>/dev/null | diff - /dev/fd/3 3<<END || fail "a pipe"
$("$strata" report -f json loss.txt 2>/dev/null)
END
# perf's.
cat >perf.txt <<'END'
 a     7 [000]     1.000000000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120
 a     9 [001]     2.000000000: sched:sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120
 b     8 [000]     3.000000000: PERF_RECORD_LOST lost 5
END
[ "$(loss_of perf.txt)" = '[0,5,1000000000,3000000000]' ] || fail "$(loss_of perf.txt)"
# A thread that has ended has no number.
echo ':-1  2943/-1 [000]     3.500000000: sched:sched_switch: prev_comm=a prev_pid=8 prev_prio=120 prev_state=Z ==> next_comm=b next_pid=9 next_prio=120' >>perf.txt
[ "$("$strata" info -f json perf.txt | jq -c '[.events, .lost.events, .lost.uncounted]')" = '[3,5,0]' ] || fail "$("$strata" info -f json perf.txt)"

# A loss of a CPU may be long: many lines of others come before the one that tells it. What a thread did meanwhile is unknown then.
case="a long loss of a CPU"
switches() { # CPU 1's 12,000
    awk 'BEGIN {
        for (i = 0; i < 12000; i++)
            printf "t%d-%d [001] d..2. %.6f: sched_switch: prev_comm=t%d prev_pid=%d prev_prio=120 prev_state=R ==> next_comm=t%d next_pid=%d next_prio=120\n",
                i % 2 + 1, i % 2 + 1, 10.1 + i / 1e5, i % 2 + 1, i % 2 + 1, 2 - i % 2, 2 - i % 2
    }'
}
{
    echo 't7-7 [003] d..2. 10.000005: sched_switch: prev_comm=t7 prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=t8 next_pid=8 next_prio=120'
    echo 't8-8 [003] d.h.. 10.000006: irq_handler_entry: irq=5 name=x'
    echo 't5-5 [000] d..2. 10.000100: sched_switch: prev_comm=t5 prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=t6 next_pid=6 next_prio=120'
    echo 't6-6 [000] d..2. 10.090000: sched_waking: comm=t5 pid=5 prio=120 target_cpu=000'
    echo 't6-6 [000] d..2. 10.090010: sched_switch: prev_comm=t6 prev_pid=6 prev_prio=120 prev_state=R ==> next_comm=t5 next_pid=5 next_prio=120'
    echo 't5-5 [000] d..2. 10.090020: sched_switch: prev_comm=t5 prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=t6 next_pid=6 next_prio=120'
    switches
    echo 'CPU:3 [LOST 1000 EVENTS]'
    echo 't7-7 [003] d..2. 11.000001: sched_switch: prev_comm=t7 prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=t8 next_pid=8 next_prio=120'
} >long.txt
# states_of FILE: of thread 5, that ran on CPU 0 and may have on CPU 3.
states_of() { "$strata" sched --states --pid 5 -f json "$@" 2>err | jq -c '[.rows[].key.state] | unique'; }
[ "$(states_of long.txt)" = '["running"]' ] || fail "$(states_of long.txt)"
! grep . err || fail "a note"
# The last event before the loss need not be selected.
states_of long.txt -e 'sched_*' | grep -qx '\["running"\]' || fail "$(states_of long.txt -e 'sched_*')"
"$strata" export --to sqlite -o long.db -e 'sched_*' long.txt 2>err || fail "$(cat err)"
python3 - <<'END' || fail "in SQL"
import sqlite3

states = sqlite3.connect("long.db").execute("select distinct state from state where kind = 'thread' and id = 5 order by 1").fetchall()
assert states == [("running",), ("unknown",)], states
END
# Inside of a loss, all that its CPU did is unknown, however far away its begin and its end are.
awk 'BEGIN {
    for (i = 0; i < 1600; i++) {
        cpu = i % 2; t = i / 20; a = cpu * 10 + 1 + int(i / 2) % 2; b = cpu * 10 + 2 - int(i / 2) % 2
        if (cpu == 1 && t > 18 && t < 57) { lost++; continue }
        if (cpu == 1 && lost) { print "CPU:1 [LOST " lost " EVENTS]"; lost = 0 }
        printf "t%d-%d [00%d] d..2. %.6f: sched_switch: prev_comm=t%d prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=t%d next_pid=%d next_prio=120\n", a, a, cpu, t, a, a, b, b
        printf "t%d-%d [00%d] d.h.. %.6f: irq_handler_entry: irq=5 name=x\n", b, b, cpu, t + 0.001
        printf "t%d-%d [00%d] d.h.. %.6f: irq_handler_exit: irq=5 ret=handled\n", b, b, cpu, t + 0.002
    }
}' >far.txt
for verb in sched:4 stat:1 irq:1 latency:1 io:1 summary:1; do
    "$strata" ${verb%:*} --from 30 --until 35 far.txt >out 2>&1 || [ "${verb%:*}" = io ] || fail "${verb%:*}: $(cat out)"
    [ "${verb%:*}" = io ] || grep -q 'lost in 1 place' out || fail "${verb%:*}: $(cat out)"
done
[ "$("$strata" sched --by cpu -f json --from 30 --until 35 far.txt | jq -c '[.rows[] | [.key.cpu, .unknown_share]]')" = '[[0,0],[1,1]]' ] ||
    fail "$("$strata" sched --by cpu --from 30 --until 35 far.txt 2>&1)"
[ "$("$strata" sched --states --pid 1 -f json --from 30 --until 35 far.txt | jq -c '[.rows[].key.state] | unique')" = '["running"]' ] ||
    fail "$("$strata" sched --states --pid 1 --from 30 --until 35 far.txt 2>&1)"
for options in "--from 30 --until 35" "--from 30 --limit 50"; do
    "$strata" irq -f json $options far.txt | jq -e '.covered_ns * 2 == .duration_ns' >/dev/null || fail "$options: $("$strata" irq $options far.txt 2>&1)"
    rm -f far.db
    "$strata" export --to sqlite -o far.db $options far.txt 2>err || fail "$(cat err)"
    python3 - <<'END' || fail "in SQL, $options"
import sqlite3

states = sqlite3.connect("far.db").execute("select distinct kind, id, state from state where kind = 'cpu' or id = 1 order by 1, 2, 3").fetchall()
assert states == [("cpu", 0, "interrupt"), ("cpu", 0, "running"), ("cpu", 1, "unknown"), ("thread", 1, "running"), ("thread", 1, "unknown")], states
END
done
# … also where the window has nothing else.
"$strata" stat -e sched_switch --cpu 1 --from 30 --until 35 far.txt >out 2>&1
grep -q 'events were lost in 1 place' out || fail "$(cat out)"
! "$strata" stat --strict --cpu 1 --from 30 --until 35 far.txt >out 2>&1 || fail "--strict"
# A pipe is read once: that is noted.
cat long.txt | "$strata" sched --pid 5 - >out 2>err
grep -q '^strata: standard input: 1 loss was found late: .*; save the text to a file and read that$' err || fail "$(cat err)"
# … also where states can still be taken back: spans cannot.
{ sed '/^t[12]-[12] /d' long.txt | sed '/LOST/,$d'; switches | sed 2000q; sed -n '/LOST/,$p' long.txt; } >near.txt
cat near.txt | "$strata" stat - >out 2>err
grep -q '^strata: standard input: 1 loss was found late' err || fail "$(cat err)"
"$strata" stat near.txt >out 2>err
! grep . err || fail "$(cat err)"
# When a thread moved in a loss, and how often, is unknown.
cat >moved.txt <<'END'
t6-6 [001] d..2. 10.000001: sched_switch: prev_comm=t6 prev_pid=6 prev_prio=120 prev_state=R ==> next_comm=t5 next_pid=5 next_prio=120
t7-7 [000] d..2. 10.000002: sched_switch: prev_comm=t7 prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=t8 next_pid=8 next_prio=120
t5-5 [001] d..2. 10.000003: sched_switch: prev_comm=t5 prev_pid=5 prev_prio=120 prev_state=R ==> next_comm=t6 next_pid=6 next_prio=120
CPU:1 [LOST 9 EVENTS]
t6-6 [001] d..2. 10.000007: sched_switch: prev_comm=t6 prev_pid=6 prev_prio=120 prev_state=R ==> next_comm=t9 next_pid=9 next_prio=120
t8-8 [000] d..2. 10.000008: sched_switch: prev_comm=t8 prev_pid=8 prev_prio=120 prev_state=R ==> next_comm=t5 next_pid=5 next_prio=120
t5-5 [000] d..2. 10.000009: sched_switch: prev_comm=t5 prev_pid=5 prev_prio=120 prev_state=R ==> next_comm=t7 next_pid=7 next_prio=120
END
[ "$("$strata" sched --pid 5 -f json moved.txt 2>err | jq .rows[0].migrations)" = 0 ] || fail "$("$strata" sched --pid 5 moved.txt 2>&1)"
# So it is of what was overwritten: CPU 3 begins later.
case="overwritten: a CPU that begins late"
{ echo '# entries-in-buffer/entries-written: 12005/13000   #P:4'; grep -v -e LOST -e ' 10.00000[56]: ' long.txt; } >late.txt
[ "$(states_of late.txt)" = '["running"]' ] || fail "$(states_of late.txt)"
sed -i 's,/13000 ,/12005 ,' late.txt
[ "$(states_of late.txt)" = '["running","sleeping","woken"]' ] || fail "$(states_of late.txt)"

# The text of one CPU of several.
case="per_cpu/cpu0/trace"
{ echo '# entries-in-buffer/entries-written: 12005/12004   #P:4'; grep ' \[000\] ' long.txt; } >cpu0.txt
[ "$(states_of cpu0.txt)" = '["running"]' ] || fail "$(states_of cpu0.txt)"
echo 'strata: cpu0.txt: it has events of 1 CPU of 4: what the others did is unknown' | diff - err || fail "$(cat err)"
"$strata" report -f json cpu0.txt 2>/dev/null | jq -c 'select(.cause) | .cpu' | paste -sd' ' | grep -qx '1 2 3' || fail losses
sed -i 's/#P:4/#P:1/' cpu0.txt
[ "$(states_of cpu0.txt)" = '["running","sleeping","woken"]' ] || fail "$(states_of cpu0.txt)"

case="a text of some CPUs, or of some threads"
xz -dc "$DATA/perf/packed.script.xz" >whole.txt
"$strata" sched whole.txt >out 2>err || fail "$(cat err)"
! grep . err || fail "$(cat err)"
for cpu in 0 1; do
    grep " \[00$cpu\] " whole.txt >"cpu$cpu.txt"
    "$strata" sched --by cpu -f json "cpu$cpu.txt" 2>err | jq -c '[.rows[] | [.key.cpu, .unknown_share == 1]] | sort' >got
    [ "$(cat got)" = "[[0,$([ $cpu = 1 ] && echo true || echo false)],[1,$([ $cpu = 0 ] && echo true || echo false)]]" ] || fail "$(cat got)"
    grep -q "^strata: cpu$cpu.txt: it has no events of CPU $((1 - cpu)), which others name: what it did is unknown$" err || fail "$(cat err)"
done
# perf, which runs on CPU 1 in between, waits for 5 ms.
[ "$("$strata" sched -f json cpu0.txt 2>/dev/null | jq '[.rows[] | select(.key.pid == 133) | .wait // 0] | add < 5000000')" = true ] || fail "$("$strata" sched cpu0.txt 2>&1)"
grep '^ *ls ' whole.txt >ls.txt
grep '^ *swapper ' whole.txt >swapper.txt
awk '$2 == 133' whole.txt >133.txt
for name in ls swapper 133; do
    ! "$strata" sched $name.txt >out 2>err || fail "$name: $(cat out)"
    grep -q "^strata: $name.txt: it has events of only certain threads: " err || fail "$name: $(cat err)"
    grep -q ', except for the threads that perf recorded or printed, which are not enough for states' err || fail "$name: $(cat err)"
done
# Spans of a CPU that has run other threads meanwhile may have ended in these.
grep '^ *sh ' whole.txt >sh.txt
for name in whole ls swapper sh 133; do
    "$strata" latency --no-causal softirq-raise softirq --events -f json $name.txt 2>/dev/null | jq -c 'del(.task)' | sort >$name.spans
    comm -13 whole.spans $name.spans >wrong
    ! grep . wrong || fail "spans of $name"
done
[ "$(wc -l <swapper.spans)" -gt 2000 ] || fail "$(wc -l <swapper.spans) spans"
# perf script of perf record -a: until the last CPU has its first event, threads may have run there unseen, as in perf.data.
xz -dc "$DATA/perf/packed.data.xz" >packed.data
complete_from() { "$strata" info -f json "$1" 2>/dev/null | jq -r '.facts["complete from"]'; }
[ "$(complete_from packed.data)" = 34.690957994 ] || fail "$(complete_from packed.data)"
[ "$(complete_from whole.txt)" = 34.690957994 ] || fail "$(complete_from whole.txt)"
"$strata" sql --format=json -c "SELECT min(begin_ns) AS first FROM state WHERE kind = 'thread' AND state IN ('sleeping', 'woken', 'preempted')" whole.txt 2>err |
    jq -e '.first >= 34690957994' >out || fail "before the second CPU begins: $(cat out err)"
for name in cpu0 cpu1 ls 133; do
    [ "$(complete_from $name.txt)" = null ] || fail "$name: $(complete_from $name.txt)"
done
# A filter of events leaves out switches, also all of a CPU: no state follows from the others.
for rule in 'prev_state=[SD]' 'next_pid=[0-9]*[13579] ' 'prev_comm=swapper' '_pid=133 ' '_pid=0 ' '\\[000\\]' '\\[001\\]'; do
    awk -v rule="$rule" '!/sched_switch/ || $0 ~ rule' whole.txt >filtered.txt
    ! "$strata" sched filtered.txt >out 2>err || fail "$rule: $(cat out)"
    grep -q "^strata: filtered.txt: CPUs go on to another thread [0-9]* times without a switch ([0-9]* are there): .*; what threads and CPUs did is unknown$" err ||
        fail "$rule: $(cat err)"
    grep -q ', except for switches between which others were left out, ' err || fail "$rule: $(cat err)"
    [ "$("$strata" sql --format=json -c "SELECT count(*) AS n FROM state" filtered.txt 2>/dev/null | jq .n)" = 0 ] || fail "$rule: states"
    "$strata" stat --strict filtered.txt >out 2>&1 && fail "$rule: --strict"
done
# Some kernels record no switch from the idle thread of some CPUs.
for cpu in 000 001; do
    awk -v cpu="[$cpu]" '!/sched_switch/ || index($0, cpu) == 0 || !/prev_comm=swapper/' whole.txt >idle.txt
    "$strata" sched -f json idle.txt 2>err >out || fail "idle: $(cat err)"
    ! grep -E 'left out|only certain threads' err || fail "idle: $(cat err)"
    jq -e '.contradictions.switches > 50' out >told || fail "idle: $(jq -c .contradictions out)"
done
# What is exported says so.
for to in ctf trace.dat; do
    rm -rf filtered.$to
    "$strata" export --to $to -o filtered.$to filtered.txt 2>err || fail "$(cat err)"
    ! "$strata" sched filtered.$to >out 2>err || fail "$to: $(cat out)"
    grep -q 'between which others were left out' err || fail "$to: $(cat err)"
done
# Where few do not follow, what is between these is unknown, and counted as info counts it.
awk '!/sched_switch/ || /prev_prio=120/' whole.txt >few.txt
[ "$("$strata" info -f json few.txt 2>err | jq -c .switches)" = '{"count":986,"not_following":8}' ] || fail "$("$strata" info few.txt 2>&1)"
[ "$("$strata" sched -f json few.txt 2>err | jq -c '.contradictions | [.checked, .switches]')" = '[986,8]' ] || fail "$("$strata" sched few.txt 2>&1)"
# What a text cannot say is not said.
head -n 100 cpu0.txt >few.txt
"$strata" stat few.txt >out 2>err
! grep 'which others name' err || fail "$(cat err)"

# perf script prints what was lost only if it is asked to: without a line that tells a loss, nothing is known of losses.
for lines in '1,2 unknown:' '1,3 5'; do
    sed -n ${lines%% *}p perf.txt | sed 's/\[001\]/[000]/' >part.txt
    "$strata" info part.txt | grep -q "^  lost  *${lines#* } " || fail "$("$strata" info part.txt)"
    # Nor by what is exported of it.
    for to in ctf trace.dat; do
        rm -rf part.$to
        "$strata" export --to $to -o part.$to part.txt 2>err || fail "$(cat err)"
        "$strata" info part.$to 2>err | grep -q "^  lost  *${lines#* } " || fail "$to: $("$strata" info part.$to)"
    done
done
sed -n 1,2p perf.txt >part.txt
"$strata" sched part.txt 2>&1 | grep -q '^events may be missing; how many is unknown$' || fail "$("$strata" sched part.txt 2>&1)"
# What is lost after the last line that tells a loss, it never prints.
sed -n 1,3p perf.txt >part.txt
"$strata" info part.txt | grep -q '^  lost  *5 events were lost (CPU 0: 5) in 1 place; more may be missing that are not counted$' || fail "$("$strata" info part.txt)"
# The header of --header has as many lines as perf was given events.
case="perf script --header"
{
    printf '# ========\n# captured on    : Mon Nov 30 10:19:29 2026\n'
    seq 400 | sed 's/.*/# event : name = sched:sched_&, , id = { 40274, 40275 }, type = 2, size = 128, config = 0x163/'
    printf '# ========\n#\n'
    cat part.txt
} >header.txt
[ "$("$strata" info -f json header.txt | jq -r '.format, .events' | paste -sd' ')" = 'kernel-text 2' ] || fail "$("$strata" info header.txt 2>&1)"
[ "$(cat header.txt | "$strata" info -f json - | jq -r '.format, .events' | paste -sd' ')" = 'kernel-text 2' ] || fail "a pipe"

# A task's name may have in it what ends a name.
case="names of tasks"
cat >names.txt <<'END'
cpus=2
          <idle>-0     [001]     1.000000: sched_switch:         swapper/1:0 [120] R ==> kworker/1:2:77 [120]
     kworker/1:2-77    [001]     1.000001: sched_wakeup:         a [1] b:7:9:33 [120] CPU:001
     kworker/1:2-77    [001]     1.000002: sched_switch:         kworker/1:2:77 [120] W ==> a pid=1 prio=2:5 [98]
               a-5     [001]     1.000003: sched_waking:         comm=a pid=1 prio=2 pid=5 prio=98 target_cpu=000
               a-5     [001]     1.000004: sched_switch:         seventeen letters:5 [98] S ==> b:6 [120]
END
"$strata" report -f json names.txt | jq -c '[.fields | .prev_comm, .prev_pid, .prev_state, .next_comm, .next_pid, .comm, .pid]' >got
diff got - <<'END' || fail "wrong"
["swapper/1",0,0,"kworker/1:2",77,null,null]
[null,null,null,null,null,"a [1] b:7:9",33]
["kworker/1:2",77,128,"a pid=1 prio=2",5,null,null]
[null,null,null,null,null,"a pid=1 prio=2",5]
[null,null,null,null,null,null,null]
END

# trace-cmd's words, also at the begin, of a file and of one of several instances.
case="events dropped"
{ printf 'cpus=2\nCPU:0 [28598 EVENTS DROPPED]\n'; sed 's/\[LOST 12 EVENTS\]/[EVENTS DROPPED]/' loss.txt; } >dropped.txt
[ "$(loss_of dropped.txt | paste -sd' ')" = '[0,28598,null,1000000000] [1,null,1500000000,3500000000]' ] || fail "$(loss_of dropped.txt)"
sed 's/^CPU/x: CPU/' dropped.txt >instance.txt
[ "$(loss_of instance.txt)" = "$(loss_of dropped.txt)" ] || fail "$(loss_of instance.txt)"

case=latency-format
cat >latency.txt <<'END'
# tracer: nop
#
# nop latency trace v1.1.5 on 6.18.0
# --------------------------------------------------------------------
       a-7         0..... 3056749us : sys_exit: NR 9 = 1
END
! "$strata" report latency.txt >out 2>err || fail "it is read"
grep -q '^strata: latency.txt: .* latency-format .* is not read' err || fail "$(cat err)"

case="lines that are damaged"
{ cat trace.txt; echo garbage; tail -n 1 trace.txt; } >damaged.txt
"$strata" report damaged.txt >out 2>err
grep -q ' LOST: events, how many is unknown, .* with 7 damaged bytes of input skipped$' out || fail "$(cat out)"
[ "$("$strata" info -f json damaged.txt | jq .events)" -eq 12 ] || fail "the line behind it"
{ cat trace.txt; head -c 100000 /dev/zero | tr '\0' x; echo; tail -n 1 trace.txt; } >long.txt
[ "$("$strata" info -f json long.txt | jq -c "[.events, .lost.uncounted, .lost.skipped_bytes]")" = "[12,1,100000]" ] || fail "a line that is too long"
{ cat trace.txt; head -c 100000 /dev/zero | tr "\0" x; } >long.txt
[ "$("$strata" info -f json long.txt | jq -c "[.events, .lost.uncounted, .lost.skipped_bytes]")" = "[11,1,100000]" ] || fail "a last line that is too long"

case="a page of systrace"
{
    printf '<!DOCTYPE html>\n<html>\n<head><title>Android System Trace</title>\n<script>\n'
    head -c 30000 /dev/zero | tr '\0' y
    printf '\n x-1 [000] 1.000000: no: event\n</script>\n</head>\n<body>\n  <script class="trace-data" type="application/text">\n'
    cat trace.txt
    printf '  </script>\n</body>\n</html>\n'
} >systrace.html
"$strata" report systrace.html 2>/dev/null | grep -v LOST >got
"$strata" report trace.txt 2>/dev/null | grep -v LOST | diff - got || fail "other events"

case="ticks"
printf '# tracer: nop\n          cat-9   [003] ...1 123456789: sys_exit: NR 0 = -11\n' >ticks.txt
[ "$("$strata" report -f json ticks.txt | jq -c '[.time_ns, .time, .cpu, .fields]')" = '[null,123456789,3,{"id":0,"ret":-11}]' ] ||
    [ "$("$strata" report -f json ticks.txt | jq -c '[.cpu, .fields]')" = '[3,{"id":0,"ret":-11}]' ] || fail "$("$strata" report -f json ticks.txt)"

[ "$("$strata" report -f json --cpu-hz 1000M ticks.txt | jq -c .time_ns)" = 123456789 ] || fail "with a rate"
"$strata" stat ticks.txt >out 2>err
grep -q '^strata: ticks.txt: its times are ticks of a clock whose rate it does not say (x86-tsc); give the rate with --cpu-hz$' err || fail "$(cat err)"

# System calls: as ftrace prints them, with the option verbose, newer kernels, with the option fields; as perf, as trace-cmd with -R.
case="system calls"
cat >calls.txt <<'END'
              ls-13   [001] .....     1.000000: sys_openat(dfd: 0xffffff9c, filename: 0x7fcc, flags: 80000, mode: 0)
              ls-13   [001] .....     1.000001: sys_openat -> 0x3
              ls-13   [001] .....     1.000002: sys_getuid()
              ls-13   [001] .....     1.000003: sys_getuid -> 0x0
              ls-13   [001] .....     1.000004: sys_write(unsigned int fd: 1, const char * buf: 0x7ffc "a, b: c", size_t count: 0x10)
              ls-13   [001] .....     1.000005: sys_write -> 0xfffffffffffffffe
              ls-13   [001] .....     1.000006: sys_enter_write: __syscall_nr=0x1 (1) fd=0x3 (3) buf=(0xffff8881) count=0x10 (16)
              ls-13   [001] .....     1.000007: sys_exit_write: __syscall_nr=0x1 (1) ret=0xfffffffffffffffe (-2)
              ls-13   [001] .....     1.000008: sys_enter_write: __syscall_nr=1 fd=0x00000003 buf=0x7ffc count=0x10
              ls-13   [001] .....     1.000009: sys_exit_write: __syscall_nr=1 ret=0x10
              ls-13   [001] .....     1.000010: sys_exit_write:       0x10
              ls-13   [001] .....     1.000011: sys_write(fd)
              ls-13   [001] .....     1.000012: sys_write(fd: 3g)
END
sed 's/[^[]*//; s/^.001. ..... *\([0-9.]*\): \(sys_e[a-z]*_write\):/ls 13 [001] \1: syscalls:\2:/; /^ls/!d' calls.txt >perf.txt
"$strata" report -f json calls.txt 2>err | jq -c '[.group, .event, .fields]' >got
! grep -v 'lost' err || fail "$(cat err)"
cat >expected <<'END'
["syscalls","sys_enter_openat",{"dfd":4294967196,"filename":32716,"flags":524288,"mode":0}]
["syscalls","sys_exit_openat",{"ret":3}]
["syscalls","sys_enter_getuid",{"text":""}]
["syscalls","sys_exit_getuid",{"ret":0}]
["syscalls","sys_enter_write",{"fd":1,"buf":32764,"count":16}]
["syscalls","sys_exit_write",{"ret":-2}]
["syscalls","sys_enter_write",{"__syscall_nr":1,"fd":3,"count":16}]
["syscalls","sys_exit_write",{"__syscall_nr":1,"ret":-2}]
["syscalls","sys_enter_write",{"__syscall_nr":1,"fd":3,"buf":32764,"count":16}]
["syscalls","sys_exit_write",{"__syscall_nr":1,"ret":16}]
["syscalls","sys_exit_write",{"ret":16}]
["syscalls","sys_enter_write",{"text":"fd"}]
["syscalls","sys_enter_write",{"text":"fd: 3g"}]
END
diff expected got || fail "ftrace"
"$strata" report -f json perf.txt 2>/dev/null | jq -c '[.group, .event, .fields]' >got
grep '_write' expected | sed -n 3,7p | diff - got || fail "perf"
"$strata" report calls.txt | sed -n '5s/^.* ls-13 //p' | grep -qx 'sys_enter_write: unsigned int fd: 1, const char \* buf: 0x7ffc "a, b: c", size_t count: 0x10' || fail "$("$strata" report calls.txt)"
[ "$("$strata" latency -f json calls.txt 2>/dev/null | jq -c '[.rows[] | [.key.name, .n]] | sort')" = '[["syscall-getuid",1],["syscall-openat",1],["syscall-write",3]]' ] ||
    fail "$("$strata" latency calls.txt 2>&1)"

case="the option fields"
cat >fields.txt <<'END'
            bash-44   [000] d..2.     1.000000: sched_switch: prev_comm=a b [1] prev_pid=0x2c (44) prev_prio=0x78 (120) prev_state=0x2 (2) next_comm=sh next_pid=0x37 (55) next_prio=0x78 (120)
              sh-55   [000] d.h..     1.000001: irq_handler_entry: irq=0x24 (36) name=virtio1-req.0
              sh-55   [000] d.h..     1.000002: irq_handler_exit: irq=0x24 (36) ret=0x1 (1)
              sh-55   [000] d.h..     1.000003: softirq_raise: vec=0x7 (7)
              sh-55   [000] d.h..     1.000004: sched_process_exit: comm=sh pid=0x37 (55) prio=0x78 (120) group_dead=(1)
              sh-55   [000] d.h..     1.000005: block_rq_issue: dev=0xfe00010 (266338320) sector=0x800 (2048) nr_sector=0x8 (8) bytes=0x1000 (4096) ioprio=0x0 (0) rwbs=WS comm=sh cmd=
              sh-55   [000] d.h..     1.000006: hrtimer_start: hrtimer=0xffff888627d1c6f8 (-131365201656072) function=tick_nohz_handler+0x0/0x140 (-2126302496) mode=0x0 (0) was_armed=(0)
              sh-55   [000] .....     1.000007: UNKNOWN TYPE 5
END
"$strata" report -f json fields.txt 2>err | jq -c '[.event, .fields]' >got
[ ! -s err ] || fail "$(cat err)"
diff - got <<'END' || fail "fields"
["sched_switch",{"prev_comm":"a b [1]","prev_pid":44,"prev_prio":120,"prev_state":2,"next_comm":"sh","next_pid":55,"next_prio":120}]
["irq_handler_entry",{"irq":36,"name":"virtio1-req.0"}]
["irq_handler_exit",{"irq":36,"ret":1}]
["softirq_raise",{"vec":7}]
["sched_process_exit",{"comm":"sh","pid":55,"prio":120}]
["block_rq_issue",{"dev":266338320,"sector":2048,"nr_sector":8,"bytes":4096,"rwbs":"WS","comm":"sh"}]
["hrtimer_start",{"hrtimer":-131365201656072,"function":"tick_nohz_handler+0x0/0x140","mode":0,"was_armed":0}]
["unknown",{"text":"UNKNOWN TYPE 5"}]
END

case="the options raw, hex and bin"
printf '13075 1 2552952676970 type: 275\n' >raw.txt
printf '11592 0 2752844977589 # ffffffff81498b1a hello\n' >raw2.txt
printf '00003313 00000001 0000025267d6626a type: 275\n\n' >hex.txt
printf '# tracer: nop\n#\n\0233\0\0\001\0\0\0jb\326gR\002\0\0type: 275\n' >bin.txt
for name in raw raw2 hex bin; do
    ! "$strata" report $name.txt >out 2>err || fail "$name: it is read"
    grep -q "^strata: $name.txt: text with the tracer's option ${name%2} is not read, .*; 'echo 0 >/sys/kernel/tracing/options/${name%2}' and read the trace again$" err ||
        fail "$name: $(cat err)"
done

case="options that are off, and a tracer that is not read"
printf '# tracer: function_graph\n#\n#  DURATION                  FUNCTION CALLS\n#   |   |                     |   |   |   |\n! 132.609 us  |  mutex_unlock();\n' >funcgraph-cpu.txt
printf '# tracer: function_graph\n#\n# CPU               FUNCTION CALLS\n# |                 |   |   |   |\n 1) mutex_unlock();\n' >funcgraph-duration.txt
printf '# tracer: nop\n#\nsys_exit: NR 257 = 3\nsys_enter: NR 72 (1, 1, 0, 1b6, 0, 20)\n' >context-info.txt
for name in funcgraph-cpu funcgraph-duration context-info; do
    ! "$strata" report $name.txt >out 2>err || fail "$name: it is read"
    grep -q "^strata: $name.txt: without the tracer's option $name, .*; 'echo 1 >/sys/kernel/tracing/options/$name' and read the trace again$" err ||
        fail "$name: $(cat err)"
done
printf '# tracer: blk\n#\n              dd-199     [001] d..1.    47.525019: 254,0    Q  RA 0 + 32 [dd]\n' >blk.txt
! "$strata" report blk.txt >out 2>err || fail "blk: it is read"
grep -q '^strata: blk.txt: the tracer blk wrote it, which is not read; ' err || fail "blk: $(cat err)"

case="ticks that leave no room before them"
{
    echo 'cpus=2'
    echo '             cc1-325   [000]1079461359090: sched_stat_runtime:   comm=cc1 pid=325 runtime=2199543 [ns]'
    echo '             cc1-325   [001]1079461364249: sched_switch:         cc1:325 [130] R ==> trace-cmd:24205 [94]'
} >ticks.txt
"$strata" report -f json --cpu-hz 1e9 ticks.txt 2>err | jq -c '[.time_ns, .cpu, .pid, .event]' >got
printf '[1079461359090,0,325,"sched_stat_runtime"]\n[1079461364249,1,325,"sched_switch"]\n' | diff - got || fail "$(cat err)"

# What trace-cmd prints of a trace.dat that strata exports.
if command -v trace-cmd >/dev/null; then
    case="trace-cmd report"
    xz -dc "$DATA/perf/packed.data.xz" >file
    "$strata" export --to trace.dat -o packed.dat --from 34.691 -e 'sched:*,irq:*' file 2>err || fail "$(cat err)"
    trace-cmd report packed.dat >text 2>/dev/null
    "$strata" report -f json text >text.json 2>err || fail "$(cat err)"
    [ ! -s err ] || fail "$(cat err)"
    "$strata" report -f json packed.dat >file.json 2>/dev/null
    python3 "$here/trace_text.py" text.json file.json 10000 || fail "other events"
    trace-cmd report -V packed.dat >verbose.txt 2>/dev/null
    "$strata" report -f json verbose.txt 2>err | diff - text.json || fail "with -V"
    [ ! -s err ] || fail "$(cat err)"
fi

case="function_graph with times"
cat >graph.txt <<'END'
# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
  360.774500 |   0)    sh-4802     |               |  do_this() {
  360.774501 |   0)    sh-4802     |   0.541 us    |    do_that();
  360.774501 |   0)    sh-4802     |               |    do_more [mod]() {
  360.774502 |   0)   ==========> |
  360.774502 |   0)    sh-4802     |               |      do_irq() {
  360.774510 |   1)  <idle>-0      |               |  idle_this() {
  360.774512 |   0)    sh-4802     |               |      /* sched_switch: prev_comm=sh prev_pid=4802 prev_prio=120 prev_state=D|K ==> next_comm=bash next_pid=7 next_prio=120 */
 ------------------------------------------
   0)    sh-4802     =>    bash-7     
 ------------------------------------------

  360.774520 |   0)   bash-7       |   1.000 us    |  other(); /* = 0x0 */
  360.774522 |   0)   bash-7       |               |  /* a | note */
 ------------------------------------------
   0)   bash-7       =>     sh-4802  
 ------------------------------------------
  360.774530 |   0)    sh-4802     | + 28.100 us   |      } /* do_irq */
  360.774530 |   0)   <========== |
  360.774540 |   0)    sh-4802     | + 39.001 us   |    }
  360.774600 |   0)    sh-4802     | ! 100.250 us  |  }
  360.774610 |   1)  <idle>-0      | ! 100.000 us  |  }
  360.774700 |   1)  <idle>-0      |   5.000 us    |    }
END
"$strata" report -f json graph.txt 2>err | jq -c '[.time_ns - 360774500000, .cpu, .pid, .comm, .event, .fields.func // .fields.buf // .fields.next_comm, .fields.depth, .fields.duration]' >got
[ "$(cat err)" = 'strata: events may be missing; how many is unknown' ] || fail "$(cat err)"
cat >expected <<'END'
[0,0,4802,"sh","funcgraph_entry","do_this",0,null]
[1000,0,4802,"sh","funcgraph_entry","do_that",1,null]
[1541,0,4802,"sh","funcgraph_exit","do_that",1,541]
[1541,0,4802,"sh","funcgraph_entry","do_more [mod]",1,null]
[2000,0,4802,"sh","funcgraph_entry","do_irq",2,null]
[10000,1,0,"<idle>","funcgraph_entry","idle_this",0,null]
[12000,0,4802,"sh","sched_switch","bash",null,null]
[20000,0,7,"bash","funcgraph_entry","other",0,null]
[21000,0,7,"bash","funcgraph_exit","other",0,1000]
[22000,0,7,"bash","print","a | note",null,null]
[30100,0,4802,"sh","funcgraph_exit","do_irq",2,28100]
[40542,0,4802,"sh","funcgraph_exit","do_more [mod]",1,39001]
[100250,0,4802,"sh","funcgraph_exit","do_this",0,100250]
[110000,1,0,"<idle>","funcgraph_exit","idle_this",0,100000]
[200000,1,0,"<idle>","funcgraph_exit","",1,5000]
END
diff expected got || fail "events"
[ "$("$strata" latency --no-causal -f json --by func function graph.txt | jq -c '[.rows[] | [.key.func, .sum]] | sort')" = \
    '[["do_irq",28100],["do_more [mod]",39001],["do_that",541],["do_this",100250],["idle_this",100000],["other",1000]]' ] || fail "spans"
# Its head does not say how many events were written.
"$strata" info graph.txt >info 2>err || fail "$(cat err)"
grep -q '^  lost  *unknown: the file does not say$' info || fail "$(cat info)"

case="more events written than there can be"
sed 's,^# entries-in-buffer/entries-written: 3/3,# entries-in-buffer/entries-written: 3/18446744073709551615,' trace.txt >huge.txt
"$strata" stat -f json huge.txt 2>err | jq -e '.lost.events < 1000 and .lost.uncounted > 0' >got || fail "$("$strata" stat -f json huge.txt)"

case="function_graph: a loss"
cat >graph.txt <<'END'
  360.774500 |   0)    sh-4802     |   0.541 us    |  do_this();
  360.774510 |   1)  <idle>-0      |   0.541 us    |  idle_this();
CPU:0 [LOST 4 EVENTS]
  360.774520 |   0)    sh-4802     |   0.541 us    |  do_that();
END
[ "$(loss_of graph.txt)" = '[0,4,360774500541,360774520000]' ] || fail "$(loss_of graph.txt)"

# trace-cmd record -P 10: of threads 20 and 21 there are the switches and wake-ups that concern thread 10. Once thread 20 wakes it
# where thread 21 came to run.
case="threads that the kernel left out"
for i in 1 2 3 4 5; do
    other=$((20 + i % 2)) next=20
    cat <<END
 own-10 [000] d... 100.00${i}100: sched_stat_runtime: comm=own pid=10 runtime=1000 [ns]
 own-10 [000] d... 100.00${i}200: sched_switch: prev_comm=own prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=o next_pid=$next next_prio=120
 o-$other [000] d... 100.00${i}300: sched_waking: comm=own pid=10 prio=120 target_cpu=000
 o-$other [000] d... 100.00${i}400: sched_switch: prev_comm=o prev_pid=$other prev_prio=120 prev_state=R ==> next_comm=own next_pid=10 next_prio=120
END
done >some.txt
"$strata" export --to trace.dat -o some.dat some.txt 2>err || fail "$(cat err)"
for trace in some.txt some.dat; do
    "$strata" sched -f json $trace 2>err | jq -c '[.rows[].key.pid], (.notes | map(select(contains("events of some threads are missing"))) | length)' >got
    printf '%s\n' '[10]' 1 | diff - got || fail "$trace"
    grep -q 'the kernel recorded only certain threads' err || fail "$trace: $(cat err)"
    "$strata" info $trace 2>err | grep -q 'filtered  *only certain threads' || fail "$trace: no fact"
    "$strata" info $trace 2>err | grep -qx '  lost  *nothing of the threads that were recorded' || fail "$trace: lost nothing"
    # What is of a CPU is there only while thread 10 runs; what is of that thread, always.
    for place in cpu:null thread:number; do
        rule="a: sched:sched_waking -> sched:sched_switch by ${place%:*}"
        [ "$place" = cpu:null ] || rule='a: sched_stat_runtime -> sched:sched_switch by thread'
        "$strata" latency -f json -p "$rule" $trace 2>err |
            jq -c '(.rows[] | .n, (.rate | type)), (.notes | any(startswith("events of some threads are missing")))' >got
        printf '%s\n' 5 "\"${place#*:}\"" true | diff - got || fail "$trace: $place"
    done
    # What ends while any thread runs may be paired with the end of another.
    most='an end that is missing may be taken from a later one of the same key: such durations are the most that they can be'
    for rule in 'a: sched_waking(pid) -> sched_switch(next_pid):1' 'a: sched_waking -> sched_switch by cpu:0'; do
        "$strata" latency -f json -p "${rule%:*}" $trace 2>err | jq --arg most "$most" '[.notes[] | select(. == $most)] | length' >got
        [ "$(cat got)" -eq "${rule##*:}" ] || fail "$trace: $rule: $(cat got)"
    done
    sed 's/^\( own-10 .*\)00: sched_stat_runtime:.*/&\n\110: block_rq_issue: 8,0 R 4096 () 100 + 8 [own]\n\120: block_rq_complete: 8,0 R () 100 + 8 [0]/' some.txt >disk.txt
    "$strata" io -f json disk.txt 2>err | jq -e --arg most "$most" '.rows[0].n == 5 and any(.notes[]; . == $most)' >got || fail "io: $(cat err)"
done
# With the option event-fork: a thread that has ended is left out from then on, though its last switch may be there.
cat some.txt - >ended.txt <<'END'
 own-10 [000] d... 100.006100: sched_switch: prev_comm=own prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=son next_pid=11 next_prio=120
 son-11 [000] d... 100.006200: sched_stat_runtime: comm=son pid=11 runtime=1000 [ns]
 son-11 [000] d... 100.006300: sched_switch: prev_comm=son prev_pid=11 prev_prio=120 prev_state=R ==> next_comm=own next_pid=10 next_prio=120
 own-10 [000] d... 100.006400: sched_switch: prev_comm=own prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=son next_pid=11 next_prio=120
 o-20 [000] d... 100.006500: sched_switch: prev_comm=o prev_pid=20 prev_prio=120 prev_state=R ==> next_comm=own next_pid=10 next_prio=120
 own-10 [000] d... 100.006600: sched_stat_runtime: comm=own pid=10 runtime=1000 [ns]
END
"$strata" info ended.txt 2>err | grep -q 'filtered  *only certain threads' || fail "a thread that ended"

# A kernel may hide threads from who records; whether that is so, or some were selected, shows how often the CPUs switch to others.
# hidden N: 200 switches, of which N are to thread 69, after which thread 11 has the next event, and one to the idle thread.
hidden() {
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < 200; i++) {
            t = i / 1000; a = 11 + i % 2; to = i % 2 ? 11 : 12
            if (i % 2 && i < 2 * n) to = 69
            if (i == 199) to = 0
            printf " t-%d [000] d.h. %.6f: irq_handler_entry: irq=5 name=x\n t-%d [000] d.h. %.6f: irq_handler_exit: irq=5 ret=handled\n", a, 10 + t, a, 10.0001 + t
            printf " t-%d [000] d... %.6f: sched_switch: prev_comm=t prev_pid=%d prev_prio=120 prev_state=R ==> next_comm=t next_pid=%d next_prio=120\n", a, 10.0002 + t, a, to
        }
        printf " t-11 [000] d... %.6f: sched_stat_runtime: comm=t pid=11 runtime=1000 [ns]\n", 10.2
    }'
}
case="threads that are hidden"
hidden 3 >few.txt
"$strata" sched few.txt >out 2>err || fail "$(cat err)"
! grep -q 'certain threads' err || fail "$(cat err)"
"$strata" info few.txt 2>/dev/null | grep -qx '  lost  *nothing' || fail "$("$strata" info few.txt)"
[ "$("$strata" irq -f json few.txt | jq -c '[.rows[].rate | type]')" = '["number"]' ] || fail "$("$strata" irq few.txt)"
case="it cannot be told whether threads were selected"
hidden 20 >unsure.txt
"$strata" sched unsure.txt >out 2>err || fail "$(cat err)"
grep -qx 'strata: unsure.txt: it may have events of only certain threads: 21 of 200 switches do not follow from the previous one; what others did is unknown' err || fail "$(cat err)"
"$strata" info unsure.txt 2>/dev/null | grep -qx '  lost  *unknown: the file does not say' || fail "$("$strata" info unsure.txt)"
"$strata" info unsure.txt 2>/dev/null | grep -q '  filtered  *perhaps only certain threads' || fail "$("$strata" info unsure.txt)"
[ "$("$strata" irq -f json unsure.txt 2>/dev/null | jq -c '[.rows[].rate], (.notes | any(startswith("events of some threads are missing")))' | paste -sd' ')" = '[null] true' ] ||
    fail "$("$strata" irq unsure.txt 2>&1)"
! "$strata" irq --strict unsure.txt >out 2>&1 || fail "--strict"
hidden 60 >selected.txt
! "$strata" sched selected.txt >out 2>err || fail "selected: $(cat out)"

# Times have microseconds, so that a duration may be wrong by one; with nanoseconds, it is exact.
case="durations of microseconds"
sed 's/\(\.[0-9]\{6\}\): /\1000: /' some.txt >exact.txt
rule='wake: sched:sched_waking(pid) -> sched:sched_switch(next_pid)'
for trace in some.txt:1000 exact.txt:0; do
    [ "$("$strata" latency -f json -p "$rule" ${trace%:*} 2>err | jq -c '.rows[] | [.n, .sum, .error]')" = "[5,500000,${trace#*:}]" ] ||
        fail "$trace: $(cat err)"
done
marked() { printf ' a-1 [000] d... 1.000100: print: B|1|x\n a-1 [000] d... 1.000200: print: E|1\n'; }
marked >marked.txt
"$strata" sql -c 'select duration_ns, error_ns from span' marked.txt 2>err | tail -n 1 >got
grep -qx ' *100000  *1000' got || fail "sql: $(cat got err)"
# Threads that are hidden from who records have no event at all, and those of a whole trace follow switches to them.
sed '/next_pid=20/!b; s/next_pid=20/next_pid=30/' some.txt >hidden.txt
"$strata" info hidden.txt 2>err | grep filtered && fail "hidden"

case="function_graph by trace-cmd report"
cat >graph.txt <<'END'
cpus=2
     kworker/1:2-77    [001]   100.000110: funcgraph_entry:                   |  process_one_work() {
     kworker/1:2-77    [001]   100.000120: funcgraph_entry:      + 10.250 us  |    vmstat_update();
            bash-500   [000]   100.000130: funcgraph_entry:      ! 150.000 us |    copy_from_user();
     kworker/1:2-77    [001]   100.000140: funcgraph_exit:       + 30.100 us  |  }
END
"$strata" latency -f json graph.txt | jq -c '.rows[] | [.key.name, .n, .sum]' >got
echo '["function",3,190350]' | diff - got || fail "spans"
"$strata" report -f json graph.txt | jq -c '[.time_ns, .cpu, .pid, .comm, .event, .fields.func, .fields.duration]' >got
diff got - <<'END' || fail "events"
[100000110000,1,77,"kworker/1:2","funcgraph_entry","process_one_work",null]
[100000120000,1,77,"kworker/1:2","funcgraph_entry","vmstat_update",null]
[100000130000,0,500,"bash","funcgraph_entry","copy_from_user",null]
[100000130250,1,77,"kworker/1:2","funcgraph_exit","vmstat_update",10250]
[100000140100,1,77,"kworker/1:2","funcgraph_exit","process_one_work",30100]
[100000280000,0,500,"bash","funcgraph_exit","copy_from_user",150000]
END

case="function_graph without times"
cat >graph.txt <<'END'
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  sys_open() {
 0)   1.382 us    |    __might_sleep();
 0) ! 119.760 us  |  }
 1)   2.000 us    |  more();
 ------------------------------------------
 0)  bash-16939  =>  migrati-11 
 ------------------------------------------

 0)               |  do_IRQ() {
 0)   9.5 us      |  } /* do_IRQ */
END
"$strata" report -f json graph.txt 2>err | jq -c '[.time_ns, .cpu, .pid, .event, .fields.func, .fields.duration]' >got
cat >expected <<'END'
[null,0,null,"funcgraph_entry","sys_open",null]
[null,0,null,"funcgraph_entry","__might_sleep",null]
[null,0,null,"funcgraph_exit","__might_sleep",1382]
[null,0,null,"funcgraph_exit","sys_open",119760]
[null,1,null,"funcgraph_entry","more",null]
[null,1,null,"funcgraph_exit","more",2000]
[null,0,11,"funcgraph_entry","do_IRQ",null]
[null,0,11,"funcgraph_exit","do_IRQ",9500]
END
diff expected got || fail "events"
# An export that has a time and a thread of each event says what it makes up.
for to in ctf trace.dat sqlite; do
    rm -rf graph.$to
    "$strata" export --to $to -o graph.$to graph.txt 2>err || fail "$(cat err)"
    times=$(grep -c '^strata: graph.txt: the time of 8 events is unknown: the export has the time of the previous event, or 0$' err || :)
    threads=$(grep -c '^strata: graph.txt: the thread of 6 events is unknown: the export has thread 0,' err || :)
    case $to in
    ctf) [ "$times $threads" = "1 0" ] ;;
    trace.dat) [ "$times $threads" = "1 1" ] ;;
    sqlite) [ "$times $threads" = "0 0" ] ;;
    esac || fail "$to: $(cat err)"
done

# KVM's exits by what their texts say, of AMD's and Intel's, of newer kernels and of older ones.
cat >kvm.script <<'END'
 kvm-guest   330 [001]   1.000000000: kvm:kvm_entry: vcpu 0, rip 0x1000
 kvm-guest   330 [001]   1.000001000: kvm:kvm_exit: vcpu 0 reason npf rip 0x1000 info1 0x0000000100000014 info2 0x0000000000001000 intr_info 0x00000000 error_code 0x00000000
 kvm-guest   330 [001]   1.000002000: kvm:kvm_entry: vcpu 0, rip 0x1000 intr_info 0x00000000 error_code 0x00000000
 kvm-guest   330 [001]   1.000003000: kvm:kvm_exit: vcpu 0 reason EPT_VIOLATION FAILED_VMENTRY rip 0x1000 info1 0x0000000000000014 info2 0x0000000000001000 intr_info 0x00000000 error_code 0x00000000 requests 0x0000000000000000
 kvm-guest   330 [001]   1.000004000: kvm:kvm_entry: vcpu 0
 kvm-guest   330 [001]   1.000005000: kvm:kvm_exit: reason CPUID rip 0x1000 info 0 0
 kvm-guest   330 [001]   1.000006000: kvm:kvm_entry: vcpu 0, rip 0x1000
 kvm-guest   330 [001]   1.000007000: kvm:kvm_exit: vcpu 0 reason later rip 0x1000 info1 0x0000000000000000 info2 0x0000000000000000 intr_info 0x00000000 error_code 0x00000000
 kvm-guest   330 [001]   1.000008000: kvm:kvm_entry: vcpu 0, rip 0x1000
END
"$strata" exits -f json kvm.script 2>err | jq -r '.. | objects | .reason? // empty' | sort -u >got || fail "$(cat err)"
printf '%s\n' CPUID EPT_VIOLATION later npf >expected
LC_ALL=C sort -o got got
diff expected got || fail "reasons of exits"

# One CPU after the other, as of per_cpu/cpu*/trace: a CPU that was quiet for long is not damaged.
cat >per-cpu.txt <<'END'
# tracer: nop
#
            t-0     [000] d..2.   100.000000: sched_switch: prev_comm=t0 prev_pid=0 prev_prio=120 prev_state=S ==> next_comm=t10 next_pid=10 next_prio=120
            t-10    [000] d..2.   101.000000: sched_switch: prev_comm=t10 prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=t0 next_pid=0 next_prio=120
            t-0     [000] d..2.   114.000000: sched_switch: prev_comm=t0 prev_pid=0 prev_prio=120 prev_state=S ==> next_comm=t10 next_pid=10 next_prio=120
            t-10    [000] d..2.   114.500000: sched_switch: prev_comm=t10 prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=t0 next_pid=0 next_prio=120
            t-0     [001] d..2.   100.100000: sched_switch: prev_comm=t0 prev_pid=0 prev_prio=120 prev_state=S ==> next_comm=t20 next_pid=20 next_prio=120
            t-20    [001] d..2.   109.000000: sched_switch: prev_comm=t20 prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=t0 next_pid=0 next_prio=120
            t-0     [001] d..2.   114.600000: sched_switch: prev_comm=t0 prev_pid=0 prev_prio=120 prev_state=S ==> next_comm=t20 next_pid=20 next_prio=120
END
"$strata" stat -f json per-cpu.txt >got 2>err || fail "$(cat err)"
grep -q '"events":7,' got && ! grep -q damaged err || fail "one CPU after the other: $(cat got err)"
