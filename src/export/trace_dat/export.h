/* SPDX-License-Identifier: MIT */
#pragma once

/* A trace.dat in progress: what the sink (export/trace_dat/trace_dat.c) and the file's writer (export/trace_dat/file.c)
 * share. */

#include "export/export.h"
#include "export/trace_dat/events.h"
#include "export/trace_dat/record_spool.h"

/* The most rows. Readers want a table of all rows up to the last one. */
#define DAT_ROWS_MAX 8192
/* The first thread number for a hypervisor's vCPU. Threads of Linux do not have such numbers. */
#define DAT_VCPU_PID (INT32_C(1) << 30)

struct dat_row {
    struct spool_stream records; /* must come first */
    struct dat_row *next;        /* in the buffer */
    int32_t number;              /* CPU or vCPU number, or CPU_UNKNOWN */
    uint64_t last;               /* time of the last record */
    uint64_t n_events;
};

/* A vCPU that is written as a thread. */
struct dat_vcpu {
    struct dat_vcpu *next; /* in the order of their first events */
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
    int32_t n_rows; /* in the file: one for each number, and the row without a number */
    uint64_t table; /* offset of its table */
};

struct dat_export {
    struct sink sink;
    const struct export_options *options;
    struct dat_events events;
    struct record_spool spool;
    struct dat_buffer *buffers, *recent;
    struct map threads; /* the origin, by its number and thread */
    uint64_t recent_thread;
    struct map vcpus; /* by number of the origin and vCPU */
    struct dat_vcpu *first_vcpu, *last_vcpu, *recent_vcpu;
    bool started;
    int64_t base; /* in ns: negative, or 0 */
    uint32_t longest;
    struct text record;
    struct text out; /* the file */
};

/* Writes the file. 0 or a negative errno. */
int dat_file_write(struct dat_export *dat);

/* Each appends a section about the kernels to dat->out: symbols, constant strings, names of threads
 * (kallsyms_printk_cmdlines.c). */
void dat_put_kallsyms(struct dat_export *dat);
void dat_put_printk_formats(struct dat_export *dat);
void dat_put_cmdlines(struct dat_export *dat);

/* Put numbers in the file's byte order, and a text after its length. */
void dat_put_u16(struct dat_export *dat, uint16_t v);
void dat_put_u32(struct dat_export *dat, uint32_t v);
void dat_put_u64(struct dat_export *dat, uint64_t v);
void dat_put_sized(struct dat_export *dat, const struct text *text);
