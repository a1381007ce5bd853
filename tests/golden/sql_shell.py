"""sql_shell.py STRATA TRACE: strata sql at a terminal: commands, a statement of several lines, completion, Ctrl-C, the
history."""
import os
import pty
import select
import sys

strata, trace = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="vt100", XDG_STATE_HOME=os.getcwd(), LINES="24", COLUMNS="200")
    os.execv(strata, [strata, "sql", trace])


def read_until(what, since):
    """What the terminal shows from SINCE on, up to WHAT."""
    out = since
    while what not in out:
        if not select.select([fd], [], [], 120)[0]:
            sys.exit(f"'{what.decode()}' does not come after: {out.decode(errors='replace')[-2000:]}")
        try:
            out += os.read(fd, 65536)
        except OSError:
            sys.exit(f"the shell ended: {out.decode(errors='replace')[-2000:]}")
    return out


def ask(keys, *expected):
    """Types KEYS; all of EXPECTED is shown, and then a prompt."""
    os.write(fd, keys)
    out = b""
    for what in expected:
        out = read_until(what, out)
        out = out[out.index(what) + len(what):]
    read_until(b"strata> ", out)


read_until(b"strata> ", b"")
ask(b".tables *_sched_sw*\n", b"guest_sched_switch")
ask(b".schema loss\n", b"skipped_bytes", b"INTEGER")
ask(b"SELECT count(*) AS n\nFROM source;\n", b"...> ", b"n\r\n1\r\n")
ask(b"SELECT count(*) AS n FROM guest_sched_sw\t;\n", b"itch", b"n\r\n")
ask(b"SELECT nosuch;\n", b"no such column: nosuch")
ask(b".format json\n")
ask(b"SELECT 7 AS seven;\n", b'{"seven":7}')
ask(b".run nosuch\n", b"no query is called 'nosuch'")
os.write(fd, b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;\n")
out = read_until(b'{"i":1000}', b"")
os.write(fd, b"\x03")
out = read_until(b"query stopped", out)
read_until(b"strata> ", out[out.index(b"query stopped"):])
ask(b"SELECT 8 AS eight;\n", b'{"eight":8}')
os.write(fd, b".quit\n")
_, status = os.waitpid(pid, 0)
if status != 0:
    sys.exit(f"status {status}")
if "SELECT" not in open("strata/sql-history").read():
    sys.exit("no history")
