/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory of this process's rings, where they are found after it was killed
 * (runtime/ring/process_file.h). Created with the first ring, in any context; removed when the process
 * exits. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_class;

/* Sets the parent directory, "" for the default; copied. NAMES false: rings have no files.
 * -ENAMETOOLONG. Not from signal handlers. */
int process_dir_setup(const char *parent, bool names);

/* Maps LENGTH new bytes for the ring NUMBER: a file; if none can be created, a slot of the recorder's pool
 * (runtime/ring/pool_file.h); else anonymous memory, if IS_READ_HERE (this process reads the ring itself) or if this
 * process writes its rings out. With SMALLER_WILL_DO, does not use anonymous memory, because the caller tries again
 * with a smaller ring. The first FIRST bytes are allocated. *RET_ALL: all bytes are allocated, because the rest could
 * not be allocated later (reserve_pages()). NULL: none of these is possible. Any context. */
void *dir_map_ring(size_t length, size_t first, uint32_t number, bool is_read_here,
                   bool smaller_will_do, bool *ret_has_file, bool *ret_all);
/* The directory of this process's rings; NULL: none. */
const char *dir_path(void);
/* Call it if ring NUMBER will not be created after all. Any context. */
void process_dir_unmake_ring(uint32_t number);

/* Creates the directory now, without a ring, if an outside collector is expected
 * (process_dir_set_writes()), so that it finds the process before its first event. Does nothing under a
 * recorder, which waits for rings. */
void process_dir_show(void);

/* Describes CLASS, once, in memory and in the process file if it exists. Must precede the first record
 * of CLASS. Under registry_lock(). False: out of memory, and no record may be written. */
bool process_dir_describe(struct trace_class *class);
/* Counts an event that was dropped because its thread got no ring: in the process file or, without one,
 * in the recorder's pool. Any context. */
void process_dir_count_no_ring(void);

/* Whether the program writes its rings out itself. */
void process_dir_set_writes(bool writes);
/* Sets the absolute path to which the program will write its rings, and the UUID of the trace that it will create
 * there. Under the pass lock. */
void process_dir_plan_trace(const char *path, const uint8_t uuid[16]);
/* Sets the absolute path to which the program writes its rings from now on. Under the pass lock. */
void process_dir_note_trace(const char *path, const uint8_t uuid[16]);
/* Reports, once, that rings could not be created there. */
void process_dir_complain(void);

/* At the end of the process: creates no more files. REMOVE: removes N_RINGS rings and the directory. */
void process_dir_end(unsigned n_rings, bool remove);
/* Call it in a child of fork(): the directory and rings are the parent's. */
void process_dir_forget(void);
