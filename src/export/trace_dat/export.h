/* SPDX-License-Identifier: MIT */
#pragma once

/* A trace.dat in progress: what the sink (export/trace_dat/trace_dat.c) and the writer of the file
 * (export/trace_dat/file.c) share. */

#include "export/export.h"
#include "export/trace_dat/events.h"
#include "export/trace_dat/record_spool.h"

/* Readers want a table of all rows up to the last. */
#define DAT_ROWS_MAX 8192
/* The first number given to a vCPU of a hypervisor as its thread; no Linux has such threads. */
#define DAT_VCPU_PID (INT32_C(1) << 30)

struct dat_row {
    struct spool_stream records; /* must stand first */
    struct dat_row *next;        /* of the buffer */
    int32_t number;              /* or CPU_UNKNOWN */
    uint64_t last;               /* time */
    uint64_t n_events;
};

/* A vCPU that is written as a thread. */
struct dat_vcpu {
    struct dat_vcpu *next; /* in the order in which they came */
    const struct origin *origin;
    int32_t vcpu, pid;
};

struct dat_buffer {
    struct dat_buffer *next;
    const struct origin *origin;
    const char *name;
    struct dat_row *rows;
    struct dat_row **by_number; /* number + 1 */
    unsigned n_by_number;
    int32_t n_rows; /* in the file: the numbers, and the row without one */
    uint64_t table; /* offset of its table */
};

struct dat_export {
    struct sink sink;
    const struct export_options *options;
    struct dat_events events;
    struct record_spool spool;
    struct dat_buffer *buffers, *recent;
    struct map threads; /* by number of the origin and thread: the origin */
    uint64_t recent_thread;
    struct map vcpus; /* by number of the origin and vCPU */
    struct dat_vcpu *first_vcpu, *last_vcpu, *recent_vcpu;
    bool started;
    int64_t base; /* nanoseconds, negative, or 0 */
    uint32_t longest;
    struct text record;
    struct text out; /* the file */
};

/* Writes the file. An errno. */
int dat_file_write(struct dat_export *dat);

/* Append a section about the kernels to dat->out: symbols, constant strings, threads' names
 * (kallsyms_printk_cmdlines.c). */
void dat_put_kallsyms(struct dat_export *dat);
void dat_put_printk_formats(struct dat_export *dat);
void dat_put_cmdlines(struct dat_export *dat);

/* Numbers in the file's order, and a text with its length in front. */
void dat_put_u16(struct dat_export *dat, uint16_t v);
void dat_put_u32(struct dat_export *dat, uint32_t v);
void dat_put_u64(struct dat_export *dat, uint64_t v);
void dat_put_sized(struct dat_export *dat, const struct text *text);
