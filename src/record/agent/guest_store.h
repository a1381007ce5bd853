/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory into which one guest's trace goes. The names of files come from the guest, so only those
 * of a table are used, which has the shape of a tracefs tree; nothing that is there is followed or
 * replaced but what was made by the same store. */

#include "base/error.h"
#include "proto/message.h"
#include "record/agent/kernel_sink.h"

struct guest_store {
    struct kernel_sink sink; /* puts files and pages into the store */
    int parent;              /* the trace's directory; borrowed; -1: nothing is kept … */
    bool is_open;            /* … of the file that is under way either */
    char name[80];           /* "guest-NAME" */
    unsigned parts_max;      /* guest_store_parts_max(), or GUEST_PARTS_MAX */
    unsigned n_parts;        /* in directories of that name, and "guest-NAME.2", … */
    int dir;
    int *pages;         /* by CPU: the file; or GUEST_PAGES_NONE, GUEST_PAGES_CLOSED */
    int file;           /* of the tree, under way; -1 */
    uint64_t file_size; /* of FILE, as `files_size` counts it */
    int room;           /* kept for the tree until it comes; -1 */
    int pairs;          /* the file of clock pairs; -1: none yet */
    char path[600];     /* of FILE */
    uint64_t
        files_size; /* of the tree's files, as they are, in all parts; at most GUEST_FILES_SIZE_MAX */
    uint64_t
        pairs_size; /* of the files of clock pairs, in all parts; at most GUEST_PAIRS_SIZE_MAX */
    uint64_t parts_size; /* of the pages of earlier parts */
    unsigned n_files;
};

/* Of a CPU: no file yet; one that is not open here. */
#define GUEST_PAGES_NONE (-1)
#define GUEST_PAGES_CLOSED (-2)
#define GUEST_PREFIX "guest-"
#define GUEST_PARTS_MAX 64u
/* However often a guest is set up anew. */
#define GUEST_FILES_SIZE_MAX (UINT64_C(2) * PROTO_META_MAX)

/* PREFIX stands before NAME in the directory's name. Both: letters, digits, '-', '_', '.'. PARENT -1: a store that checks
 * what comes, and keeps nothing. -EEXIST and its like with ERROR. */
int guest_store_open(int parent, const char *prefix, const char *name,
                     struct guest_store *ret_store, struct error *error);
void guest_store_done(struct guest_store *store);
/* Removes the first directory, into which nothing came. */
void guest_store_remove(const struct guest_store *store);
/* How many kernels one of N_GUESTS may have: each is a source of the trace, which has MANIFEST_SOURCES_MAX of them at
 * most, or could not be written. */
unsigned guest_store_parts_max(unsigned n_guests);
/* A new directory beside the first: for another kernel. -E2BIG with ERROR. */
int guest_store_part(struct guest_store *store, struct error *error);
/* The directory's name below the parent. */
void guest_store_part_name(const struct guest_store *store, unsigned part, char *buf, size_t size);

/* Files of the tree; one at a time. It is there once it has ended, in place of what the guest sent before by that name.
 * -EPERM: not one of tracedir/tracefs_copy.h. 1: there is no room for it, and what the guest sent before stays. */
int guest_store_file_begin(struct guest_store *store, const char *path, size_t len,
                           struct error *error);
int guest_store_file_put(struct guest_store *store, const void *p, size_t size,
                         struct error *error);
int guest_store_file_end(struct guest_store *store, struct error *error);

/* SIZE bytes of the pages of CPU. -errno with ERROR. */
int guest_store_put_pages(struct guest_store *store, uint32_t cpu, const void *p, size_t size,
                          struct error *error);
/* Opens the file for the pages of CPU, to append to. The descriptor is the caller's: a store holds none open for another
 * process, however many CPUs a guest has. -errno with ERROR; -ENODATA: nothing is kept. */
int guest_store_open_pages(struct guest_store *store, uint32_t cpu, struct error *error);
/* A line of the file of clock pairs (timeline/clock_map.h), up to GUEST_PAIRS_SIZE_MAX bytes of them: at HOST_NS on CLOCK_MONOTONIC the guest's clock
 * stood at GUEST, give or take ERROR_NS. -errno. */
int guest_store_pair(struct guest_store *store, uint64_t host_ns, uint64_t guest,
                     uint64_t error_ns);
#define GUEST_PAIRS "clock-pairs"
/* An agent's exchanges make a line of some 50 bytes a second at most: two months of them. */
#define GUEST_PAIRS_SIZE_MAX (UINT64_C(256) << 20)
/* Bytes of all files, in all parts. */
uint64_t guest_store_size(const struct guest_store *store);

/* Whether a guest can be called so. */
bool guest_name_is_fine(const char *name);
