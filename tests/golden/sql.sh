#!/bin/sh
# strata sql: the same rows as the export to SQLite, numbers as the analyses have them, and what it refuses.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/three_layers.sh"

# The same rows as in the export, and the same answers where something is pushed down.
compare() {
    "$strata" export --to sqlite -o export.db "$@" 2>err || fail "export of $*: $(cat err)"
    python3 "$here/sql.py" "$strata" export.db "$@" || fail "$* differs"
}
compare boot.trace
compare trace
compare xen.raw
compare lttng-ust
python3 "$here/two_variants.py" one two three
compare one two three

# csv QUERY PATH: the rows of a query, without the names.
csv() {
    "$strata" sql --format=csv -c "$1" "$2" 2>err | tr -d '\r' | tail -n +2
}

# The numbers of latency, sched and stat.
"$strata" latency -f csv trace 2>err | tr -d '\r' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { print $at["name"] "," $at["n"] "," $at["sum_ns"] "," $at["p50_ns"] "," $at["p99_ns"] "," $at["max_ns"] }' |
    LC_ALL=C sort >expected
csv "SELECT name, count(*), sum(duration_ns), percentile(duration_ns, 50), percentile(duration_ns, 99), max(duration_ns)
    FROM span WHERE cut IS NULL GROUP BY name" trace | LC_ALL=C sort >out
[ -s out ] && cmp -s out expected || fail "spans are not those of latency: $(diff out expected)"
"$strata" stat -f csv xen.raw 2>err | tr -d '\r' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { print $at["group"] "," $at["event"] "," $at["count"] }' | LC_ALL=C sort >expected
csv "SELECT event_group, event, count(*) FROM event GROUP BY 1, 2" xen.raw | LC_ALL=C sort >out
[ -s out ] && cmp -s out expected || fail "events are not those of stat: $(diff out expected)"

"$strata" sched -f csv xen.raw 2>err | tr -d '\r' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { print $at["task"] "," $at["run_ticks"] "," $at["wait_ticks"] "," $at["sleep_ticks"] }' | LC_ALL=C sort >expected
csv "SELECT name, total(duration_ns) FILTER (WHERE state = 'running'),
    total(duration_ns) FILTER (WHERE state IN ('runnable', 'woken', 'preempted')),
    total(duration_ns) FILTER (WHERE state IN ('sleeping', 'uninterruptible')) FROM state
    WHERE kind = 'vcpu' AND state != 'unknown' GROUP BY name" xen.raw | LC_ALL=C sort >out
[ -s out ] && cmp -s out expected || fail "states are not those of sched: $(diff out expected)"

# Functions and formats.
[ "$("$strata" sql -c "SELECT hex(-1) AS a, hex('AZ') AS b, duration(1500) AS c, duration(-2) AS d, histogram(value) AS e,
    percentile(value, 50) AS f, NULL AS g, 0.1 AS h, x'00ff' AS i FROM (VALUES (1)) AS t(value)" boot.trace 2>&1)" != "" ] || fail "functions"
"$strata" sql --format=json -c "SELECT hex(-1) AS a, hex('AZ') AS b, duration(1500) AS c, duration(-2) AS d,
    histogram(column1) AS e, percentile(column1, 50) AS f, NULL AS g, 0.1 AS h, x'00ff' AS i, 'a\"
b' AS j, 1 AS j FROM (VALUES (1), (5))" boot.trace >out 2>err || fail "functions: $(cat err)"
[ "$(cat out)" = '{"a":"0xffffffffffffffff","b":"415A","c":"1.50us","d":"-2ns","e":"[[1,1,1],[4,7,1]]","f":1,"h":0.1,"i":"00ff","j":"a\"\nb","j_2":1}' ] ||
    fail "functions: $(cat out)"
[ "$(printf '%s\n' 'SELECT 1 AS "a,b";' 'SELECT count(*) AS n' ' FROM source' | "$strata" sql --format=csv boot.trace | tr -d '\r')" = '"a,b"
1
n
1' ] || fail "standard input"
echo 'SELECT 3 AS three' >three.sql
[ "$("$strata" sql --file three.sql -c 'SELECT 2 AS two' boot.trace)" = "two
  2
three
    3" ] || fail "a file: $("$strata" sql --file three.sql -c 'SELECT 2 AS two' boot.trace)"
"$strata" sql --list >out || fail "--list"
grep -q '^slowest ' out || fail "--list: $(cat out)"
for name in $("$strata" sql --list --format=csv | tr -d '\r' | sed -n 's/^\([a-z-]*\),.*/\1/p' | grep -v '^name$'); do
    "$strata" sql -q "$name" trace >out 2>err || fail "query $name: $(cat err)"
done

# refuse STATUS MESSAGE ARGUMENT...
refuse() {
    status=0
    "$strata" sql "$2" "$3" "$4" >out 2>err || status=$?
    [ $status -eq 1 ] && grep -q "$1" err || fail "$3: $status, $(cat err)"
}
refuse '^strata: -c:2: column 8: no such column: x$' -c '
SELECT x FROM source' boot.trace
refuse '^strata: -c:1: column 8: near "FROM": syntax error$' -c 'SELECT FROM' boot.trace
refuse '^strata: -c: no such table: guest_nothing; .SELECT name FROM class. lists the events$' -c 'SELECT * FROM guest_nothing' boot.trace
refuse "^strata: -c: no such table: spn; did you mean 'span'?$" -c 'SELECT * FROM spn' boot.trace
refuse "^strata: -c: no such table: vmm_pci_cfg_reed; did you mean 'vmm_pci_cfg_read'?$" -c 'SELECT * FROM vmm_pci_cfg_reed' boot.trace
refuse 'percentile(x, p): p is from 0 to 100' -c 'SELECT percentile(id, 101) FROM source' boot.trace
refuse 'percentile(x, p): p is from 0 to 100' -c "SELECT percentile(id, 'a') FROM source" boot.trace
# A query cannot do anything but read.
for statement in "ATTACH 'other.db' AS other" "CREATE TABLE t(x)" "CREATE TEMP TABLE t(x)" "PRAGMA journal_mode = DELETE" \
    "INSERT INTO source(id) VALUES(1)" "DELETE FROM event" "SELECT load_extension('x')" "VACUUM INTO 'other.db'" \
    "CREATE VIRTUAL TABLE t USING fts5(x)" "BEGIN" "ALTER TABLE event RENAME TO e" "DROP TABLE event"; do
    status=0
    "$strata" sql -c "$statement" boot.trace >out 2>err || status=$?
    [ $status -eq 1 ] && [ -s err ] && [ ! -s out ] || fail "$statement: $status, $(cat out err)"
done
[ ! -e other.db ] || fail "a file was written"
status=0
"$strata" sql -c 'SELECT 1' - <boot.trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -q 'a pipe can be read once' err || fail "standard input as a trace: $(cat err)"
status=0
"$strata" sql -q nosuch boot.trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -q "no query is called 'nosuch'" err || fail "no such query: $(cat err)"

# A number of lost events that the column has no room for is not known.
{
    echo ' a-7 [000] d..2. 1.0: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000'
    echo 'CPU:0 [LOST 9223372036854775808 EVENTS]'
    echo ' a-7 [000] d..2. 1.1: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000'
    echo 'CPU:0 [LOST 5 EVENTS]'
    echo ' a-7 [000] d..2. 1.2: sched_wakeup: comm=a pid=7 prio=120 target_cpu=000'
} >claim.txt
[ "$("$strata" sql --format=csv -c 'SELECT lost FROM loss ORDER BY time_ns' claim.txt 2>err | tr -d '\r' | tr '\n' ' ')" = "lost  5 " ] ||
    fail "claims: $("$strata" sql -c 'SELECT lost FROM loss ORDER BY time_ns' claim.txt 2>&1)"

# A loss without an end has none, wherever it is told.
cp -r trace/guest-guest cut
truncate -s -2048 cut/cpu0.raw
"$strata" sql -k --format=csv -c 'SELECT cpu, time_ns, since_ns > 0 FROM loss WHERE time_ns IS NULL' cut 2>err | tr -d '\r' >out
[ "$(tail -n 1 out)" = "0,,1" ] || fail "an open loss: $(cat out err)"

# What is damaged is said, and the rest is answered; what is lost is said.
head -c 100009 boot.trace >cut.trace
status=0
"$strata" sql -c 'SELECT count(*) FROM event' cut.trace >out 2>err || status=$?
[ $status -eq 1 ] && grep -q '^strata: the answer covers only what precedes this error$' err &&
    [ "$(tail -n 1 out)" -eq "$("$strata" report cut.trace 2>err2 | wc -l)" ] || fail "damaged: $(cat out err)"
"$strata" sql -c 'SELECT count(*) FROM span' trace >out 2>err || fail "losses"
grep -q '^strata: 165892 events were lost .*; counts and sums of the answer may be too low$' err || fail "losses: $(cat err)"
status=0
"$strata" sql --strict -c 'SELECT count(*) FROM span' trace >out 2>err || status=$?
[ $status -eq 3 ] || fail "--strict: $status"

# A signal stops a query that would not end.
"$strata" sql -c 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' boot.trace >out 2>err &
pid=$!
wait_for 'grep -qx strata /proc/$pid/comm && grep -q "^SigCgt:.*[2367abef]$" /proc/$pid/status'
status=0
kill -INT $pid
wait $pid || status=$?
[ $status -eq 1 ] && [ "$(cat err)" = "strata: query stopped" ] || fail "a signal: $status, $(cat err)"

# Limits of time and of memory.
status=0
"$strata" sql --limit-time 0.1 -c 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' \
    boot.trace >out 2>err || status=$?
[ $status -eq 1 ] && [ "$(cat err)" = "strata: the query took longer than --limit-time and was stopped" ] ||
    fail "a limit of time: $status, $(cat err)"
status=0
"$strata" sql --limit-memory 20M -c "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000)
    SELECT length(group_concat(i)) FROM n" boot.trace >out 2>err || status=$?
[ $status -eq 1 ] && [ "$(cat err)" = "strata: the query needs more memory than --limit-memory" ] ||
    fail "a limit of memory: $status, $(cat err)"

# Texts that a spreadsheet would run; a number is none of them.
[ "$("$strata" sql --format=csv --spreadsheet -c "SELECT '=1+1' AS a, -5 AS b, '-x' AS \"@c\"" boot.trace | tr -d '\r')" = \
    "a,b,'@c
'=1+1,-5,'-x" ] || fail "--spreadsheet"

python3 "$here/sql_shell.py" "$strata" trace/guest-guest || fail "at a terminal"

# Ten thousand classes, names that differ by case alone, and numbers beyond 63 bits.
python3 - <<'END'
import struct
with open("many.trace", "wb") as f, open("many.events", "w") as declared:
    names = [f"e{i}" for i in range(9998)] + ["Same", "same"]
    for name in names:
        print(name + '(uint64_t n) "%" PRIu64', file=declared)
    f.write(struct.pack("=QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, 4))
    for i, name in enumerate(names):
        f.write(struct.pack("=QQI", 0, i, len(name)) + name.encode())
    for i in range(len(names)):
        f.write(struct.pack("=QQQIIQ", 1, i, 1000 + i, 32, 77, 2**64 - 1 - i))
END
[ "$("$strata" sql --format=csv --trace-events many.events -c "SELECT count(*), count(DISTINCT name) FROM class;
    SELECT hex(n) FROM vmm_same UNION ALL SELECT hex(n) FROM vmm_Same_2 UNION ALL SELECT n FROM vmm_e1;
    SELECT count(*) FROM events_json WHERE fields LIKE '{\"n\":18446744073709%}'" many.trace 2>err | tr -d '\r' | tr '\n' ' ')" = \
    'count(*),count(DISTINCT name) 10000,10000 hex(n) 0xffffffffffffd8f1 0xffffffffffffd8f0 -2 count(*) 10000 ' ] ||
    fail "many classes: $(cat err)"
