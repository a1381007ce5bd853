/* SPDX-License-Identifier: MIT */
#pragma once

/* What remains of a traced process that was killed: a directory, of mode 0700, in a tmpfs,
 *
 *     /dev/shm/strata-UID/PID-START        (rings=PARENT: PARENT/strata-PID-START)
 *
 * START is the start time of the process in clock ticks since boot, because PIDs are reused. "-N" may follow:
 *
 *  - in the first PID namespace: if the name exists because the process has executed another program and rings of the
 *    previous program are left. N is 2, 3, …, 1001;
 *  - in any other PID namespace: always. N is 1002 times the namespace's inode, plus 2, 3, …, 1001 if that name exists.
 *
 * The directory is made as ".PID-START" or ".PID-START-N", and renamed when it has its process file. It contains
 *
 *     ring-N     the rings (runtime/ring/ring.h)
 *     process    this file: whose they are, and what their records mean
 *
 * Recovery and outside collectors have nothing else, so the file is valid at every instant: additions count only when
 * `described` or `trace`, which is stored last, includes them. In native byte order:
 *
 *     offset  bytes
 *          0      8  "STRAPROC"
 *          8      4  version, 1
 *         12      4  flags: 1 = the program writes its rings out by itself; 2 = it wakes a recorder that sleeps
 *                    (runtime/ring/pool_file.h)
 *         16      4  pid
 *         20      4  user id
 *         24      8  START
 *         32      8  inode of its pid namespace; 0: not known
 *         40     16  boot id: START and pids are of this boot
 *         56      4  kind of clock: enum clock_kind
 *         60      4  trace: 0: there is none; else trace directory `trace` - 1 is where the program, or
 *                    the collector, writes what it takes from the rings
 *         64     24  one moment by three clocks, when the file was made
 *         88      8  described: bytes of descriptions
 *         96      8  how many events were dropped as their thread got no ring
 *        104     16  the program's name, filled with NULs
 *        120     16  the UUID that the trace at the planned path gets; 0: none is planned. The program creates that
 *                    trace before it stores the UUID in its trace directory below, and may be killed in between.
 *
 *       4096   4096  trace directory 0: an absolute path, ended by a NUL; its last 16 bytes are the UUID of
 *                    the trace, or 0: it is not there yet
 *       8192   4096  trace directory 1
 *      12288      …  descriptions of event classes
 *
 * A description, padded to a multiple of 8:
 *
 *          0      4  its size, with the padding
 *          4      4  class id
 *          8      4  how many fields
 *         12      4  1: there is a format
 *         16      …  the name and, if there is one, the format, each with its NUL; for each field its kind
 *                    (enum strata_field_kind), its size, its name and its type with their NULs
 *
 * A process that ends by itself without having created a ring leaves a text file in PARENT instead, if a recorder has
 * locked PARENT (flock). The recorder reads and removes it:
 *
 *     PARENT/no-rings-PID
 *
 *     strata-no-rings 1
 *     program NAME
 *     rings yes|no          whether it has a backend that writes to rings
 *     lost N                events that were emitted, and found no ring
 *     on|off|no-memory EVENT    for each event that can be switched; no-memory: it is on, and had no memory for its
 *                           description, so none was emitted
 */

#include <stdint.h>
#include <string.h>

#include "runtime/clock.h"

#define PROCESS_FILE_MAGIC "STRAPROC"
#define PROCESS_FILE_VERSION 1
#define PROCESS_WRITES 1U
#define PROCESS_WAKES 2U
#define PROCESS_PATH_SIZE 4080

/* The inode of the initial PID namespace, which contains all others and sees all processes: a constant of Linux
 * (PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcU

#define PROCESS_FILE_NAME "process"
#define RING_FILE_PREFIX "ring-"
#define RINGS_PARENT "/dev/shm/strata-" /* and the user ID */
#define NO_RINGS_PREFIX "no-rings-"
#define NO_RINGS_MAGIC "strata-no-rings 1"
#define RINGS_PREFIX "strata-" /* prefix of directories in a parent that the user named */
#define RINGS_HIDDEN "."       /* prefix of a directory that is being created */

struct process_trace {
    char path[PROCESS_PATH_SIZE];
    uint8_t uuid[16];
};

struct process_file {
    char magic[8];
    uint32_t version;
    uint32_t flags;
    uint32_t pid;
    uint32_t uid;
    uint64_t start;
    uint64_t pid_namespace;
    uint8_t boot_id[16];
    uint32_t clock_kind;
    uint32_t trace;
    struct clock_pair clock_pair;
    uint64_t described;
    uint64_t no_ring;
    char name[16];
    uint8_t planned_uuid[16];
    char reserved[4096 - 136];
    struct process_trace traces[2];
};

_Static_assert(sizeof(struct process_file) == 12288, "as documented");

/* Stores a trace in the unused one of the two entries, and makes that entry valid. Does nothing if PATH is too long. */
static inline void process_file_put_trace(struct process_trace traces[2], uint32_t *trace,
                                          const char *path, const uint8_t uuid[16])
{
    uint32_t next = *trace == 1 ? 1 : 0;
    size_t len = strlen(path);

    if (len >= sizeof(traces[next].path))
        return;
    memcpy(traces[next].path, path, len + 1);
    memcpy(traces[next].uuid, uuid, sizeof(traces[next].uuid));
    __atomic_store_n(trace, next + 1, __ATOMIC_RELEASE);
}

struct class_description {
    uint32_t size;
    uint32_t id;
    uint32_t n_fields;
    uint32_t has_format;
};
