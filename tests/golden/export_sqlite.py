"""export_sqlite.py REPORT DATABASE: compares a report in JSON with the database that the same trace was
exported to, event by event."""
import json
import re
import sqlite3
import sys


def same(ours, found):
    if ours is None or found is None:
        return ours is found
    if isinstance(found, bytes):
        return bytes.fromhex(ours) == found
    if isinstance(ours, list):
        return json.loads(found) == ours
    if isinstance(ours, int) and isinstance(found, int):
        return ours % 2**64 == found % 2**64
    if isinstance(ours, float):
        return abs(ours - found) <= abs(ours) * 1e-6
    return ours == found


def show(what):
    return str(what)[:1000]


def same_in_json(ours, found):
    return ours == found


items = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
db = sqlite3.connect(sys.argv[2])
db.text_factory = lambda raw: raw.decode("utf-8", "replace")
if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
    sys.exit(f"integrity: {db.execute('PRAGMA integrity_check').fetchall()[:5]}")
COMMON = "id, time_ns, error_ns, layer, source, cpu, pid, comm, vcpu, event_group, event"
common = {row[0]: row[1:] for row in db.execute(f"SELECT {COMMON} FROM events")}
with_fields = {row[0]: row[1:] for row in db.execute(f"SELECT {COMMON}, fields FROM events_json")}
# Classes of one event share a table where they have the same columns.
tables = {name: (layer, group, event, n) for name, layer, group, event, n in db.execute(
    "SELECT table_name, layer, event_group, event, sum(events) FROM class GROUP BY table_name")}
# What an event is called is all of it, whether it is a table or a view.
for name, layer, event, n in db.execute("SELECT name, layer, event, sum(events) FROM class GROUP BY name"):
    if not re.fullmatch(re.sub(r"\W", "_", f"{layer}_{event}") + r"(_\d+)?", name):
        sys.exit(f"{layer}:{event} is called {name}")
    (rows_of,) = db.execute(f'SELECT count(*) FROM "{name}"').fetchone()
    if rows_of != n:
        sys.exit(f"{name} has {rows_of} events of {n}")
if db.execute("SELECT count(DISTINCT layer || ' ' || event) != count(DISTINCT name) FROM class").fetchone() != (0,):
    sys.exit("an event has two names")
captures = dict(db.execute("SELECT id, input FROM source"))
rows = {}
for table, facts in tables.items():
    n = 0
    columns = [name for name, _ in db.execute(
        "SELECT DISTINCT column_name, number FROM field JOIN class ON id = class WHERE table_name = ? ORDER BY number",
        (table,))]
    # After the fields' columns come those of their values' names.
    found = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')][7:]
    if found[:len(columns)] != columns or not all(
            re.fullmatch(r"\w+_name(_\d+)?", name) for name in found[len(columns):]):
        sys.exit(f"the columns of {table} are not those of its fields, {columns}")
    for row in db.execute(f'SELECT * FROM "{table}"'):
        rows[row[0]] = (table, row[1:7 + len(columns)], dict(zip(found[len(columns):], row[7 + len(columns):])))
        n += 1
    if n != facts[3]:
        sys.exit(f"{table} has {n} events and says {facts[3]}")
losses = {row[0]: row[1:] for row in db.execute("SELECT id, time_ns, since_ns, error_ns, cpu, lost, cause FROM loss")}
meta = dict(db.execute("SELECT key, value FROM meta"))
if meta["events"] != len(common) or meta["losses"] != len(losses):
    sys.exit(f"{len(common)} events, {len(losses)} losses: {meta}")
if len(common) + len(losses) != len(items) or len(rows) != len(common) or not items:
    sys.exit(f"{len(items)} items, {len(common)} events, {len(rows)} rows of classes, {len(losses)} losses")
for n, item in enumerate(items, 1):
    time = item.get("time_ns", item.get("ticks"))
    if "lost" in item:
        since = item.get("since_ns", item.get("since_ticks"))
        if losses[n] != (time, since, item.get("error_ns"), item.get("cpu"), item["lost"], item["cause"]):
            sys.exit(f"a loss differs: {show(item)}\n{losses[n]}")
        continue
    *facts, event = common[n]
    source = facts[3]
    # The name of a thread is the one known at the end.
    expected = [time, item.get("error_ns"), item["layer"], source, item.get("cpu"), item.get("pid"),
                facts[6] if item.get("comm") else None, item.get("vcpu"), item.get("group")]
    if item.get("comm") and not facts[6]:
        sys.exit(f"has no name: {show(item)}\n{facts}")
    table, row, names = rows[n]
    if facts != expected or event != item["event"] or captures[source] != item.get("source", captures[source]):
        sys.exit(f"differs: {show(item)}\n{facts} {event}")
    if tables[table][:3] != (item["layer"], item.get("group"), event) or not re.fullmatch(
            re.sub(r"\W", "_", f"{item['layer']}_{event}") + r"(_\d+)*", table):
        sys.exit(f"is in the table {table}: {show(item)}\n{tables[table]}")
    if row[:6] != (time, item.get("error_ns"), source, item.get("cpu"), item.get("pid"), item.get("vcpu")):
        sys.exit(f"differs in its own table: {show(item)}\n{show(row)}")
    fields = list(item["fields"].values())
    if len(fields) != len(row) - 6 or not all(map(same, fields, row[6:])):
        sys.exit(f"fields differ: {show(item)}\n{show(row)}")
    expected_names = {f"{key}_name": name for key, name in item.get("names", {}).items()}
    if {key: name for key, name in names.items() if name is not None} != expected_names:
        sys.exit(f"names differ: {show(item)}\n{names}")
    *again, text = with_fields[n]
    found = json.loads(text)
    if again != [*facts, event] or list(found) != list(item["fields"]) or not all(
            same_in_json(ours, found[name]) for name, ours in item["fields"].items()):
        sys.exit(f"events_json differs: {show(item)}\n{show(text)}")
print(len(common), "events,", len(losses), "losses")
