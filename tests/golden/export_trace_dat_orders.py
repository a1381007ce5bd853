"""export_trace_dat_orders.py: makes oBlL.dat, traces of kernels of both byte orders B and both sizes L of a long."""
import struct


def make(path, order, long):
    o = ">" if order else "<"
    out = bytearray(b"\x17\x08Dtracing6\0" + bytes([order, long]) + struct.pack(o + "I", 4096))
    def text(s): return struct.pack(o + "Q", len(s)) + s
    data = 8 + long
    out += b"header_page\0" + text((f"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n"
        f"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:{data};\tsize:{4096-data};\tsigned:1;\n").encode())
    out += b"header_event\0" + text(b"#\n")
    out += struct.pack(o + "I", 0)
    fmt = b"""name: thing
ID: 300
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u32 n;\toffset:8;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] s;\toffset:12;\tsize:4;\tsigned:1;

print fmt: "n=%u s=%s", REC->n, __get_str(s)
"""
    out += struct.pack(o + "I", 1) + b"test\0" + struct.pack(o + "I", 1) + text(fmt)
    out += struct.pack(o + "I", 0) + struct.pack(o + "I", 0) + text(b"7 seven\n") + struct.pack(o + "I", 1)
    out += b"options  \0" + struct.pack(o + "HI", 4, 0) + struct.pack(o + "H", 0) + b"flyrecord\0"
    table = len(out)
    out += bytes(16) + text(b"[mono]\n")
    out += bytes(-len(out) % 4096)
    start = len(out)
    for page in range(20):
        records = b""
        for i in range(50):
            s = b"x" * (i % 9) + b"\0"
            body = struct.pack(o + "HBBiII", 300, 0, 0, 7, page * 50 + i, (len(s) << 16) | 16) + s
            body += bytes(-len(body) % 4)
            delta, kind = 1000 + i, len(body) // 4
            records += struct.pack(o + "I", kind << 27 | delta if order else delta << 5 | kind) + body
        missed = 1 << 31 if page % 5 == 4 else 0
        out += struct.pack(o + "Q" + ("I" if long == 4 else "Q"), 10**9 + page * 10**6, len(records) | missed) + records
        out += bytes(-len(out) % 4096)
    out[table:table + 16] = struct.pack(o + "QQ", start, len(out) - start)
    open(path, "wb").write(out)
for order in 0, 1:
    for long in 4, 8:
        make(f"o{order}l{long}.dat", order, long)
