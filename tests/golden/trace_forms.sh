#!/bin/sh
# The forms in which options of trace-cmd report and perf script print events: each is read as the same events, or refused in words.
. "$(dirname "$0")/../lib/golden.sh"

# What is read of FILE: time, CPU, thread, its name, and the event's fields but its text.
events() {
    "$strata" report -f json "$1" 2>err >events.json || fail "$(cat err)"
    jq -c '[.time_ns, .cpu, .pid, .comm, .event, (.fields | del(.text))]' events.json
}

# same FILE [FILTER]: FILE is read as all.txt is, of which FILTER of jq leaves out what the form does not print.
same() {
    events "$1" >got
    events all.txt | jq -c "${2:-.}" | diff - got || fail "$1 is read as other events"
    ! grep -e damaged -e ' no fields' err || fail "$1"
}

# refused FILE PATTERN: one message names the form and what to use.
refused() {
    ! "$strata" report "$1" >out 2>err || fail "$1 is read"
    grep -q "^strata: $1: $2; use " err && [ "$(wc -l <err)" -eq 1 ] || fail "$1: $(cat err)"
}

case="trace-cmd report"
cat >all.txt <<'END'
cpus=2
            perf-133   [000]    34.683023: sched_waking:         comm=migration/0 pid=16 prio=0 target_cpu=000
            perf-133   [000]    34.683081: sched_wakeup:         migration/0:16 [0] CPU:000
            perf-133   [000]    34.683104: sched_switch:         perf:133 [120] R ==> migration/0:16 [0]
     migration/0-16    [000]    34.683199: sched_switch:         migration/0:16 [0] S ==> swapper/0:0 [120]
          <idle>-0     [001]    34.697410: irq_handler_exit:     irq=5 ret=handled
END
sed 's/migration\/0:16 \[0\]$/& Latency: 22.684 usecs/' all.txt >w.txt
printf '\nAverage wakeup latency: 22.684 usecs\nMaximum Latency: 22.684 usecs at timestamp: 34.683104\nMinimum Latency: 22.684 usecs at timestamp: 34.683104\n\nRT task timings:\n' >>w.txt
same w.txt
sed -e '2s/ sched/          sched/' -e '3,$s/: /: (+43)    /' all.txt >ts-diff.txt
same ts-diff.txt
cat >raw.txt <<'END'
cpus=2
            perf-133   [000]    34.683023: sched_waking:          comm=migration/0 pid=16 prio=0 target_cpu=000
            perf-133   [000]    34.683081: sched_wakeup:          comm=migration/0 pid=16 prio=0 success=1 target_cpu=000
            perf-133   [000]    34.683104: sched_switch:          prev_comm=perf prev_pid=133 prev_prio=120 prev_state=0 next_comm=migration/0 next_pid=16 next_prio=0
     migration/0-16    [000]    34.683199: sched_switch:          prev_comm=migration/0 prev_pid=16 prev_prio=0 prev_state=0x1 next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0     [001]    34.697410: irq_handler_exit:      irq=5 ret=1
END
same raw.txt
# The name of a thread is cut to 8 bytes.
cat >l.txt <<'END'
cpus=2
    perf-133     0d..3.    34.683023: sched_waking:         comm=migration/0 pid=16 prio=0 target_cpu=000
    perf-133     0dN.4.    34.683081: sched_wakeup:         migration/0:16 [0] CPU:000
    perf-133     0d..2.    34.683104: sched_switch:         perf:133 [120] R ==> migration/0:16 [0]
migratio-16      0d..2.    34.683199: sched_switch:         migration/0:16 [0] S ==> swapper/0:0 [120]
  <idle>-0       1d.h1.    34.697410: irq_handler_exit:     irq=5 ret=handled
END
same l.txt 'if .[2] == 16 then .[3] = null else . end'
sed -e 's/cpus/file.dat: cpus/' -e '2,$s/^/file.dat: /' all.txt >several.txt
refused several.txt 'trace-cmd report printed several files, .*'
# An instance of the same kernel.
sed -e '2,$s/^/  network: /' all.txt >instance.txt
same instance.txt

case="raw fields of others"
cat >raw.txt <<'END'
              fio-330   [001]   100.000001: block_rq_issue:        dev=8388608 sector=2048 nr_sector=8 bytes=4096 rwbs=R comm=fio cmd=
              fio-330   [001]   100.000002: block_rq_complete:     dev=8388608 sector=2048 nr_sector=8 error=0 ioprio=0x0 rwbs=R cmd=
              fio-330   [001]   100.000003: sys_enter:             id=1 args=ARRAY[01, 00]
              fio-330   [001]   100.000004: sys_exit:              id=1 ret=-11
              fio-330   [001]   100.000005: softirq_entry:         vec=4
              fio-330   [001]   100.000006: print:                 ip=0xffffffff81000000 buf=B|330|part
              fio-330   [001]   100.000007: kvm_entry:             vcpu_id=0 rip=0x1000 immediate_exit=0
              fio-330   [001]   100.000008: kvm_exit:              exit_reason=96 guest_rip=0x1000 isa=2 info1=0x0000000000000000 info2=0x0000000000000000 intr_info=0x00000000 error_code=0x00000000 vcpu_id=0
              fio-330   [001]   100.000009: kvm_entry:             vcpu_id=0 rip=0x1000 immediate_exit=0
END
"$strata" report -f json raw.txt 2>err | jq -c '[.event, .fields[]]' >got
[ ! -s err ] || fail "$(cat err)"
diff - got <<'END' || fail "fields"
["block_rq_issue",8388608,2048,8,4096,"R","fio"]
["block_rq_complete",8388608,2048,8,0,"R"]
["sys_enter",1]
["sys_exit",1,-11]
["softirq_entry",4]
["print","B|330|part"]
["kvm_entry",0,4096]
["kvm_exit",96,4096,2,0,0,0,0,0]
["kvm_entry",0,4096]
END
"$strata" exits -f json raw.txt 2>err | jq -r '.. | objects | .reason? // empty' | sort -u >got
[ "$(cat got)" = interrupt ] || fail "reason $(cat got)"

case="perf script"
cat >all.txt <<'END'
            perf   133 [000]    34.683023:                     sched:sched_waking: comm=migration/0 pid=16 prio=0 target_cpu=000
            perf   133 [000]    34.683104:                     sched:sched_switch: prev_comm=perf prev_pid=133 prev_prio=120 prev_state=R+ ==> next_comm=migration/0 next_pid=16 next_prio=0
     migration/0    16 [000]    34.683199:                     sched:sched_switch: prev_comm=migration/0 prev_pid=16 prev_prio=0 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
             :-1    -1 [001]    34.697410:                     sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=Z ==> next_comm=a next_pid=9 next_prio=120
END
for thread in ':-1  2943/-1' ':-1 2943/-1' '  -1'; do
    sed "s,^ *:-1    -1,$thread," all.txt >unknown.txt
    same unknown.txt
done
sed 's/\] /] K       /' all.txt >misc.txt
same misc.txt
sed 's/\(waking:\|switch:\) /&                        /' all.txt >flags.txt
same flags.txt
sed 's/$/ ffffffff810a8fe2 __schedule+0x1 ([kernel.kallsyms])/' all.txt >ip.txt
same ip.txt
sed 's/^.................//' all.txt >tid.txt
same tid.txt '.[3] = null'
sed -e 's/^\(................\)....../\1/' all.txt >comm.txt
same comm.txt '.[2] = null'
sed 's/\[00[01]\] //' all.txt >no-cpu.txt
same no-cpu.txt '.[1] = null'
! "$strata" sched no-cpu.txt 2>err || fail "sched without CPUs"
grep -q 'no scheduler events are in this trace (.*), or their CPU is not; use perf script with -F +cpu$' err || fail "$(cat err)"
sed 's/.*\] //' all.txt >time.txt
same time.txt '.[1,2,3] = null'
# Names of 8 bytes may be cut.
cat >L.txt <<'END'
    perf   133   0    34.683023:                     sched:sched_waking: comm=migration/0 pid=16 prio=0 target_cpu=000
    perf   133   0    34.683104:                     sched:sched_switch: prev_comm=perf prev_pid=133 prev_prio=120 prev_state=R+ ==> next_comm=migration/0 next_pid=16 next_prio=0
migratio    16   0    34.683199:                     sched:sched_switch: prev_comm=migration/0 prev_pid=16 prev_prio=0 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
     :-1    -1   1    34.697410:                     sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=Z ==> next_comm=a next_pid=9 next_prio=120
END
same L.txt 'if .[2] == 16 then .[3] = null else . end'

case="perf script without what an event needs"
sed 's/\[\(00[01]\)\]  *[0-9.]*:/[\1]/' all.txt >no-time.txt
refused no-time.txt 'the lines of perf script have no times'
sed 's/^.* \(sched:\)/\1/' all.txt >event.txt
refused event.txt 'the lines of perf script have no times'
sed 's/ *sched:sched_[a-z]*://' all.txt >no-event.txt
refused no-event.txt 'the lines of perf script have no names of events'
sed 's/\(waking:\|switch:\) .*/\1 /' all.txt >no-fields.txt
refused no-fields.txt 'the lines of perf script have no fields of events'
sed 's/\(waking:\|switch:\) .*/\1  ffffffff81a528c8 [unknown]/' all.txt >no-fields.txt
refused no-fields.txt 'the lines of perf script have no fields of events'
sed -e '1s/34.683023/ 0.000000/' -e '2s/34.683104/ 0.000081/' -e '3s/34.683199/ 0.000095/' -e '4s/34.697410/ 0.000011/' all.txt >delta.txt
refused delta.txt 'perf script --deltatime printed it: .*'

# An event that has fields, in a text that no version prints: it is an event, and that its fields are not known is said.
case="an unknown text"
sed '2s/prev_comm=perf/of perf/' all.txt >unknown.txt
"$strata" info -f json unknown.txt 2>err | jq -e '.events == 4 and .lost.skipped_bytes == 0' >/dev/null || fail "events"
grep -q "^strata: unknown.txt: some events have a text of no known version, so they have no fields; the first is of sched_switch, 'of perf prev_pid" err ||
    fail "$(cat err)"

case="Android's flags without a blank"
cat >android.txt <<'END'
cpus=8
kworker/u16:1-77    (   77) [004] ....316.196720: tracing_mark_write: B|77|a
kworker/u16:2-78    (   78) [005] .... 316.196730: tracing_mark_write: B|78|b
test-process-123    (  123) [002] d...316.196740: tracing_mark_write: B|123|c
test-process-123    (  123) [002] d..2316.196740: tracing_mark_write: B|123|c
<idle>-0     [000]  316.196750: tracing_mark_write: E|77
END
events android.txt | jq -c '.[0:4]' >got
diff - got <<'END' || fail "lines"
[316196720000,4,77,"kworker/u16:1"]
[316196730000,5,78,"kworker/u16:2"]
[316196740000,2,123,"test-process"]
[316196740000,2,123,"test-process"]
[316196750000,0,0,"<idle>"]
END

case="newlines in texts of trace_marker"
cat >newlines.txt <<'END'
           <...>-882   (  882) [003] .... 10852.771186: tracing_mark_write: event: abc xyz =0x34 clk id = 019
some = 000, other = 0x4
xyz = 0x0 abc = 0x0
  surfaceflinger-598   (  598) [004] .... 10852.771242: tracing_mark_write: B|598|some event
  surfaceflinger-598   (  598) [004] .... x0852.771245: tracing_mark_write: E|598
END
"$strata" info -f json newlines.txt 2>err | jq -c '[.events, .lost.skipped_bytes]' >got
[ "$(cat got)" = "[2,$(tail -n 1 newlines.txt | tr -d '\n' | wc -c)]" ] || fail "$(cat got)"
grep -q '^strata: newlines.txt: lines that continue a text of trace_marker are left out (2)$' err || fail "$(cat err)"

# What trace-cmd itself prints.
if command -v trace-cmd >/dev/null; then
    xz -dc "$DATA/perf/packed.data.xz" >file
    "$strata" export --to trace.dat -o packed.dat --from 34.691 -e 'sched:*' --limit 500 file 2>err || fail "$(cat err)"
    trace-cmd report packed.dat >all.txt 2>/dev/null
    for option in -w -R --ts-diff -l; do
        case="trace-cmd report $option"
        trace-cmd report $option packed.dat >option.txt 2>/dev/null
        "$strata" report -f json all.txt 2>/dev/null | jq -c '[.time_ns, .cpu, .pid, .event, (.fields | .prev_pid, .next_pid, .prev_state)]' >expected
        "$strata" report -f json option.txt 2>err | jq -c '[.time_ns, .cpu, .pid, .event, (.fields | .prev_pid, .next_pid, .prev_state)]' >got
        [ ! -s err ] || fail "$(cat err)"
        # The letters have no bit for a thread that was taken off its CPU, which the raw field has.
        sed 's/,256]$/,0]/' got | diff expected - || fail "other events"
    done
fi
