#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_trace.py DIR: a program's trace in CTF, as LTTng writes it, whose tasks, events, and fields have names and texts
that are markup, controls and 10,000 letters long."""

import os
import struct
import sys

NAMES = ["<img src=x onerror=\"window.injected=1\">", "</title><script>window.injected=2</script>",
         "\x1b[31m\x07'--${window.injected=3}", "&lt;b&gt;javascript:window.injected=4", "\u202eright to left",
         "x" * 10000]

METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace {
    major = 1; minor = 8; byte_order = ORDER;
    packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { domain = "ust"; tracer_name = "lttng-ust"; hostname = "<b onclick=window.injected=5>host</b>"; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time_t;
stream {
    id = 0;
    packet.context := struct { uint32_t cpu_id; };
    event.header := struct { uint32_t id; time_t timestamp; };
    event.context := struct { int32_t _vtid; string _procname; };
};
"""
EVENT = 'event { id = %d; name = "%s"; stream_id = 0; fields := struct { string _text; }; };\n'


def escape(name):
    return "".join(c if c not in '"\\' and c >= " " else f"\\x{ord(c):02x}" if c < " " else "\\" + c for c in name)


def main():
    os.mkdir(sys.argv[1])
    with open(f"{sys.argv[1]}/metadata", "w", encoding="utf-8") as f:
        f.write(METADATA.replace("ORDER", "le" if sys.byteorder == "little" else "be"))
        for number, name in enumerate(NAMES):
            f.write(EVENT % (2 * number, escape(name[:4000]) + "_begin"))
            f.write(EVENT % (2 * number + 1, escape(name[:4000]) + "_end"))
    with open(f"{sys.argv[1]}/channel0_0", "wb") as f:
        f.write(struct.pack("=III", 0xC1FC1FC1, 0, 0))
        for i in range(4 * len(NAMES)):
            name = NAMES[i // 2 % len(NAMES)].encode()
            event = i // 2 % len(NAMES) * 2 + i % 2
            f.write(struct.pack("=IQi", event, 1000 + i * 100000, 100 + event // 2) + name + b"\0" + name + b"\0")


main()
