/* SPDX-License-Identifier: MIT */
/* Asks Xen for the state of its trace buffers, past all libraries and past Strata: runs in dom0.
 *
 *     tbuf           prints the event mask, and the frame and size of the buffers' description
 *     tbuf MASK      sets the event mask
 *     tbuf size N    makes buffers of N pages, as Xen's option tbuf_size=N does
 *
 * By Linux's privcmd device, whose ioctl 'P' 0 takes {operation:64, arguments:64 x 5} and does that
 * hypercall; sysctl is 35, its argument {command:32 = 2, interface version:32, then for the trace buffers
 * operation:32 (0: tell, 2: set the event mask, 3: set the size), 4 bytes unused, 16 bytes of CPU mask, event mask:32, 4 bytes
 * unused, frame:64, size:32}. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

struct tbuf_sysctl {
    uint32_t command, version;
    uint32_t operation, unused;
    uint64_t cpu_bits, n_cpus;
    uint32_t events, unused_too;
    uint64_t frame;
    uint32_t size;
    uint8_t rest[4096 - 52];
};

int main(int argc, char **argv)
{
    int fd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC);
    struct tbuf_sysctl *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);

    if (fd < 0 || s == MAP_FAILED) {
        perror("tbuf: /dev/xen/privcmd");
        return 1;
    }
    for (uint32_t version = 0x15; version <= 0x17; version++) {
        uint64_t call[6] = {35, (uint64_t)(uintptr_t)s};

        memset(s, 0, sizeof *s);
        s->command = 2;
        s->version = version;
        if (argc > 2) {
            s->operation = 3;
            s->size = (uint32_t)strtoul(argv[2], NULL, 0);
        } else if (argc > 1) {
            s->operation = 2;
            s->events = (uint32_t)strtoul(argv[1], NULL, 0);
        }
        if (ioctl(fd, _IOC(_IOC_NONE, 'P', 0, sizeof call), call) == 0) {
            if (argc < 2)
                printf("0x%08" PRIx32 " frame %" PRIu64 " size %" PRIu32 "\n", s->events, s->frame,
                       s->size);
            return 0;
        }
    }
    perror("tbuf: sysctl");
    return 1;
}
