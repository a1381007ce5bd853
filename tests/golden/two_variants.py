"""two_variants.py DIR...: traces in CTF of an event `probe`, each of which declares other fields for it than the one
before: as far as names and types go, every second one the same."""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
trace {{
    major = 1; minor = 8; byte_order = {order};
    packet.header := struct {{ uint32_t magic; uint32_t stream_id; }};
}};
clock {{ name = "monotonic"; freq = 1000000000; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := time_t;
stream {{
    id = 0;
    event.header := struct {{ uint32_t id; time_t timestamp; }};
}};
event {{ id = 0; name = "probe"; stream_id = 0; fields := struct {{ {fields} }}; }};
"""
VARIANTS = [
    ("uint64_t x; uint32_t y;", struct.pack("=QI", 2**64 - 1, 7)),
    ("string x; uint32_t z;", b"12\0" + struct.pack("=I", 9)),
    ("uint8_t x; uint32_t y;", struct.pack("=BI", 255, 8)),
]
for number, directory in enumerate(sys.argv[1:]):
    fields, payload = VARIANTS[number % len(VARIANTS)]
    os.mkdir(directory)
    with open(f"{directory}/metadata", "w") as f:
        f.write(METADATA.format(order="le" if sys.byteorder == "little" else "be", fields=fields))
    with open(f"{directory}/stream", "wb") as f:
        f.write(struct.pack("=IIIQ", 0xC1FC1FC1, 0, 0, 1000 + number) + payload)
