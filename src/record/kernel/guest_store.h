/* SPDX-License-Identifier: MIT */
#pragma once

/* The directories of one guest's trace, one for each boot. The guest names the files, so only names of a tracefs tree
 * are accepted (tracedir/tracefs_copy.h). Symbolic links are not followed, and only files that the same store created
 * are replaced. */

#include "base/error.h"
#include "proto/message.h"
#include "record/kernel/kernel_sink.h"

struct guest_store {
    struct kernel_sink sink; /* writes files and pages into the store */
    int parent;              /* the trace's directory; borrowed; -1: nothing is kept */
    bool is_open;            /* a file has begun and not ended */
    char name[80];           /* "guest-NAME" */
    unsigned boots_max;      /* guest_store_boots_max(), or GUEST_BOOTS_MAX */
    unsigned n_boots;        /* boots in directories of this name and "guest-NAME.2", … */
    int dir;
    int *pages;         /* by CPU: the file, GUEST_PAGES_NONE or GUEST_PAGES_CLOSED */
    int file;           /* the file that has begun, or -1 */
    uint64_t file_size; /* of `file`, as `files_size` counts it */
    int room;           /* a file that reserves disk space for the tree until it comes; -1 */
    int pairs;          /* the file of clock pairs; -1: none yet */
    /* clock pairs are dropped while the disk is full, so times are less exact */
    bool drops_when_full;
    bool is_pause_unwritten; /* the clock stood still before a dropped pair */
    char path[600];          /* of `file` */
    uint64_t files_size;     /* of the tree's files of all boots; at most GUEST_FILES_SIZE_MAX */
    /* Of the files of clock pairs of all boots; at most GUEST_PAIRS_SIZE_MAX. */
    uint64_t pairs_size;
    uint64_t earlier_size; /* of the pages of earlier boots */
    unsigned n_files;
};

/* The file of a CPU's pages does not exist yet, or is not open here. */
#define GUEST_PAGES_NONE (-1)
#define GUEST_PAGES_CLOSED (-2)
#define GUEST_PREFIX "guest-"
#define GUEST_BOOTS_MAX 64u
/* This limit holds however often a guest's tracing is set up again. */
#define GUEST_FILES_SIZE_MAX (UINT64_C(2) * PROTO_META_MAX)

/* Creates the directory PREFIX NAME for the first boot. Both consist of letters, digits, '-', '_' and '.'. PARENT -1:
 * the store checks its input and keeps nothing. -EEXIST or another -errno with ERROR. */
int guest_store_open(int parent, const char *prefix, const char *name,
                     struct guest_store *ret_store, struct error *error);
void guest_store_done(struct guest_store *store);
/* Removes the first directory. It must have no events. */
void guest_store_remove(const struct guest_store *store);
/* Removes all directories of the store with their content. */
void guest_store_discard(const struct guest_store *store);
/* Returns how many boots each of N_GUESTS may have. Each boot is a source of the trace, which has at most
 * MANIFEST_SOURCES_MAX. */
unsigned guest_store_boots_max(unsigned n_guests);
/* Creates the directory of another boot. -E2BIG with ERROR: too many boots. */
int guest_store_next_boot(struct guest_store *store, struct error *error);
/* The same, with the files of the boot before but without its pages. */
int guest_store_next_rewound(struct guest_store *store, struct error *error);
/* Writes the name of the boot's directory below the parent to BUF. */
void guest_store_boot_name(const struct guest_store *store, unsigned boot, char *buf, size_t size);

/* Files of the tree, one at a time. A file gets its name when it ends, and replaces an earlier file of that name.
 * -EPERM: not a file of tracedir/tracefs_copy.h. Returns 1 if the disk has no room; the earlier file then stays. */
int guest_store_file_begin(struct guest_store *store, const char *path, size_t len,
                           struct error *error);
int guest_store_file_put(struct guest_store *store, const void *p, size_t size,
                         struct error *error);
int guest_store_file_end(struct guest_store *store, struct error *error);

/* Appends SIZE bytes to the pages of CPU. -errno with ERROR. */
int guest_store_put_pages(struct guest_store *store, uint32_t cpu, const void *p, size_t size,
                          struct error *error);
/* Opens the file for the pages of CPU for appending. The caller owns the descriptor. -ENODATA with ERROR: nothing is
 * kept; other -errno with ERROR. */
int guest_store_open_pages(struct guest_store *store, uint32_t cpu, struct error *error);
/* Appends PAIR to the file of clock pairs (timeline/clock_map.h). IS_AFTER_PAUSE: the guest's clock stood still between
 * the previous pair and PAIR. Does nothing after GUEST_PAIRS_SIZE_MAX bytes, or with `drops_when_full` while the disk
 * is full. -errno: no part of the pair is in the file. */
int guest_store_pair(struct guest_store *store, const struct guest_pair *pair, bool is_after_pause);
#define GUEST_PAIRS "clock-pairs"
/* An agent's exchanges add at most a line of about 50 bytes a second, so this is enough for two months. */
#define GUEST_PAIRS_SIZE_MAX (UINT64_C(256) << 20)
/* The total size of all files of all boots in bytes. */
uint64_t guest_store_size(const struct guest_store *store);

/* True if NAME is a valid name of a guest. */
bool guest_name_is_valid(const char *name);
