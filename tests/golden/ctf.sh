#!/bin/sh
# Traces in CTF: LTTng's, event by event as babeltrace2 shows them; what libstrata's leave when a program
# is killed; folders that are none. $EMIT: tests/runtime/emit.c.
. "$(dirname "$0")/../lib/golden.sh"

# fails TEXT COMMAND...: it exits with 1 and says TEXT; what it printed is in `out`.
fails() {
    text=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ $status -eq 1 ] || fail "$*: exit $status"
    grep -qF -- "$text" err || { cat err >&2; fail "$*: does not say '$text'"; }
}

# ---- LTTng's, with numbers of all kinds, arrays, sequences, an enum, contexts, and losses ----
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
xz -dc "$DATA/ctf/lttng-ust.txt.xz" >babeltrace.txt
"$strata" report --format json lttng-ust >json 2>err
python3 "$here/ctf.py" json babeltrace.txt || fail "strata and babeltrace2 differ"
# babeltrace2 reports the losses on standard error: 658 and 723, between the ends of packets.
jq -r 'select(.lost) | "\(.lost) \(.cpu) \(.time_ns)"' json >losses
[ "$(cut -d' ' -f1,2 losses)" = "658 0
723 0" ] || fail "losses: $(cat losses)"
grep -q '^strata: 1381 events were lost (CPU 0: 1381) in 2 places$' err || fail "$(cat err)"
"$strata" info lttng-ust >info
grep -q '^  tracer  *lttng-ust$' info || fail "$(cat info)"
grep -q '^  clock  *monotonic, 1000000000 ticks a second$' info || fail "$(cat info)"
# Small values of an enum have names, in text.
"$strata" report -e demo:state lttng-ust >out 2>err
grep -q 'demo:state: context.vpid=[0-9]* state=RUNNING$' out || fail "$(head -3 out)"

# ---- Structs in structs, variants, arrays of structs and texts; of both byte orders, in every format ----
python3 "$here/made_ctf_nested.py" 18 nested
python3 "$here/made_ctf_nested.py" 18be nested-be
xz -dc "$DATA/ctf/nested.txt.xz" >babeltrace.txt
for trace in nested nested-be; do
    "$strata" report --format json $trace >nested.json
    python3 "$here/ctf.py" nested.json babeltrace.txt || fail "strata and babeltrace2 differ in $trace"
done
# All its classes are one event, and one view, in which what a class does not have is NULL.
"$strata" stat --format json nested | jq -r '.rows[] | select(.event == "net_if_rx") | .count' >out
[ "$(cat out)" = "$("$strata" report -e net_if_rx nested | wc -l)" ] || fail "classes of an event: $(cat out)"
"$strata" sql --format csv -c 'select count(*), count("network_header.version"), count("network_header.ihl") from vmm_net_if_rx' nested |
    tail -1 | tr -d '\r' >out
jq -s -r '[.[] | select(.event == "net_if_rx") | .fields] | "\(length),\(map(select(has("network_header.version"))) | length),\(map(select(has("network_header.ihl"))) | length)"' \
    nested.json >expected
diff expected out || fail "variants in SQL"
"$strata" sql --format csv -c "select json_extract(points, '\$[0].x') from vmm_points where n > 0 limit 1" nested | tail -1 | tr -d '\r' >out
[ "$(cat out)" = "$(jq -s '[.[] | select(.event == "points" and .fields.n > 0)][0].fields.points[0].x' nested.json)" ] ||
    fail "an array of structs in SQL: $(cat out)"
"$strata" export --to ctf -o nested.ctf nested
for trace in nested nested.ctf; do
    "$strata" report --format json $trace | jq -c '[.time_ns, .event, (.fields | length), (.fields | map(numbers))]' >$trace.values
done
cmp nested.values nested.ctf.values || fail "variants in an export"

# ---- CTF 2: all kinds of fields, of both byte orders; the text is of babeltrace2 2.2 ----
python3 "$here/made_ctf_nested.py" 2 two
python3 "$here/made_ctf_nested.py" 2be two-be
xz -dc "$DATA/ctf/ctf2.txt.xz" >babeltrace.txt
for trace in two two-be; do
    "$strata" report --format json $trace >two.json
    python3 "$here/ctf.py" two.json babeltrace.txt || fail "strata and babeltrace2 differ in $trace"
done
"$strata" info two >info
grep -q '^  version  *CTF 2$' info && grep -q '^  host  *here$' info || fail "$(cat info)"
"$strata" report -e bits two >bits
grep -q " flags=read|write" bits || fail "no names of bits: $(head -1 bits)"
# Damage is reported with its place: of the metadata by the line, of a stream by the offset.
cp -r two cut
sed 's/"event-record-class", "id": 3,/"event-record-class", "id": "3",/' two/metadata >cut/metadata
fails "cut/metadata:8: 'id' is not an integer" "$strata" report cut
sed '3s/"frequency"/"frequency/' two/metadata >cut/metadata
fails "cut/metadata:3: not JSON: " "$strata" report cut
cp two/metadata cut/
head -c 5000 two/stream >cut/stream
fails "cut/stream: offset " "$strata" report cut
rm -r cut

# ---- LTTng's of a kernel: of the host, and a thread's name is a value of each event ----
python3 "$here/made_ctf.py" contexts kernel
"$strata" report --format json kernel | jq -r '"\(.layer) \(.time_ns % 10) \(.cpu) \(.pid) \(.comm)"' >out
cat >expected <<'END'
host 1 0 7 bash
host 2 1 7 bash
host 3 0 7 ls
host 4 0 7 ls
host 5 1 7 bash
host 6 0 9 a b
END
diff expected out || fail "names of threads"
"$strata" report --format csv kernel | cut -d, -f4 | tail -6 | tr '\n' ' ' >out
[ "$(cat out)" = 'bash bash ls ls bash a b ' ] || fail "names of threads in CSV: $(cat out)"
"$strata" report kernel | awk '{ print $3 }' | sed 's/\\x20/ /' | tr '\n' ' ' >out
grep -q '^bash-7 bash-7 ls-7 ls-7 bash-7 a' out || fail "names of threads in text: $(cat out)"
"$strata" info kernel >info
grep -q '^  layer  *host$' info || fail "$(cat info)"
grep -q '^  host  *here$' info || fail "$(cat info)"

# An export of it has the same layer.
"$strata" export --to ctf -o exported kernel
"$strata" report --format json exported | jq -r .layer | sort -u >out
[ "$(cat out)" = host ] || fail "layers of an export: $(cat out)"

# A process is no thread: of a context with its number alone, the thread is not known.
python3 "$here/made_ctf.py" process processes
"$strata" report --format json processes | jq -c '[.pid, .comm, .fields["context.vpid"]]' | tr '\n' ' ' >out
[ "$(cat out)" = '[null,"one",70] [null,"two",71] ' ] || fail "processes: $(cat out)"

# ---- Several traces: of one host, or of two ----
python3 "$here/made_ctf.py" hosts A B C
[ "$("$strata" report A C 2>err | wc -l)" -eq 6 ] || fail "of one host: $(cat err)"
for option in --keep-going --host-time; do
    fails "so the two cannot be put in one order: they were recorded on different hosts (a, b); 'strata merge'" \
        "$strata" report $option A B
done
sed -i 's/hostname = "[ab]"/hostname = "c"/' [AB]/metadata
fails "the UUIDs of their clocks differ (11111111-1111-1111-1111-111111111111, 2222" "$strata" report A B
# Containers of one machine have its clock.
[ "$("$strata" report A C 2>err | wc -l)" -eq 6 ] || fail "of one clock: $(cat err)"
sed -i 's/uuid = "[-12]*";//' [ABC]/metadata
[ "$("$strata" report A B 2>err | wc -l)" -eq 6 ] || fail "of one host without UUIDs: $(cat err)"
fails "different hosts (c, a)" "$strata" report A C
python3 "$here/made_ctf.py" since1970 A1970 B1970 C1970
[ "$("$strata" report A1970 B1970 2>err | wc -l)" -eq 6 ] || fail "since 1970: $(cat err)"
grep -q "different hosts (a, b): their order is right only as far as these hosts' clocks agree; 'strata merge'" err ||
    fail "no warning: $(cat err)"
"$strata" report A1970 C1970 2>err >out
[ ! -s err ] || fail "a warning of one host: $(cat err)"

# The content of the directory decides, not its name. A subdirectory is not a stream.
mkdir lttng-ust/index
"$strata" report --format json lttng-ust >again 2>err
cmp json again || fail "a subfolder makes a difference"

# ---- libstrata's ----
"$EMIT" -t '*,ctf=whole' 600 2 >emitted
"$strata" report whole >whole.txt
[ "$(wc -l <whole.txt)" -eq 1200 ] || fail "$(wc -l <whole.txt) events"
"$strata" info whole >info
grep -q '^  stamped by  *[a-z]*, [0-9]* ticks a second, 0 at [0-9]*\.[0-9]* s since 1970$' info || fail "$(cat info)"

# On one line of time with what QEMU wrote: both are CLOCK_MONOTONIC.
"$EMIT" -t '*,ctf=both.ctf,simple=both.st' 100 1 >emitted
"$strata" report --format json --trace-events "$here/../runtime/emit.trace-events" both.ctf both.st |
    jq -r '"\(.event) \(.time_ns)"' >times
[ "$(wc -l <times)" -eq 200 ] || fail "$(wc -l <times) events of both"
# Both have the same event, at the same time except for rounding.
awk '{ if (NR % 2) { name = $1; time = $2 } else if ($1 != name || $2 - time > 2000) exit 1 }' times ||
    fail "$(head -4 times)"

# A stream that was cut: all that is whole, then where it was cut; or a loss. In the middle may be a packet's end;
# its sizes are multiples of 8.
size=$(stat -c %s whole/stream-0)
n=$("$strata" report whole | wc -l)
for cut in 1 50 95 96 100 $((size / 2 | 1)) $((size - 1)); do
    rm -rf cut
    cp -r whole cut
    head -c $cut whole/stream-0 >cut/stream-0
    fails "cut/stream-0: offset " "$strata" report cut
    [ "$(wc -l <out)" -le "$n" ] || fail "cut at $cut: $(wc -l <out) events"
    "$strata" report --keep-going cut >kept 2>err || fail "cut at $cut: $(cat err)"
    grep -q 'LOST: ' kept || fail "cut at $cut: no loss"
    grep -v LOST kept | cmp - out || fail "cut at $cut: not the same events"
done
# An empty one has no events, and is not an error.
: >cut/stream-0
"$strata" report cut >out
[ -s out ] || fail "nothing of the other stream"

# ---- What other tracers leave, each as one fault in a small trace ----
python3 "$here/made_ctf_foreign.py" foreign
# values NAME FIELD: of its events, which are all there, without a loss.
values() {
    "$strata" report --format json "foreign/$1" >out 2>err || fail "$1: $(cat err)"
    jq -r "if has(\"lost\") then \"lost\" else .fields.$2 end" out | tr '\n' ' '
}
is() {
    [ "$1" = "$2" ] || fail "'$1' is not '$2'"
}
is "$(values unended v)" "1 2 3 4 "
is "$(values number8 v)" "0 1 2 3 "
is "$(values number16 v)" "0 1 2 3 "
is "$(values number8-lost v)" "0 lost 1 "
is "$(values metadata-cut v)" "1 2 "
is "$(values no-comment v)" "1 2 "
is "$(values no-stream a)" "7 8 "
is "$(values no-stream s)" "hello you "
is "$(values other-uuid v)" "1 2 3 "
is "$(values restarts n)" "0 1 2 3 4 5 "
is "$(values restarts-often n | tr ' ' '\n' | md5sum)" "$(seq 0 11999 | md5sum)"
is "$(values late n)" "0 2 1 3 "
# said NAME TEXT: each command says it, once.
said() {
    for verb in report stat info summary; do
        "$strata" $verb "foreign/$1" >out 2>err || fail "$verb $1: $(cat err)"
        [ "$(grep -c "foreign/$1: $2\$" err)" -eq 1 ] || fail "$verb $1: $(cat err)"
    done
}
said other-uuid "packets of a stream have another UUID than the metadata"
said restarts "the clock of a stream starts again after 5100: its events are in the order of the file"
said restarts-often "the clock of a stream starts again after 5999, and 2 times later: its events are in the order of the file"
said late "an event of a stream is earlier than the event before it, and was put in order"
"$strata" report --format json -k foreign/other-uuid-damaged >out 2>err || fail "$(cat err)"
is "$(jq -r 'if has("lost") then "lost" else .fields.v end' out | uniq | tr '\n' ' ')" "1 2 lost 3 "
"$strata" report --format json foreign/time-of-one >out 2>err && [ ! -s err ] || fail "$(cat err)"
is "$(jq -r 'select(.event == "untimed") | .time' out | sort -u)" "null"
is "$(jq -r 'select(.event == "timed") | .fields.v' out | md5sum)" "$(seq 0 4999 | md5sum)"
"$strata" info foreign/time-of-one >out 2>err && ! grep "out of order" out || fail "an event without time is not late"
is "$("$strata" report foreign/counts | sed 's/.*: //')" 's=["x","yz"] tag=b v=[7]'
is "$("$strata" report foreign/absolute | sed 's/.*: //')" 'len=1 far=[10 11 12] near=[20] inner.n=2 inner.own=[30 31]'
for name in stream none; do
    "$strata" report "foreign/no-classes/$name" >out 2>err && [ ! -s out ] && [ ! -s err ] || fail "$name: $(cat out err)"
done
is "$("$strata" report -f json foreign/many | jq -c '.fields.fields | [length, .f0, .f1999]' | tr '\n' ' ')" \
    "[2000,0,207] [2000,208,159] "
is "$(values words v)" "7 8 "
is "$(values number0 v)" "0 1 2 "
fails "event with an invalid variant, array, byte order or vCPU" "$strata" report foreign/orders
fails "metadata:6: expected a number" "$strata" report foreign/version
fails "metadata:6: unsupported version 9 of CTF (supported: 1.8 and 2)" "$strata" report foreign/version9
fails "packet number 7 follows packet number 7" "$strata" report foreign/number8-twice
fails "packet number 3 follows packet number 4" "$strata" report foreign/number32-back
"$strata" report foreign/unended --from=0.000003500 >out 2>err || fail "$(cat err)"
[ "$(wc -l <out)" -eq 1 ] || fail "an unended packet after a seek: $(cat out)"

# ---- Missing and wrong files ----
rm cut/metadata
cp whole/stream-0 cut/
fails "cut/metadata: cannot open" "$strata" report cut
: >cut/metadata
fails "cut/metadata: empty metadata: the streams of the trace cannot be read" "$strata" report cut
sed 's/integer { size = 32; align = 8; signed = true; base = 10; } _b/u33 _b/' whole/metadata >cut/metadata
line=$(grep -n 'u33 _b' cut/metadata | cut -d: -f1)
fails "cut/metadata:$line: undeclared type 'u33'" "$strata" report cut
printf '{}' >cut/metadata
fails "cut/metadata: not metadata of CTF: it begins neither" "$strata" report cut
echo "ctf: ok"
