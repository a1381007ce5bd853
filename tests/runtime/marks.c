/* SPDX-License-Identifier: MIT */

/* A program for the tests of the flight recorder: makes numbered marks in each layer that it can reach, and says in shared memory
 * how many it has made.
 *
 *     marks FILE MICROSECONDS [COUNT [PER_CPU]]
 *
 * Mark N, from 1 on, is an event "mark" of libstrata, whose `number` is N, and a new name of this process, "mN", which the
 * kernel's task:task_rename shows. FILE has 8 bytes, the number of the last mark that is made in full, in this machine's byte
 * order. Between marks it pauses for MICROSECONDS; it ends after COUNT (0: never), or when FILE is removed. With PER_CPU it makes
 * as many marks on one CPU before it moves to the next of those that it may use, so that mark N is made on the one with index
 * (N - 1) / PER_CPU modulo their number. */

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

static uint8_t state;

static const struct strata_field fields[] = {
    {"number", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};

static struct strata_event events[] = {
    {.name = "mark",
     .format = "number %" PRIu64,
     .fields = fields,
     .state = &state,
     .file = "marks",
     .line = 1,
     .n_fields = 1,
     .compiled_in = true},
};

static struct strata_group group = {STRATA_TRACE_ABI, 1, "marks", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static void trace_mark(uint64_t number)
{
    struct strata_slot slot;
    uint8_t *at;

    if (!state)
        return;
    at = ring_open(&slot, events[0].id, 16);
    if (!at)
        return;
    strata_ring_put(at, &number, sizeof number);
    strata_ring_end(&slot);
}

/* Moves to the CPU of ALLOWED with INDEX modulo their number. */
static int move(const cpu_set_t *allowed, uint64_t index)
{
    uint64_t left = index % (uint64_t)CPU_COUNT(allowed);
    cpu_set_t one;

    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed) && left-- == 0)
            CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    uint64_t last = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t per_cpu = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    cpu_set_t allowed;
    _Atomic uint64_t *made;
    char name[16];
    int fd;

    if (argc < 3)
        return 2;
    fd = open(argv[1], O_RDWR | O_CREAT, 0666);
    if (fd < 0 || ftruncate(fd, sizeof *made) < 0)
        return 1;
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (made == MAP_FAILED || sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return 1;
    for (uint64_t n = 1; last == 0 || n <= last; n++) {
        if (per_cpu && (n - 1) % per_cpu == 0 && move(&allowed, (n - 1) / per_cpu) < 0)
            return 1;
        trace_mark(n);
        snprintf(name, sizeof name, "m%" PRIu64, n);
        prctl(PR_SET_NAME, name);
        atomic_store(made, n);
        usleep((useconds_t)atoi(argv[2]));
        if (n % 64 == 0 && access(argv[1], F_OK) < 0)
            break;
    }
    return 0;
}
