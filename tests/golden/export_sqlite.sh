#!/bin/sh
# strata export --to sqlite: event by event as SQLite shows it.
many_files=yes
. "$(dirname "$0")/../lib/golden.sh"

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
. "$here/../lib/kernel_capture.sh"
kernel_capture local guest

# compare CAPTURE... [OPTION...]: exported and reported with the same.
compare() {
    "$strata" export --to sqlite -o export.db "$@" 2>err || [ ! -s export.db ] || :
    "$strata" report -f json "$@" >report 2>err || :
    python3 "$here/export_sqlite.py" report export.db || fail "$* differs"
}
compare boot.trace -n 8000
compare lttng-ust
compare guest
compare xen.raw -n 8000
compare xen.raw -e '*_to_*' -n 5000 --cpu-hz 2.4G
cp boot.trace again.trace
compare boot.trace again.trace -n 2000

# Several layers on one timeline, with bounds.
. "$here/../lib/three_layers.sh"
compare trace
[ "$(sqlite3 export.db "SELECT count(*) FROM guest_sched_switch UNION ALL SELECT count(*) FROM host_sched_switch")" = \
    "$("$strata" report -e guest:sched_switch trace 2>err | grep -vc LOST)
$("$strata" report -e host:sched_switch trace 2>err | grep -vc LOST)" ] || fail "sched_switch of two layers"
[ "$(sqlite3 export.db "SELECT layer, max(error_ns), count(*) FROM events GROUP BY 1")" = "guest|41004|14396
host|1727|14429
vmm|1204|4" ] || fail "layers: $(sqlite3 export.db "SELECT layer, max(error_ns), count(*) FROM events GROUP BY 1")"

# The command reads it, and may write to it.
"$strata" export --to sqlite -o export.db guest 2>err
[ "$(sqlite3 export.db "SELECT count(*) FROM events WHERE layer = 'guest' AND event = 'sys_exit'")" -eq \
    "$("$strata" report -e sys_exit guest 2>err | grep -vc LOST)" ] || fail "the command counts otherwise"
sqlite3 export.db 'CREATE INDEX t ON guest_sys_exit(time_ns); DELETE FROM guest_sys_exit WHERE id % 3 = 0; VACUUM; PRAGMA integrity_check' >out
[ "$(cat out)" = ok ] || fail "after changes: $(cat out)"

# Spans and states are those of the analyses.
"$strata" export --to sqlite -o export.db trace 2>err
[ "$(sqlite3 export.db "SELECT name, count(*), sum(duration_ns), min(duration_ns), max(duration_ns) FROM span
    WHERE cut IS NULL GROUP BY 1 ORDER BY 2 DESC, 1")" = "$("$strata" latency -f csv trace 2>err | tr -d '\r' |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["name"] "|" $at["n"] "|" $at["sum_ns"] "|" $at["min_ns"] "|" $at["max_ns"] }' |
    LC_ALL=C sort -t '|' -k 2,2nr -k 1,1)" ] ||
    fail "spans: $(sqlite3 export.db "SELECT name, cut, count(*) FROM span GROUP BY 1, 2")"
[ "$(sqlite3 export.db "SELECT count(cpu) FROM event")" = "$(sqlite3 export.db "SELECT sum(events) FROM cpu")" ] ||
    fail "CPUs: $(sqlite3 export.db "SELECT * FROM cpu")"

# Names of values.
"$strata" export --to sqlite -o export.db -n 5000 xen.raw 2>err
[ "$(sqlite3 export.db "SELECT v.name FROM hypervisor_hypercall h JOIN class c ON c.name = 'hypervisor_hypercall'
    JOIN field f ON f.class = c.id AND f.column_name = 'op'
    JOIN value_name v ON v.class = c.id AND v.field = f.number AND v.value = h.op ORDER BY h.id LIMIT 1")" = \
    set_segment_base ] || fail "names of values"

# One event is one table, or one view of the tables of its variants: fields keep their types, and are NULL where a
# variant does not have them.
python3 "$here/two_variants.py" one two three
compare one two three
[ "$(sqlite3 export.db "SELECT name, type FROM sqlite_master WHERE name LIKE 'vmm_probe%' ORDER BY 1")" = "vmm_probe|view
vmm_probe_1|table
vmm_probe_2|table" ] || fail "variants: $(sqlite3 export.db .schema)"
[ "$(sqlite3 export.db "SELECT source, typeof(x), x, typeof(y), y, typeof(z), z FROM vmm_probe ORDER BY id")" = \
    "0|integer|-1|integer|7|null|
1|text|12|null||integer|9
2|integer|255|integer|8|null|" ] || fail "variants: $(sqlite3 export.db "SELECT * FROM vmm_probe")"
[ "$(sqlite3 export.db "SELECT fields FROM events_json ORDER BY id")" = '{"x":18446744073709551615,"y":7}
{"x":"12","z":9}
{"x":255,"y":8}' ] || fail "variants in JSON: $(sqlite3 export.db "SELECT fields FROM events_json ORDER BY id")"

# The facts about a trace, and its problems.
head -c 100009 boot.trace >cut.trace
"$strata" export --to sqlite -o export.db cut.trace 2>err && fail "the cut trace is not noticed"
[ "strata: $(sqlite3 export.db 'SELECT text FROM problem')" = "$(cat err)" ] || fail "problems: $(cat err)"
[ "$(sqlite3 export.db "SELECT value FROM fact WHERE key = 'version'; SELECT path FROM source")" = "4
cut.trace" ] || fail "facts: $(sqlite3 export.db 'SELECT * FROM fact')"

# Texts of all lengths, around those at which a row no longer fits a page, and longer than what is kept
# before it is inserted; names that SQL, SQLite or the tables have themselves; more events than a compound
# SELECT or a function takes.
python3 - <<'END'
import random, struct
random.seed(7)
names = [b"select", b"Events", b"events", b"a_text", b"sqlite_master", b"many"] + [b"c%d" % i for i in range(900)]
texts = len(names) - 901
with open("made.trace", "wb") as f, open("made.events", "w") as declared:
    for name in names[:5]:
        print(name.decode() + '(int64_t Time_NS, const char *id, int64_t field_id, int64_t ID) "%" PRId64 " %s %" PRId64 " %" PRId64',
              file=declared)
    print("many(" + ", ".join(f"uint64_t f{i}" for i in range(9)) + ')' + ' "' + '%" PRIu64 "' * 9 + '"', file=declared)
    for name in names[6:]:
        print(name.decode() + '(uint64_t n) "%" PRIu64', file=declared)
    f.write(struct.pack("=QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, 4))
    for i, name in enumerate(names):
        f.write(struct.pack("=QQI", 0, i, len(name)) + name)

    def event(number, args):
        event.time += 1
        f.write(struct.pack("=QQQII", 1, number, event.time, 24 + len(args), 77) + args)
    event.time = 10**9
    for n in range(6, len(names)):
        event(n, struct.pack("=Q", 2**64 - n))
    for length in list(range(3990, 4110)) + list(range(8100, 8200)) + [random.randrange(60000) for _ in range(300)] + [250000, 0]:
        text = bytes(random.choices(b"abcdefgh '\"", k=length))
        event(event.time % 5, struct.pack("=qI", -event.time, length) + text + struct.pack("=qq", 4, -5))
        event(5, struct.pack("=9Q", *range(2**63 - 4, 2**63 + 5)))
END
compare --trace-events made.events made.trace
sqlite3 export.db .schema >schema
grep -q 'CREATE TABLE.* "*vmm_[eE]vents_2"*("id" .*"field_Time_NS" INTEGER, "field_id" TEXT, "field_id_2" INTEGER, "field_ID_3" INTEGER, PRIMARY KEY(id))' schema ||
    fail "columns: $(grep -i 'create table.*events_2' schema)"
grep -q 'vmm_sqlite_master"*(' schema || fail "names: $(grep -i -e master schema)"

# Nothing selected, and what cannot be.
"$strata" export --to sqlite -o none.db -e nosuch boot.trace 2>err
[ "$(sqlite3 none.db 'PRAGMA integrity_check; SELECT count(*) FROM events; SELECT count(*) FROM events_json')" = "ok
0
0" ] || fail "nothing selected"
status=0
"$strata" export --to sqlite boot.trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -q -- '--output=FILE is required' err || fail "standard output: $(cat err)"
status=0
"$strata" export --to sqlite -o /dev/null boot.trace 2>err || status=$?
[ $status -eq 1 ] && grep -q 'cannot be written to a pipe or device' err || fail "a device: $(cat err)"

# A full disk is reported, and no file is left.
mkdir small
(
    trap '' XFSZ
    ulimit -f 1000
    exec "$strata" export --to sqlite -o small/export.db boot.trace 2>err
) && fail "a file larger than is allowed"
grep -q '^strata: small/export.db: cannot write: File too large' err || fail "no room: $(cat err)"
[ -z "$(ls small)" ] || fail "no room: leaves $(ls small)"

# Without the events of others, a CPU that ran them is not idle; and what was left out is said.
case="threads and vCPUs"
xz -dc "$DATA/xen/xen-4.17-no-guest-class.raw.xz" >some.raw
mkdir some
tar -C some -xJf "$DATA/kvm/exits.tar.xz"
some() {
    "$strata" export --to=sqlite -o some.db "$@" 2>err || fail "$(cat err)"
    python3 -c '
import sqlite3, sys
db = sqlite3.connect("some.db")
print(db.execute("SELECT count(*) > 0 FROM event").fetchone()[0], db.execute("SELECT count(*) FROM state WHERE state != \"unknown\"").fetchone()[0],
      *(text for text, in db.execute("SELECT text FROM problem")))'
}
[ "$(some --cpu-hz 2.4G --vcpu 1 some.raw)" = "1 0 --vcpu left out other events of this trace: what others did is unknown" ] || fail "$(some --cpu-hz 2.4G --vcpu 1 some.raw)"
[ "$(some --pid 190 some/trace)" = "1 0 --pid left out other events of this trace: what others did is unknown" ] || fail "$(some --pid 190 some/trace)"
[ "$(some some/trace | cut -d' ' -f 2)" -gt 100 ] || fail "$(some some/trace)"
