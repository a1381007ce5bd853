"""Traces of Linux's tracer, as trees of tracefs with pages: made_ftrace.py DIR

functions   of function_graph: functions that call each other, in two threads and in idle threads of two CPUs
markers     what programs write into trace_marker
remote      a hypervisor's ring buffer, whose events have no thread"""
import os
import struct
import sys

PAGE = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
COMMON = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
REMOTE = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
KALLSYMS = "ffffffff81001000 T do_this\nffffffff81002000 T do_that\nffffffff81003000 T do_more\n"


def field(declaration, offset, size, signed=0):
    return f"\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"


def ftrace(name, formats, cpus, directory="guest"):
    """CPUS: for each CPU, events (time, body)."""
    root = os.path.join(sys.argv[1], name)
    files = {"events/header_page": PAGE, "proc/kallsyms": KALLSYMS}
    files.update({f"events/{event}/format": text for event, text in formats.items()})
    for path, text in files.items():
        os.makedirs(os.path.dirname(f"{root}/{directory}/{path}"), exist_ok=True)
        with open(f"{root}/{directory}/{path}", "w") as out:
            out.write(text)
    for cpu, events in enumerate(cpus):
        page, last = b"", events[0][0]
        for time, body in events:
            body += bytes(-len(body) % 4)
            page += struct.pack("<I", len(body) // 4 | (time - last) << 5) + body
            last = time
        with open(f"{root}/cpu{cpu}.raw", "wb") as out:
            out.write(struct.pack("<QQ", events[0][0], len(page)) + page + bytes(4080 - len(page)))


def head(number, pid):
    return struct.pack("<HBBi", number, 0, 0, pid)


def functions():
    formats = {
        "ftrace/funcgraph_entry": "name: funcgraph_entry\nID: 11\nformat:\n" + COMMON + field("unsigned long func", 8, 8) +
                                  field("int depth", 16, 4, 1) + '\nprint fmt: "--> %ps (%d)", (void *)REC->func, REC->depth\n',
        "ftrace/funcgraph_exit": "name: funcgraph_exit\nID: 10\nformat:\n" + COMMON + field("unsigned long func", 8, 8) +
                                 field("int depth", 16, 4, 1) + field("unsigned int overrun", 20, 4) +
                                 field("unsigned long long calltime", 24, 8) + field("unsigned long long rettime", 32, 8) +
                                 '\nprint fmt: "<-- %ps (%d) (start: %llx  end: %llx) over: %u", (void *)REC->func, REC->depth, '
                                 "REC->calltime, REC->rettime, REC->overrun\n"}
    this, that, more = 0xFFFFFFFF81001000, 0xFFFFFFFF81002000, 0xFFFFFFFF81003000

    def enter(pid, func, depth):
        return head(11, pid) + struct.pack("<Qi", func, depth)

    def leave(pid, func, depth):
        return head(10, pid) + struct.pack("<QiIQQ", func, depth, 0, 0, 0)

    ftrace("functions", formats, [
        [(1000, enter(7, this, 0)), (1100, enter(7, that, 1)), (1250, leave(7, that, 1)), (1300, enter(7, this, 1)),
         (1350, leave(7, this, 1)), (1500, enter(0, more, 0)), (1800, leave(7, this, 0)), (1900, leave(0, more, 0))],
        [(1050, enter(8, this, 0)), (1550, enter(0, more, 0)), (1600, leave(0, more, 0)), (1700, leave(8, this, 0)),
         (1750, leave(8, that, 0)), (2000, enter(8, more, 0))]])


def markers():
    formats = {"ftrace/print": "name: print\nID: 5\nformat:\n" + COMMON + field("unsigned long ip", 8, 8) +
                               field("char buf[]", 16, 0, 1) + '\nprint fmt: "%ps: %s", (void *)REC->ip, REC->buf\n'}

    def line(pid, text):
        return head(5, pid) + struct.pack("<Q", 0) + text.encode() + b"\n\0"

    ftrace("markers", formats, [
        [(1000, line(70, "B|70|draw a|frame")), (1100, line(70, "B|70|wait")), (1150, line(71, "S|71|load|5")),
         (1160, line(71, "S|71|load|6")), (1200, line(70, "E|70")), (1210, line(70, "C|70|depth|-3")),
         (1220, line(70, "Eating")), (1230, line(70, "B for nothing")), (1250, line(72, "F|71|load|5")),
         (1300, line(70, "E")), (1310, line(70, "C|70|depth|12")), (1320, line(70, "C|70|depth|many")),
         (1330, line(71, "C|71|depth|9223372036854775807")), (1400, line(70, "E|70"))]])


def remote():
    formats = {"hypervisor/hyp_enter": "name: hyp_enter\nID: 4\nformat:\n" + REMOTE + 'print fmt: " "\n',
               "hypervisor/host_hcall": "name: host_hcall\nID: 1\nformat:\n" + REMOTE + field("unsigned int id", 2, 4) +
                                        field("u8 invalid", 6, 1) + '\nprint fmt: "id=%u invalid=%u", REC->id, REC->invalid\n'}
    ftrace("remote", formats, [
        [(1000, struct.pack("<H", 4)), (1200, struct.pack("<HIB", 1, 42, 0)), (1300, struct.pack("<HIB", 1, 43, 1))],
        [(1100, struct.pack("<HIB", 1, 44, 0))]])


def main():
    functions()
    markers()
    remote()


main()
