"""Traces of Linux's tracer, as trees of tracefs with pages: made_ftrace.py DIR

functions   of function_graph: functions that call each other, in two threads and in idle threads of two CPUs
markers     what programs write into trace_marker
remote      a hypervisor's ring buffer, whose events have no thread
programs    events of EventHeader, which have their fields with them, good and bad"""
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
            if len(body) <= 4 * 28:
                page += struct.pack("<I", len(body) // 4 | (time - last) << 5) + body
            else:
                page += struct.pack("<II", (time - last) << 5, len(body) + 4) + body
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

    def leave(pid, func, depth, calltime=0, rettime=0):
        return head(10, pid) + struct.pack("<QiIQQ", func, depth, 0, calltime, rettime)

    ftrace("functions", formats, [
        [(1000, enter(7, this, 0)), (1100, enter(7, that, 1)), (1250, leave(7, that, 1)), (1300, enter(7, this, 1)),
         (1350, leave(7, this, 1, 1295, 1335)), (1500, enter(0, more, 0)), (1800, leave(7, this, 0)), (1900, leave(0, more, 0))],
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


def extension(order, kind, data, more=False):
    return struct.pack(order + "HH", len(data), kind | (0x8000 if more else 0)) + data


def header(order="<", stable=0, version=0, tag=0, opcode=0, level=4, extensions=b""):
    flags = (2 if order == "<" else 0) | 1 | (4 if extensions else 0)
    return struct.pack(order + "BBHHBB", flags, version, stable, tag, opcode, level) + extensions


def names(*fields):
    """Metadata: the name of the event, and for each field its name and what follows it."""
    return fields[0].encode() + b"\0" + b"".join(name.encode() + b"\0" + rest for name, rest in fields[1:])


def programs():
    types = ["u8 eventheader_flags", "u8 version", "u16 id", "u16 tag", "u8 opcode", "u8 level"]
    places = [(8, 1), (9, 1), (10, 2), (12, 2), (14, 1), (15, 1)]
    fields = "".join(field(name, *place) for name, place in zip(types, places))
    text = ('\nprint fmt: "eventheader_flags=%u version=%u id=%u tag=%u opcode=%u level=%u", REC->eventheader_flags, '
            "REC->version, REC->id, REC->tag, REC->opcode, REC->level\n")
    formats = {f"user_events/{name}": f"name: {name}\nID: {number}\nformat:\n" + COMMON + fields + text
               for number, name in ((1500, "My_Shop_L4K2a"), (1501, "My_Shop_L4K0Gretail"), (1502, "My_Shop_X4K0"))}
    # A number, text of UTF-8 and of UTF-16 with a length, a struct, arrays of numbers, of text and of structs.
    sale = names("Sale;unit=1", ("count", b"\x02"), ("name;long=a;;b", b"\x0a"), ("wide", b"\x0b"),
                 ("at", b"\x81\x02"), ("x", b"\x84\x02"), ("y", b"\x84\x88\x34\x12"),
                 ("codes", b"\xa3\x03\x03\x00"), ("tags", b"\x47"), ("rows", b"\xc1\x02"), ("k", b"\x02"), ("v", b"\x8a\x02"))
    values = (struct.pack("<BH3sH6sifHHHH", 7, 3, b"tea", 3, "né€".encode("utf-16-le"), -5, 2.5, 1, 0x20, 0x300, 2) + b"a\0bc\0" +
              struct.pack("<HBHbBHh", 2, 1, 1, -9, 2, 2, -300))
    big = names("Port", ("port", b"\x83\x10"), ("n", b"\x04"), ("ok", b"\x82\x07"), ("who", b"\x86\x0f"))
    activity = bytes(range(16))

    def good(pid, number, order, metadata, data, **more):
        ids = more.pop("ids", b"")
        extensions = (extension(order, 2, ids, True) if ids else b"") + extension(order, 1, metadata)
        return head(number, pid) + header(order, extensions=extensions, **more) + data

    whole = good(80, 1500, "<", sale, values)
    ftrace("programs", formats, [
        [(1000, whole), (1100, good(81, 1501, ">", big, b"\x1f\x90" + struct.pack(">IB", 258, 1) + activity)),
         (1200, good(80, 1500, "<", names("Begin"), b"", opcode=1, stable=9, version=2, tag=3, ids=activity + activity[::-1])),
         (1300, whole), (1400, whole[:-20]), (1500, good(80, 1500, "<", sale[:-1], values)),
         (1600, good(80, 1500, "<", sale[:-1], values)), (1700, head(1500, 80) + header() + b"text"),
         (1800, good(80, 1500, "<", sale, values, level=5)), (1900, head(1502, 80) + header())]])


def main():
    functions()
    programs()
    markers()
    remote()


main()
