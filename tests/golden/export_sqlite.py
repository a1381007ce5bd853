"""export_sqlite.py REPORT DATABASE: compares a report in JSON with the database that the same capture was
exported to, event by event."""
import json
import re
import sqlite3
import sys


def same(ours, found):
    if ours is None or found is None:
        return ours is found
    if isinstance(found, bytes):
        if isinstance(ours, str):
            return bytes.fromhex(ours) == found
        if not ours:
            return not found
        size = len(found) // len(ours)
        return [int.from_bytes(found[i : i + size], sys.byteorder, signed=min(ours) < 0)
                for i in range(0, len(found), size)] == ours
    if isinstance(ours, int) and isinstance(found, int):
        return ours % 2**64 == found % 2**64
    if isinstance(ours, float):
        return abs(ours - found) <= abs(ours) * 1e-6
    return ours == found


items = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
db = sqlite3.connect(sys.argv[2])
db.text_factory = lambda raw: raw.decode("utf-8", "replace")
if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
    sys.exit(f"integrity: {db.execute('PRAGMA integrity_check').fetchall()[:5]}")
common = {row[0]: row[1:] for row in db.execute(
    "SELECT v.id, v.time_ns, v.layer, v.source, v.cpu, v.pid, v.comm, v.vcpu, v.event_group, v.event, e.class "
    "FROM events v JOIN event e ON e.id = v.id")}
tables = dict(db.execute("SELECT id, table_name FROM class"))
rows = {}
for table in tables.values():
    for row in db.execute(f'SELECT * FROM "{table}"'):
        rows[row[0]] = (table, row[1:])
losses = {row[0]: row[1:] for row in db.execute("SELECT id, time_ns, since_ns, cpu, lost, cause FROM loss")}
if len(common) + len(losses) != len(items) or len(rows) != len(common) or not items:
    sys.exit(f"{len(items)} items, {len(common)} events, {len(rows)} rows of classes, {len(losses)} losses")
for n, item in enumerate(items, 1):
    time = item.get("time_ns", item.get("ticks"))
    if "lost" in item:
        since = item.get("since_ns", item.get("since_ticks"))
        if losses[n] != (time, since, item.get("cpu"), item["lost"], item["cause"]):
            sys.exit(f"a loss differs: {item}\n{losses[n]}")
        continue
    *facts, number = common[n]
    # The name of a thread is the one known at the end.
    expected = [time, item["layer"], item.get("source", facts[2]), item.get("cpu"), item.get("pid"),
                facts[5] if item.get("comm") else None, item.get("vcpu"), item.get("group"), item["event"]]
    table, row = rows[n]
    if facts != expected or tables[number] != table or not re.fullmatch(
            re.sub(r"\W", "_", item["event"]) + r"(_\d+)?", table):
        sys.exit(f"differs: {item}\n{facts}")
    if row[:4] != (time, item.get("cpu"), item.get("pid"), item.get("vcpu")):
        sys.exit(f"differs in its own table: {item}\n{row}")
    fields = list(item["fields"].values())
    if len(fields) != len(row) - 4 or not all(map(same, fields, row[4:])):
        sys.exit(f"fields differ: {item}\n{row}")
print(len(common), "events,", len(losses), "losses")
