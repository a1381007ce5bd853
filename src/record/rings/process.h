/* SPDX-License-Identifier: MIT */
#pragma once

/* A traced process as it shows itself in the file system: the directory with its rings and its process
 * file (runtime/ring/process_file.h), whether it lives or was killed; and its slots in the recorder's ring pool
 * (runtime/ring/pool_file.h), which are all that a process has that could make no directory. Both are input: of them
 * nothing is believed that was not checked.
 *
 * The path of a process without a directory is PARENT/pool/slot-N-PID-START, N being the slot of its process file. */

#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/shared_map.h"
#include "record/rings/classes.h"
#include "record/rings/pool.h"
#include "runtime/ring/process_file.h"

/* In the path of a process that has no directory, but a slot of the pool: ".../pool/slot-N-PID-START". */
#define SLOT_PREFIX "slot-"

struct process {
    char *path;        /* of the directory, absolute */
    int dir;           /* open; -1: it has none */
    int fd;            /* of the process file */
    struct pool *pool; /* of the recorder that it belongs to; NULL: none */
    int slot;          /* of its process file in the pool; -1: it has a directory */
    struct shared_map map;
    struct process_file *file; /* in it; it may change at any moment */
    bool writes;
    struct classes classes;
    /* Copies from the file when it was checked. */
    uint32_t pid, uid;
    char program[17];
    uint64_t start, pid_namespace;
    uint8_t boot_id[16];
    enum clock_kind clock_kind;
    struct clock_pair clock_pair;
    struct process_trace trace; /* of process_trace(), last */
    bool is_ours;               /* the file is this user's */
};

/* Opens the directory at PATH. With WRITE its process file may be written, by process_note_trace().
 * -ENOENT, -ENOTDIR and the like; -EBADMSG: what is there is damaged. */
int process_open(const char *path, bool write, struct process **ret, struct error *error);
void process_free(struct process *process);

/* Reads the descriptions that came since. */
int process_refresh(struct process *process, struct error *error);

/* Locks its rings for draining. -EBUSY: another process has them locked. */
int process_lock(struct process *process, struct error *error);

/* Its number as this process sees it: another than `pid` where it is of a pid namespace below. 0: it is not running;
 * -errno as process_is_alive(). */
long process_find(const struct process *process, struct error *error);
/* 1: running; 0: not; -EXDEV: not visible from here, because it is or was in another pid namespace;
 * another -errno: cannot be read. With ERROR, which may be NULL. */
int process_is_alive(const struct process *process, struct error *error);
bool process_is_of_this_boot(const struct process *process);
/* Whether there is a process with its number, in this pid namespace, that began when it did: 1, 0. -errno: that cannot
 * be read. */
int process_has_its_number(const struct process *process);
/* Whether another process has its number now. False: or that cannot be seen from here. */
bool process_is_replaced(const struct process *process);

/* The trace directory to which its rings are drained, or NULL. */
const struct process_trace *process_trace(struct process *process);
void process_note_trace(struct process *process, const char *path, const uint8_t uuid[16]);

/* Ticks a second of its clock: as it can be measured from here (which waits up to 10 ms where it has just
 * begun, and HINT is 0), else HINT, which a ring knows. */
uint64_t process_clock_hz(const struct process *process, uint64_t hint);

/* ---- Finding them ---- */

/* Calls FUNCTION with the path of each directory of a process in PARENT, in the order of their names, until it
 * returns other than 0, which is then returned. NULL: in the default one, of this user, and in those of
 * recordings in it. A parent that is not there, or a default one that is another user's, has none. */
int process_foreach(const char *parent, int (*function)(const char *path, void *userdata),
                    void *userdata);

/* The numbers of the rings that are there, rising, allocated. */
int process_rings(const struct process *process, unsigned **ret, unsigned *ret_n);
/* Maps ring NUMBER; WRITE: so that space can be released, otherwise a private copy. *RET_LENGTH: of the
 * mapping, at most MAX bytes. -ENOENT: no such ring; -EAGAIN: being created; -EBADMSG: damaged. */
int process_map_ring(const struct process *process, unsigned number, bool write, uint64_t max,
                     struct shared_map *map);
/* What changes when a ring comes: the directory's modification time and a count of the pool's. */
struct process_rings_state {
    struct timespec mtime;
    uint32_t pool_changes;
};
/* -errno. */
int process_rings_state(const struct process *process, struct process_rings_state *ret);

/* Whether PATH is that of a process without a directory. */
bool process_is_slot(const char *path);

/* Removes the rings and the directory. */
int process_remove(struct process *process, struct error *error);
