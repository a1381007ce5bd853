/* SPDX-License-Identifier: MIT */
#pragma once

/* A traced process as seen in the file system: the directory with its rings and its process file
 * (runtime/ring/process_file.h), and whether it runs. A process that could not create a directory has only slots in the
 * recorder's ring pool (runtime/ring/pool_file.h). All of this is untrusted, and is checked before it is used.
 *
 * The path of a process without a directory is PARENT/pool/slot-N-PID-START, where N is the slot of its process
 * file. */

#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/shared_map.h"
#include "record/rings/classes.h"
#include "record/rings/pool.h"
#include "runtime/ring/process_file.h"

/* Part of the path of a process without a directory: ".../pool/slot-N-PID-START". */
#define SLOT_PREFIX "slot-"

struct process {
    char *path;        /* of the directory, absolute */
    int dir;           /* open; -1: no directory */
    int fd;            /* of the process file */
    struct pool *pool; /* pool of its recorder; NULL: none */
    int slot;          /* slot of its process file in the pool; -1: it has a directory */
    struct shared_map map;
    struct process_file *file; /* in `map`; may change at any moment */
    bool writes;
    struct classes classes;
    /* Copies from the file when it was checked. */
    uint32_t pid, uid;
    char program[17];
    uint64_t start, pid_namespace;
    uint8_t boot_id[16];
    enum clock_kind clock_kind;
    struct clock_pair clock_pair;
    struct process_trace trace; /* last result of process_trace() */
    bool is_ours;               /* the file belongs to this user */
};

/* Opens the process at PATH. WRITE: process_note_trace() may be called. -ENOENT, -ENOTDIR and the like; -EBADMSG:
 * damaged. */
int process_open(const char *path, bool write, struct process **ret, struct error *error);
void process_free(struct process *process);

/* Reads new descriptions of classes. */
int process_refresh(struct process *process, struct error *error);

/* Locks its rings for draining. -EBUSY: another process has locked them. */
int process_lock(struct process *process, struct error *error);

/* Its PID as seen by this process, which differs from `pid` if it is in a child PID namespace. 0: it is not running;
 * -errno as process_is_alive(). */
long process_find(const struct process *process, struct error *error);
/* Returns 1 if it runs, 0 if not; -EXDEV: not visible from here, because it is or was in another PID namespace; other
 * -errno: cannot be read. With ERROR, which may be NULL. */
int process_is_alive(const struct process *process, struct error *error);
bool process_is_of_this_boot(const struct process *process);
/* Returns 1 if a process with its PID exists in this PID namespace and has its start time, otherwise 0. -errno: cannot
 * be read. */
int process_has_its_number(const struct process *process);
/* True if another process has its PID now. False also if this cannot be seen from here. */
bool process_is_replaced(const struct process *process);

/* The trace directory into which its rings are drained, or NULL. */
const struct process_trace *process_trace(struct process *process);
void process_note_trace(struct process *process, const char *path, const uint8_t uuid[16]);

/* Ticks per second of its clock: measured from here, or HINT, which a ring states, if it cannot be measured. If HINT is
 * 0 and the process has just begun, waits up to 10 ms. */
uint64_t process_clock_hz(const struct process *process, uint64_t hint);

/* ---- Finding them ---- */

/* Calls FUNCTION with the path of each process in PARENT, in the order of their names, until it returns other than 0,
 * and returns that. PARENT NULL: this user's default directory, and the directories of recordings in it. A parent that
 * does not exist, or a default directory that belongs to another user, has no processes. */
int process_foreach(const char *parent, int (*function)(const char *path, void *userdata),
                    void *userdata);

/* The numbers of the existing rings in ascending order. The caller frees *RET. */
int process_rings(const struct process *process, unsigned **ret, unsigned *ret_n);
/* Maps ring NUMBER. WRITE: so that space can be released; otherwise a private copy. Maps at most MAX bytes. -ENOENT: no
 * such ring; -EAGAIN: being created; -EBADMSG: damaged. */
int process_map_ring(const struct process *process, unsigned number, bool write, uint64_t max,
                     struct shared_map *map);
/* Changes when a ring is created: the directory's modification time, and a count of the pool. */
struct process_rings_state {
    struct timespec mtime;
    uint32_t pool_changes;
};
/* -errno. */
int process_rings_state(const struct process *process, struct process_rings_state *ret);

/* True if PATH is the path of a process without a directory. */
bool process_is_slot(const char *path);

/* Removes the rings and the directory. */
int process_remove(struct process *process, struct error *error);
