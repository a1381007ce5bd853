#!/bin/sh
# strata export --to sqlite: event by event as SQLite shows it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
strata=$STRATA_BIN/strata
cd "$dir"

fail() {
    echo "export_sqlite: $*" >&2
    exit 1
}

xz -dc "$DATA/qemu/trace.simpletrace.xz" >boot.trace
xz -dc "$DATA/xen/xen-4.17-all.raw.xz" >xen.raw
tar -xf "$DATA/ctf/lttng-ust.tar.xz"
mkdir guest
tar -C guest -xf "$DATA/ftrace/guest-local-clock/guest.tar.xz"
for cpu in 0 1; do
    xz -dc "$DATA/ftrace/guest-local-clock/cpu$cpu.raw.xz" >guest/cpu$cpu.raw
done

# compare CAPTURE... [OPTION...]: exported and reported with the same.
compare() {
    "$strata" export --to sqlite -o export.db "$@" 2>err
    "$strata" report -f json "$@" >report 2>err
    python3 "$here/export_sqlite.py" report export.db || fail "$* differs"
}
compare boot.trace
compare lttng-ust
compare guest
compare xen.raw
compare xen.raw --cpu 1 -n 5000 --cpu-hz 2.4G
cp boot.trace again.trace
compare boot.trace again.trace -n 2000

# The command reads it, and may write to it.
"$strata" export --to sqlite -o export.db guest 2>err
[ "$(sqlite3 export.db "SELECT count(*) FROM events WHERE layer = 'guest' AND event = 'sys_exit'")" -eq \
    "$("$strata" report -e sys_exit guest 2>err | grep -vc LOST)" ] || fail "the command counts otherwise"
sqlite3 export.db 'CREATE INDEX t ON event(time_ns); DELETE FROM event WHERE id % 3 = 0; VACUUM; PRAGMA integrity_check' >out
[ "$(cat out)" = ok ] || fail "after changes: $(cat out)"

# Texts of all lengths, around those at which a row no longer fits a page; names that SQL or the tables
# have themselves.
python3 - <<'END'
import random, struct
random.seed(7)
names = [b"select", b"Event", b"event", b"a_text"]
with open("made.trace", "wb") as f:
    f.write(struct.pack("=QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, 4))
    for i, name in enumerate(names):
        f.write(struct.pack("=QQI", 0, i, len(name)) + name)
    lengths = list(range(3900, 4110)) + list(range(8100, 8300)) + [random.randrange(60000) for _ in range(700)]
    for n, length in enumerate(lengths * 3):
        text = bytes(random.choices(b"abcdefgh \xc3\xa4".replace(b"\xc3\xa4", b"z"), k=length))
        args = struct.pack("=QI", n - 700, length) + text if n >= 700 else struct.pack("=QI", 2**64 - n - 1, length) + text
        f.write(struct.pack("=QQQII", 1, n % 4, 10**9 + n, 24 + len(args), 77) + args)
END
printf '%s(int64_t Time_NS, const char *id) "%%" PRId64 " %%s"\n' select Event event a_text >made.events
compare --events made.events made.trace
sqlite3 export.db .schema >schema
grep -q 'CREATE TABLE.* "Event_2"(id .*"field_Time_NS" INTEGER, "field_id" TEXT)' schema && grep -q '"event_3"' schema || fail "$(cat schema)"

# Nothing selected, and what cannot be.
"$strata" export --to sqlite -o none.db -e nosuch boot.trace 2>err
[ "$(sqlite3 none.db 'PRAGMA integrity_check; SELECT count(*) FROM events')" = "ok
0" ] || fail "nothing selected"
status=0
"$strata" export --to sqlite boot.trace >out 2>err || status=$?
[ $status -eq 2 ] && grep -q 'name it by --output' err || fail "standard output: $(cat err)"
status=0
"$strata" export --to sqlite -o /dev/null boot.trace 2>err || status=$?
[ $status -eq 1 ] && grep -q 'cannot be written to a pipe or device' err || fail "a device: $(cat err)"
