/* SPDX-License-Identifier: MIT */
#pragma once

/* Where the rings of this process lie, so that they are found when it is killed
 * (runtime/process_file.h). The directory is made with the first ring, in whatever context that is, and
 * goes when the process ends by itself. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_class;

/* The directory in which the next directory is made, "" for the default; NAMES false: rings shall have no
 * names at all. Copied. -ENAMETOOLONG. Not from signal handlers. */
int process_dir_setup(const char *parent, bool names);

/* Maps LENGTH new bytes for the ring NUMBER: a file; where none can be made, a slot of the recorder's pool
 * (runtime/pool_file.h); else memory without a name, if IS_READ_HERE (this process reads the ring by itself) or this
 * process writes its rings out. The first FIRST bytes have their pages; *RET_ALL: all have, as the kernel cannot be
 * asked for the rest later (dir_take_pages()). NULL: none of these is to be had. Any context. */
void *dir_map_ring(uint64_t length, uint64_t first, uint32_t number, bool is_read_here,
                   bool *ret_has_file, bool *ret_all);
/* Takes the pages of SIZE bytes of a ring, both multiples of a page. False: there are none now. In a full tmpfs a
 * write to a page that could not be had would end the program by SIGBUS. Any context. */
bool dir_take_pages(void *bytes, size_t size);
/* The directory of this process's rings; NULL: there is none. */
const char *dir_path(void);
/* The ring NUMBER will not be. Any context. */
void process_dir_unmake_ring(uint32_t number);

/* Makes the directory now, without a ring, if a collector is to come from outside (process_dir_set_writes()), so that it
 * finds the process before its first event. Not under a recorder, which waits for rings. */
void process_dir_show(void);

/* Describes CLASS, once, in memory and in the process file if that is there. Before the first record of CLASS may
 * come. Under registry_lock(). False: there is no memory for it, and no record may come. */
bool process_dir_describe(struct trace_class *class);
/* An event was dropped as its thread got no ring: counted in the process file or, where there is none, in the
 * recorder's pool. Any context. */
void process_dir_count_no_ring(void);

/* Whether the program writes its rings out by itself. */
void process_dir_set_writes(bool writes);
/* Where it will write them when it comes to that, an absolute path. Under the pass lock. */
void process_dir_plan_trace(const char *path);
/* Where it writes them from now on, an absolute path. Under the pass lock. */
void process_dir_note_trace(const char *path, const uint8_t uuid[16]);
/* Says, once, that rings could not be made there. */
void process_dir_complain(void);

/* The process ends: no more files are made. With REMOVE all are taken away, N_RINGS rings and the
 * directory. */
void process_dir_end(unsigned n_rings, bool remove);
/* In a child of fork(): what there is, is the parent's. */
void process_dir_forget(void);
