#!/bin/sh
# Traces of Linux's tracer that are made: functions and trace_marker's lines as spans, a hypervisor's ring buffer.
. "$(dirname "$0")/../lib/golden.sh"

python3 "$here/made_ftrace.py" made

# slices TRACE: what a timeline of it has, an array per mark.
slices() {
    "$strata" export --to chrome -o slices.json "$1" 2>err || fail "$(cat err)"
    jq -c '.traceEvents[] | select(.ph != "M") | [.ph, .name, .ts * 1000 + 0.5 | if type == "number" then floor else . end]' slices.json
}

case="function_graph"
"$strata" latency --no-causal --events -f json function made/functions | jq -r '"\(.begin_ns) \(.end_ns) \(.cpu) \(.pid)"' | sort >got
cat >expected <<'END'
1000 1800 0 7
1050 1700 1 8
1100 1250 0 7
1300 1350 0 7
1500 1900 0 0
1550 1600 1 0
END
diff expected got || fail "spans"
[ "$("$strata" latency --no-causal -f json --by func function made/functions | jq -c '[.rows[] | [.n, .sum]]')" = '[[3,1500],[2,450],[1,150]]' ] ||
    fail "by function"
slices made/functions >got
[ "$(grep -c '^\["B"' got)" -eq 7 ] && [ "$(grep -c '^\["E"' got)" -eq 6 ] && [ "$(grep -c '^\["i","funcgraph_exit"' got)" -eq 1 ] ||
    fail "slices: $(cat got)"

case="trace_marker"
"$strata" latency --no-causal --events -f json made/markers | jq -r '"\(.begin_ns) \(.end_ns) \(.key.span // .key.name // .rule) \(.pid)"' | sort >got
cat >expected <<'END'
1000 1300 marker 70
1100 1200 marker 70
1150 1250 marker-async 71
END
diff expected got || fail "spans"
slices made/markers >got
cat >expected <<'END'
["B","draw a|frame",1000]
["B","wait",1100]
["B","load",1150]
["B","load",1160]
["E",null,1200]
["i","print",1210]
["C","depth of 70",1210]
["i","print",1220]
["i","print",1230]
["E",null,1250]
["E",null,1300]
["i","print",1310]
["C","depth of 70",1310]
["i","print",1320]
["i","print",1330]
["C","depth of 71",1330]
["i","print",1400]
END
diff expected got || fail "slices"
jq -c '[.traceEvents[] | select(.ph == "C") | .args.value]' slices.json | grep -qx '\[-3,12,9223372036854775807\]' ||
    jq -c '[.traceEvents[] | select(.ph == "C") | .args.value]' slices.json | grep -qx '\[-3,12,9223372036854776000\]' || fail "counters"

case="a text as a key"
rule='load: print(buf>>7){buf == "S|*"} -> print(buf>>7){buf == "F|*"}'
[ "$("$strata" latency --no-causal -f json --pair "$rule" made/markers | jq '.rows[0].n')" = 1 ] || fail "from byte 7 on"
"$strata" latency --pair 'a: print(buf&7) -> print(buf&7)' made/markers >out 2>err && fail "a mask of a text"
grep -q "field 'buf' of event 'print' is not a number; a mask requires one" err || fail "$(cat err)"

case="a hypervisor's buffers"
"$strata" report -f json made/remote | jq -c '[.time_ns, .layer, .cpu, .pid, .event, .fields]' >got
cat >expected <<'END'
[1000,"hypervisor",0,null,"hyp_enter",{}]
[1100,"hypervisor",1,null,"host_hcall",{"id":44,"invalid":0}]
[1200,"hypervisor",0,null,"host_hcall",{"id":42,"invalid":0}]
[1300,"hypervisor",0,null,"host_hcall",{"id":43,"invalid":1}]
END
diff expected got || fail "events"
[ "$("$strata" report -e host_hcall made/remote | sed -n 's/^.*host_hcall: //p' | head -n 1)" = "id=44 invalid=0" ] || fail "text"
for format in trace.dat ctf chrome perfetto sqlite; do
    "$strata" export --to $format -o remote.$format made/remote 2>err || fail "$format: $(cat err)"
done
[ "$("$strata" stat -f json remote.ctf | jq -c '[.rows[].count]')" = '[3,1]' ] || fail "an export"
