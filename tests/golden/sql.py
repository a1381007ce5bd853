"""sql.py STRATA DATABASE PATH...: compares the tables that strata sql shows of the traces with those of the same traces
exported to DATABASE, row by row, and the answers of queries that are pushed down to the readers."""
import json
import random
import sqlite3
import subprocess
import sys

strata, database, *paths = sys.argv[1:]
db = sqlite3.connect(database)
db.text_factory = lambda raw: raw.decode("utf-8", "replace")


def ask(queries):
    """The rows of each query, which strata sql prints as JSON."""
    marked = "".join(f"SELECT 'strata_mark_{n}' AS mark; {query};" for n, query in enumerate(queries))
    run = subprocess.run([strata, "sql", "--format=json", "-c", marked, *paths], capture_output=True, check=False)
    if run.returncode != 0 and b"missing" not in run.stderr:
        sys.exit(f"strata sql fails: {run.stderr.decode()[:2000]}")
    answers = []
    for line in run.stdout.decode("utf-8").splitlines():
        row = json.loads(line)
        if "mark" in row:
            answers.append([])
        else:
            answers[-1].append(row)
    return answers


def exported(query):
    cursor = db.execute(query)
    names = []
    for column in cursor.description:
        name, n = column[0], 1
        while name in names:
            n += 1
            name = f"{column[0]}_{n}"
        names.append(name)
    rows = []
    for row in cursor:
        rows.append({name: cell.hex() if isinstance(cell, bytes) else cell
                     for name, cell in zip(names, row) if cell is not None})
    return rows


def compare(queries):
    for query, ours in zip(queries, ask(queries)):
        theirs = exported(query)
        if len(ours) != len(theirs):
            sys.exit(f"{query}: {len(ours)} rows, and {len(theirs)} of the export")
        for n, (a, b) in enumerate(zip(ours, theirs)):
            if a != b and not (a.keys() == b.keys() and all(
                    a[key] == b[key] or (isinstance(a[key], float) and abs(a[key] - b[key]) <= 1e-12 * abs(b[key]))
                    for key in a)):
                sys.exit(f"{query}: row {n} is {str(a)[:1000]}\nand {str(b)[:1000]}")


tables = [name for (name,) in db.execute("SELECT DISTINCT name FROM class ORDER BY 1")]
variants = [name for (name,) in db.execute("SELECT DISTINCT table_name FROM class WHERE table_name != name ORDER BY 1")]
random.seed(5)
shown = random.sample(tables, min(len(tables), 20)) + variants[:10]
everything = ["event", "span", "state", "loss", "source", "clock", "thread", "cpu", "class", "field", "value_name",
              "fact", "problem"]
order = {"event": "id", "loss": "id", "source": "id", "class": "id", "field": "class, number",
         "span": "begin_ns, name, end_ns, key, pid, cpu, cut",
         "state": "begin_ns, kind, source, id, end_ns, state"}
compare([f"SELECT * FROM {table} {'WHERE id % 5 = 0' if table == 'event' else ''} ORDER BY {order.get(table, '1, 2, 3' if table not in ('problem',) else '1')}"
         for table in everything])
compare([f'SELECT * FROM "{table}" WHERE id % 3 = 0 ORDER BY id' for table in shown])
compare(["SELECT key, value FROM meta ORDER BY key"])

# What is pushed down leaves nothing out.
first, last, n = db.execute("SELECT min(time_ns), max(time_ns), count(*) FROM event").fetchone()
cpus = [cpu for (cpu,) in db.execute("SELECT DISTINCT cpu FROM event WHERE cpu IS NOT NULL ORDER BY 1")][:2] or [0]
pids = [pid for (pid,) in db.execute("SELECT pid FROM event WHERE pid IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 3")] or [0]
queries = []
for _ in range(10):
    a, b = sorted((random.randint(first, last), random.randint(first, last)))
    table = random.choice(shown + ["event"] * 10)
    where = random.sample([
        f"time_ns >= {a} AND time_ns < {b}", f"time_ns BETWEEN {a} AND {b}", f"time_ns > {a}", f"time_ns <= {b}.5",
        f"cpu = {cpus[0]}", f"cpu IN ({', '.join(map(str, cpus))}, NULL)", f"cpu = '{cpus[-1]}'",
        f"pid = {pids[0]}", f"pid IN ({', '.join(map(str, pids))})", "source = 0", "source >= 1", "vcpu IS NOT NULL",
        f"id > {n // 2}", f"(time_ns < {a} OR time_ns > {b})", f"pid = {pids[0]}.0"], 2)
    queries.append(f'SELECT count(*) AS n, min(time_ns) AS a, max(time_ns) AS b, sum(time_ns % 1009) AS s FROM "{table}" '
                   f"WHERE {' AND '.join(where)}")
queries += [
    "SELECT event, count(*) AS n FROM event WHERE event GLOB 'sys_*' AND layer = 'guest' GROUP BY 1 ORDER BY 1",
    "SELECT event, count(*) AS n FROM event WHERE event LIKE '%SWITCH%' GROUP BY 1 ORDER BY 1",
    "SELECT layer, count(*) AS n FROM events WHERE layer IN ('guest', 'vmm', 'hypervisor') GROUP BY 1 ORDER BY 1",
    "SELECT count(*) AS n FROM event WHERE event = NULL",
    "SELECT comm, count(*) AS n FROM event GROUP BY 1 ORDER BY 1",
    "SELECT t.comm, count(*) AS n FROM event e JOIN thread t ON t.source = e.source AND t.pid = e.pid GROUP BY 1 ORDER BY 1",
    "SELECT name, cut, count(*) AS n, sum(duration_ns) AS s FROM span GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT kind, state, count(*) AS n, sum(duration_ns) AS s FROM state GROUP BY 1, 2 ORDER BY 1, 2",
    f"SELECT count(*) AS n, sum(duration_ns) AS s FROM span WHERE begin_ns BETWEEN {(first + last) // 2} AND {last} AND pid = {pids[0]}",
    f"SELECT count(*) AS n FROM state WHERE begin_ns <= {(first + last) // 2} AND end_ns > {(first + last) // 2} AND kind = 'cpu'",
    "SELECT st.state, count(*) AS n, sum(min(st.end_ns, sp.end_ns) - max(st.begin_ns, sp.begin_ns)) AS s FROM span sp "
    "JOIN state st ON st.kind = 'thread' AND st.source = sp.source AND st.id = sp.pid AND st.begin_ns < sp.end_ns "
    f"AND st.end_ns > sp.begin_ns WHERE sp.pid IN ({', '.join(map(str, pids))}) GROUP BY 1 ORDER BY 1",
]
# Inner loops, which are from copies of tables, and comparisons by other rules than the readers'.
names = [name for (name,) in db.execute("SELECT event FROM event GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 3")]
most = db.execute("SELECT name FROM class GROUP BY 1 ORDER BY sum(events) DESC, 1 LIMIT 1").fetchone()[0]
few = f"(SELECT * FROM event WHERE id % {n // 40 + 1} = 0)"
queries += [
    f"SELECT a.id, count(b.id) AS n, max(b.time_ns) AS m FROM {few} a LEFT JOIN event b ON b.time_ns > a.time_ns "
    f"AND b.time_ns <= a.time_ns + 100000 AND b.cpu = a.cpu AND b.event = '{names[0]}' GROUP BY 1 ORDER BY 1",
    f'SELECT a.id, count(b.id) AS n, max(b.time_ns) AS m FROM {few} a LEFT JOIN "{most}" b ON b.id BETWEEN a.id - 50 AND a.id '
    f"AND b.source = a.source GROUP BY 1 ORDER BY 1",
    f'SELECT a.id, (SELECT b.id FROM "{most}" b WHERE b.id > a.id ORDER BY b.id LIMIT 1) AS next FROM {few} a ORDER BY 1',
    f"SELECT a.id, b.comm, b.vcpu, b.event_group, b.layer FROM {few} a JOIN event b ON b.id = a.id ORDER BY 1",
    f"SELECT count(*) AS n FROM event WHERE event = '{names[-1].upper()}' COLLATE NOCASE",
    f"SELECT count(*) AS n FROM span WHERE name = 'SYSCALL' COLLATE NOCASE",
    f"SELECT a.event, count(*) AS n FROM event a JOIN event b ON a.event = b.event AND b.id < 20 WHERE a.id < 3000 GROUP BY 1 ORDER BY 1",
]
compare(queries)
print(n, "events,", len(shown), "tables of events,", len(queries), "queries")
