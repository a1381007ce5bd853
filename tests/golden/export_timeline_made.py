#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes made.trace and made.events: a simpletrace file with pairs of events, and with text that is hard to
write."""

import struct

EVENTS = [
    ("virtio_blk_handle_write", "void *vdev, void *req, uint64_t sector, size_t nsectors",
     "vdev %p req %p sector %\" PRIu64 \" nsectors %zu"),
    ("virtio_blk_rw_complete", "void *vdev, void *req, int ret", "vdev %p req %p ret %d"),
    ("job_begin", "int n", "%d"),
    ("job_end", "int n", "%d"),
    ("walk_start", "void *what", "%p"),
    ("walk_done", "void *what", "%p"),
    ("note", "const char *text", "%s"),
]
NUMBERS = {name: n for n, (name, _, _) in enumerate(EVENTS)}


def record(name, time, *args):
    payload = b""
    for arg in args:
        payload += struct.pack("=I", len(arg)) + arg if isinstance(arg, bytes) else struct.pack("=Q", arg)
    return struct.pack("=QQQII", 1, NUMBERS[name], time, 24 + len(payload), 7) + payload


def dropped(time, count):
    """What is written in place of events."""
    return struct.pack("=QQQIIQ", 1, 2**64 - 2, time, 32, 7, count)


def main():
    with open("made.events", "w", encoding="ascii") as f:
        for name, args, form in EVENTS:
            f.write(f'{name}({args}) "{form}"\n')
    with open("made.trace", "wb") as f:
        f.write(struct.pack("=QQQ", 2**64 - 1, 0xF2B177CB0AA429B4, 4))
        for name, number in NUMBERS.items():
            f.write(struct.pack("=QQI", 0, number, len(name)) + name.encode())
        disk, a, b = 0x1000, 0xFFFFFFFFFFFFF000, 0x3000
        f.write(record("virtio_blk_handle_write", 1000, disk, a, 8, 16))
        f.write(record("virtio_blk_handle_write", 2000, disk, b, 64, 16))
        f.write(record("virtio_blk_rw_complete", 3000, disk, a, 0))
        # The request is used once more, although nothing tells of its end.
        f.write(record("virtio_blk_handle_write", 4000, disk, b, 8, 16))
        f.write(record("virtio_blk_rw_complete", 5000, disk, b, 2**64 - 5))
        # Within each other, and what may end in any order.
        f.write(record("job_begin", 6000, 1))
        f.write(record("job_begin", 7000, 2))
        f.write(record("walk_start", 7100, a))
        f.write(record("walk_start", 7200, b))
        f.write(record("job_end", 8000, 2))
        f.write(record("walk_done", 8100, a))
        f.write(record("job_end", 9000, 1))
        f.write(record("walk_done", 9100, b))
        # An end that may be among what was lost.
        f.write(record("job_begin", 10000, 3))
        f.write(dropped(11000, 9))
        f.write(record("job_end", 12000, 3))
        for text in [b"", b"\xff\xc3(\xe2\x82\xac\x00\x01\\\"", b"x" * 5000, b"\xfe" * 100000]:
            f.write(record("note", 13000, text))


if __name__ == "__main__":
    main()
