/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a trace.dat (format/trace_dat/trace_dat.h): where its texts and pages are. */

#include "base/arena.h"
#include "base/input.h"
#include "base/map.h"
#include "event/clock.h"
#include "format/ftrace/page.h"
#include "format/ftrace/times.h"
#include "format/trace_dat/codec.h"

#define DAT_CPUS_MAX 8192
/* No text of a real file is longer; kallsyms is the longest. */
#define DAT_TEXT_MAX ((size_t)64 * 1024 * 1024)

/* A run of bytes, in the file or unpacked in memory. */
struct dat_text {
    const uint8_t *memory; /* NULL: in the file */
    uint64_t offset;       /* in either */
    uint64_t size;
};

/* A format: looked for by its number. */
struct dat_format {
    struct dat_text text;
    const char *system;
};

struct dat_cpu {
    int cpu;
    uint64_t offset, size;
};

struct dat_buffer {
    const char *name; /* "": the top one */
    struct clock clock;
    uint64_t offset;    /* version 7: of its section; 6: of its table */
    uint32_t page_size; /* 0: as header_page says */
    bool compressed;
    bool is_text; /* a latency trace, which has no pages */
    struct dat_cpu *cpus;
    unsigned n_cpus;
};

/* What the kernel counted of a CPU (format/trace_dat/cpustat.h). */
struct dat_cpustat {
    const char *buffer;
    int cpu;
    uint64_t read, entries, dropped;
};

struct dat_file {
    unsigned n_refs;
    struct input in;
    char *path;
    unsigned version;
    bool swap, big_endian;
    uint32_t page_size;
    enum dat_codec codec;
    char codec_name[32];
    struct ftrace_layout layout;
    struct arena arena;
    struct dat_buffer *buffers; /* malloc; the top one first, where there is one */
    unsigned n_buffers;
    unsigned n_cpus;     /* version 6: of each table */
    bool has_clock_text; /* version 6: trace_clock follows the table */
    struct clock clock;
    struct map formats;     /* struct dat_format by number */
    struct dat_format *any; /* one of them */
    struct dat_text kallsyms, printk, cmdlines;
    uint64_t sections[32]; /* version 7: offsets by number, 0: none */
    struct ftrace_times times;
    bool is_realtime; /* the option 1 was there */
    /* Of what strata exported: the names of the buffers' layers, with a blank before each, the top buffer's first; after a layer, what
     * is not known of the buffer (event/origin_flags.h), with a '+' before each. Or NULL. */
    const char *layers;
    struct dat_cpustat *cpustats;
    unsigned n_cpustats;
    const char *cpustat_buffer; /* that the next ones are of; NULL: the top one */
    uint8_t **unpacked;         /* what dat_text.memory points into */
    unsigned n_unpacked;
    uint64_t n_metadata;  /* version 7: bytes of options and of unpacked sections so far */
    uint64_t chunks_size; /* bytes of chunks that its feeds hold */
};

/* Reads the metadata. Takes IN over, also when it fails. */
int dat_file_open(struct input *in, const char *name, struct dat_file **ret_file,
                  struct error *error);
/* The same of "tracing data", which perf stores: a trace.dat of version 6 as far as its saved_cmdlines, with "0.6" for a
 * version, or as far as its printk_formats, with "0.5". It has no buffers, and the saved_cmdlines are not read. */
int dat_file_open_tracing_data(struct input *in, const char *name, struct dat_file **ret_file,
                               struct error *error);
struct dat_file *dat_file_ref(struct dat_file *file);
void dat_file_unref(struct dat_file *file);

/* The bytes of TEXT and a NUL, from malloc. -ENOENT: it is empty, -EFBIG, -EBADMSG. */
int dat_file_text(struct dat_file *file, const struct dat_text *text, char **ret_text,
                  size_t *ret_len);
/* The same of kallsyms, which a compressed file unpacks only now. */
int dat_file_kallsyms(struct dat_file *file, char **ret_text, size_t *ret_len);
/* Fills ERROR for an ERROR that is local (base/error.h), and returns it. */
int dat_file_error(const struct dat_file *file, int err, struct error *error);
