# SPDX-License-Identifier: MIT
"""A trace of QEMU's disk requests, made by hand: reads by virtio-blk, of which every event concerns a request."""

import os
import struct

AT_ONCE = 16  # requests under way
# Declarations of QEMU's events, and the words of request number N, on device V.
EVENTS = [
    ("virtio_queue_notify(void *vdev, int n, void *vq)", lambda v, n: (v, 0, v + 64)),
    ("virtio_blk_handle_read(void *vdev, void *req, uint64_t sector, size_t nsectors)",
     lambda v, n: (v, v + 4096 + n % AT_ONCE * 512, n * 8, 8)),
    ("blk_co_preadv(void *blk, void *bs, int64_t offset, int64_t bytes, int flags)",
     lambda v, n: (v + 8, v + 16, n * 4096, 4096, 0)),
    ("thread_pool_submit(void *pool, void *req, void *opaque)", lambda v, n: (v + 24, v + 99328 + n % AT_ONCE * 64, v)),
    ("thread_pool_complete(void *pool, void *req, void *opaque, int ret)",
     lambda v, n: (v + 24, v + 99328 + n % AT_ONCE * 64, v, 0)),
    ("virtio_blk_req_complete(void *vdev, void *req, int status)", lambda v, n: (v, v + 4096 + n % AT_ONCE * 512, 0)),
    ("virtio_notify(void *vdev, void *vq)", lambda v, n: (v, v + 64)),
]
SUBMITTED = 4  # of these, in a row, before another request completes


def write_requests(path, declarations, requests):
    """simpletrace, version 4. Returns how many events there are."""
    device = 0x556C8F3788F0
    with open(declarations, "w", encoding="ascii") as out:
        for declaration, _ in EVENTS:
            out.write(f'{declaration} ""\n')
    time = 1000000
    with open(path + ".new", "wb") as out:
        out.write(struct.pack("<3Q", 0xFFFFFFFFFFFFFFFF, 0xF2B177CB0AA429B4, 4))
        for i, (declaration, _) in enumerate(EVENTS):
            name = declaration.split("(")[0].encode()
            out.write(struct.pack("<QQI", 0, i, len(name)) + name)

        def put(i, n):
            nonlocal time
            words = EVENTS[i][1](device, n)
            time += 700
            out.write(struct.pack(f"<QQQII{len(words)}Q", 1, i, time, 24 + 8 * len(words), 7, *words))

        for n in range(requests + AT_ONCE - 1):
            if n < requests:
                for i in range(SUBMITTED):
                    put(i, n)
            if n >= AT_ONCE - 1:
                for i in range(SUBMITTED, len(EVENTS)):
                    put(i, n - AT_ONCE + 1)
    os.rename(path + ".new", path)
    return len(EVENTS) * requests
