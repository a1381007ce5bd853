#!/bin/sh
# Traces of Linux's tracer that are made: functions and trace_marker's lines as spans, a hypervisor's ring buffer.
. "$(dirname "$0")/../lib/golden.sh"
. "$here/../lib/perfetto.sh"

python3 "$here/made_ftrace.py" made

# slices TRACE: what a timeline of it has, an array per mark.
slices() {
    export_perfetto "$1" || fail "$(cat err)"
    perfetto_marks >marks
    jq -c '[.kind, if .kind == "C" then .track[0] else .name end, .ns]' marks
}

# The kernel measured one call: 40 ns, though its events are 50 ns apart.
case="function_graph"
"$strata" latency --no-causal --events -f json function made/functions | jq -r '"\(.begin_ns) \(.end_ns) \(.cpu) \(.pid)"' | sort >got
cat >expected <<'END'
1000 1800 0 7
1050 1700 1 8
1100 1250 0 7
1300 1340 0 7
1500 1900 0 0
1550 1600 1 0
END
diff expected got || fail "spans"
[ "$("$strata" latency --no-causal -f json --by func function made/functions | jq -c '[.rows[] | [.n, .sum]]')" = '[[3,1490],[2,450],[1,150]]' ] ||
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
[ "$(sed -n 's/.*"kind": "C".*"value": \([-0-9]*\)}.*/\1/p' marks | xargs)" = "-3 12 9223372036854775807" ] || fail "counters"

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
for format in trace.dat ctf perfetto sqlite; do
    "$strata" export --to $format -o remote.$format made/remote 2>err || fail "$format: $(cat err)"
done
[ "$("$strata" stat -f json remote.ctf | jq -c '[.rows[].count]')" = '[3,1]' ] || fail "an export"

case="events of EventHeader"
"$strata" report -f json made/programs 2>err | jq -c '[.time_ns, .group, .event, .pid, .fields]' >got
cat >expected <<'END'
[1000,"user_events","My_Shop:Sale",80,{"count":7,"name":"tea","wide":"né€","at.x":-5,"at.y":2.5,"codes":[1,32,768],"tags":["a","bc"],"rows":[{"k":1,"v":-9},{"k":2,"v":-300}],"level":4,"opcode":0,"keyword":42}]
[1100,"user_events","My_Shop:Port",81,{"port":8080,"n":258,"ok":true,"who":"00010203-0405-0607-0809-0a0b0c0d0e0f","level":4,"opcode":0}]
[1200,"user_events","My_Shop:Begin",80,{"level":4,"opcode":1,"keyword":42,"id":9,"version":2,"tag":3,"activity_id":"00010203-0405-0607-0809-0a0b0c0d0e0f","related_activity_id":"0f0e0d0c-0b0a-0908-0706-050403020100"}]
END
head -n 3 got | diff expected - || fail "fields"
[ "$(sed -n 4p got)" = "$(sed -n '1s/1000/1300/p' got)" ] || fail "the same event again"
grep -qx 'strata: made/programs: 5 events of EventHeader cannot be decoded, and show as bytes: values that do not fit the metadata in the first one, of My_Shop_L4K2a' err ||
    fail "the note: $(cat err)"
[ "$(sed -n '5,9p' got | jq -c '[.[2], .[4].level, (.[4].data | length)]' | LC_ALL=C sort | uniq -c | tr -s ' \n' ' ')" = \
    ' 1 ["My_Shop_L4K2a",4,232] 2 ["My_Shop_L4K2a",4,272] 1 ["My_Shop_L4K2a",4,8] 1 ["My_Shop_L4K2a",5,272] ' ] || fail "bytes: $(cat got)"
[ "$(sed -n 5p got | jq -r '.[4].data[0:16]')" = 5600010053616c65 ] || fail "the first of the bytes"
"$strata" report -e My_Shop:Begin made/programs 2>/dev/null | grep -q ' My_Shop:Begin: level=information opcode=activity_start keyword=0x2a ' || fail "text"
[ "$("$strata" latency -f json --pair 'x: My_Shop:Begin -> My_Shop:Sale' made/programs 2>/dev/null | jq -c '[.rows[] | [.n, .sum]]')" = '[[1,100]]' ] || fail "a span"
# Decoded events are exported by their fields, the others as they are: they go through the reader of trace.dat again.
for format in trace.dat ctf perfetto sqlite; do
    "$strata" export --to $format -o programs.$format made/programs 2>err || fail "$format: $(cat err)"
done
"$strata" report -f json programs.trace.dat 2>err | jq -c '[.event, .fields.data]' >again
[ "$(sed -n '5,9p' again)" = "$(sed -n '5,9p' got | jq -c '[.[2], .[4].data]')" ] || fail "bytes by way of a trace.dat: $(cat again)"
grep -q ': 5 events of EventHeader cannot be decoded' err || fail "a trace.dat's note"
[ "$(sed -n 1p again)" = '["My_Shop_Sale",null]' ] || fail "an event by its fields"
"$strata" report programs.ctf | grep -q ' My_Shop:Port: port=8080 n=258 ok=true ' || fail "CTF"
