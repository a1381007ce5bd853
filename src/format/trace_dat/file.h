/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata of a trace.dat (format/trace_dat/trace_dat.h), with the places of its texts and pages. */

#include "base/arena.h"
#include "base/input.h"
#include "base/map.h"
#include "event/clock.h"
#include "format/ftrace/page.h"
#include "format/ftrace/times.h"
#include "format/trace_dat/codec.h"

#define DAT_CPUS_MAX 8192
/* No text of a real file is longer; the longest is kallsyms. */
#define DAT_TEXT_MAX ((size_t)64 * 1024 * 1024)

/* A run of bytes, in the file or unpacked in memory. */
struct dat_text {
    const uint8_t *memory; /* NULL: in the file */
    uint64_t offset;       /* in the file or in `memory` */
    uint64_t size;
};

/* A format, found by its number. */
struct dat_format {
    struct dat_text text;
    const char *system;
};

struct dat_cpu {
    int cpu;
    uint64_t offset, size;
};

struct dat_buffer {
    const char *name; /* "": the top buffer */
    struct clock clock;
    uint64_t offset;    /* of its section (version 7) or its table (version 6) */
    uint32_t page_size; /* 0: the size in header_page */
    bool compressed;
    bool is_text; /* a latency trace without pages */
    struct dat_cpu *cpus;
    unsigned n_cpus;
};

/* The kernel's counts for a CPU (format/trace_dat/cpustat.h). */
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
    struct dat_buffer *buffers; /* malloc; the top buffer first, if any */
    unsigned n_buffers;
    unsigned n_cpus;     /* version 6: CPUs in each table */
    bool has_clock_text; /* version 6: trace_clock follows the table */
    struct clock clock;
    struct map formats;     /* struct dat_format by number */
    struct dat_format *any; /* any of the formats */
    struct dat_text kallsyms, printk, cmdlines;
    uint64_t sections[32]; /* version 7: offsets by number, 0: none */
    struct ftrace_times times;
    bool is_realtime; /* the file has option 1 */
    /* In files exported by strata: the names of the buffers' layers, each after a blank, first of the top buffer. A
     * layer may be followed by flags of what is unknown of the buffer (event/origin_flags.h), each after a '+'.
     * Otherwise NULL. */
    const char *layers;
    struct dat_cpustat *cpustats;
    unsigned n_cpustats;
    const char *cpustat_buffer; /* buffer of the following options; NULL: the top buffer */
    uint8_t **unpacked;         /* memory of dat_text.memory */
    unsigned n_unpacked;
    uint64_t n_metadata;  /* version 7: bytes of options and of unpacked sections so far */
    uint64_t chunks_size; /* bytes of chunks held by its feeds */
};

/* Reads the metadata. Takes over IN, even on failure. */
int dat_file_open(struct input *in, const char *name, struct dat_file **ret_file,
                  struct error *error);
/* The same for "tracing data" in a perf.data: a trace.dat of version 6 up to its saved_cmdlines, with version "0.6", or
 * up to its printk_formats, with version "0.5". It has no buffers, and saved_cmdlines is not read. */
int dat_file_open_tracing_data(struct input *in, const char *name, struct dat_file **ret_file,
                               struct error *error);
struct dat_file *dat_file_ref(struct dat_file *file);
void dat_file_unref(struct dat_file *file);

/* Reads TEXT, with a NUL, into memory from malloc. -ENOENT: empty; -EFBIG; -EBADMSG. */
int dat_file_text(struct dat_file *file, const struct dat_text *text, char **ret_text,
                  size_t *ret_len);
/* The same for kallsyms, which is unpacked only now if the file is compressed. */
int dat_file_kallsyms(struct dat_file *file, char **ret_text, size_t *ret_len);
/* Sets ERROR for ERR, which is local (base/error.h), and returns it. */
int dat_file_error(const struct dat_file *file, int err, struct error *error);
