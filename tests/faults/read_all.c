/* SPDX-License-Identifier: MIT */

/* Reads traces with libstrata-read, using every function of strata/read.h, and prints all that they hold. Started with
 * fault_inject.c preloaded, which lets a call fail and knows how many blocks are allocated.
 *
 * Usage: read_all [--short] TRACE... [-- DECLARATIONS...]
 * --short: a few items, by a selection of each kind.
 * Exit status: 0; 1 after an error, which is printed; 3 if the library broke a promise. */

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strata/read.h"

static long (*live_blocks)(void);
static long blocks_before;
static struct strata_reader *reader;
static char error_text[8192];

/* Standard output without stdio, which allocates. */
static char out[1 << 22];
static size_t out_len;

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out + out_len, sizeof out - out_len, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof out - out_len)
        out_len += (size_t)n;
}

__attribute__((noreturn)) static void broken(const char *promise)
{
    dprintf(STDERR_FILENO, "read_all: broken: %s\n", promise);
    _exit(3);
}

/* Frees the reader, and ends the program with STATUS. */
__attribute__((noreturn)) static void finish(int status)
{
    snprintf(error_text, sizeof error_text, "%s", reader ? strata_reader_error(reader) : "");
    strata_reader_free(reader);
    if (live_blocks && live_blocks() != blocks_before) {
        dprintf(STDERR_FILENO, "%ld blocks\n", live_blocks() - blocks_before);
        broken("nothing is leaked");
    }
    if (status)
        dprintf(STDERR_FILENO, "%s\n", error_text);
    for (size_t at = 0; status == 0 && at < out_len;) {
        ssize_t n = write(STDOUT_FILENO, out + at, out_len - at);

        if (n < 0) {
            dprintf(STDERR_FILENO, "%s\n", strerror(errno));
            _exit(1);
        }
        at += (size_t)n;
    }
    _exit(status);
}

static void check(int r)
{
    if (r >= 0)
        return;
    if (strata_reader_error(reader)[0] == '\0')
        broken("an error leaves a sentence");
    finish(1);
}

/* Of a function that returns NULL both at an end and out of memory. */
static void check_null(void)
{
    if (strata_reader_error(reader)[0])
        finish(1);
}

static void set_up(char **traces, char **declarations, int is_short)
{
    check(strata_reader_set_temporary_dir(reader, getenv("TMPDIR")));
    check(strata_reader_set_keep_going(reader, false));
    check(strata_reader_set_host_time(reader, false));
    check(strata_reader_set_no_header(reader, false));
    check(strata_reader_set_cpu_hz(reader, UINT64_C(2000000000)));
    check(strata_reader_set_xen_version(reader, "4.17"));
    check(strata_reader_set_cpu_vendor(reader, "intel"));
    for (; *traces; traces++)
        check(strata_reader_add(reader, *traces));
    for (; *declarations; declarations++)
        check(strata_reader_add_events(reader, *declarations));
    if (!is_short)
        return;
    check(strata_reader_set_source(reader, "guest"));
    check(strata_reader_set_tracefs(reader, "guest/guest"));
    check(strata_reader_set_kallsyms(reader, "kallsyms"));
    check(strata_reader_add_filter(reader, "sched_*,-sched_wakeup"));
    check(strata_reader_add_filter(reader, "sched_switch,no_such_event"));
    check(strata_reader_set_from(reader, "+0"));
    check(strata_reader_set_until(reader, "+3600"));
    check(strata_reader_set_cpus(reader, "0-3,5"));
    check(strata_reader_set_pids(reader, "0-1000000"));
    check(strata_reader_set_vcpus(reader, "0-100"));
    check(strata_reader_set_layers(reader, "guest,host"));
    check(strata_reader_set_limit(reader, 20));
}

static void put_value(const char *name, struct strata_value v)
{
    put(" %s:%d", name, v.type);
    if (v.type == STRATA_VALUE_STRING || v.type == STRATA_VALUE_BYTES ||
        v.type == STRATA_VALUE_ARRAY)
        for (size_t i = 0; i < v.size; i++)
            put("%02x", (unsigned char)v.data[i]);
    else if (v.type != STRATA_VALUE_ABSENT)
        put("=%" PRIx64 "%s", v.u, v.name ? v.name : "");
}

static void put_item(void)
{
    const struct strata_reader_item *item = strata_reader_item(reader);
    char text[4096];

    if (!item) {
        check(-ENOMEM);
        return;
    }
    put("%" PRId64 " %d %d %d %s", item->time, item->cpu, item->pid, item->vcpu,
        item->source->path);
    if (item->event_class) {
        const struct strata_reader_class *class = item->event_class;

        put(" %s:%s", class->group, class->name);
        for (unsigned i = 0; i < class->n_fields; i++)
            put_value(class->fields[i].name, strata_reader_field(reader, i));
        if (class->n_fields && strata_reader_field_named(reader, class->fields[0].name).type !=
                                   strata_reader_field(reader, 0).type)
            broken("a field's name and its number are one");
    } else {
        put(" lost %" PRIu64, item->lost);
    }
    check(strata_reader_text(reader, text, sizeof text));
    put(" %s\n", text);
}

/* Returns how many fields all classes have together that have been found. */
static unsigned put_tables(void)
{
    unsigned n_fields = 0;
    const struct strata_reader_source *source;
    const struct strata_reader_class *class;
    const char *s;

    for (unsigned i = 0; (source = strata_reader_source(reader, i)); i++)
        put("source %s %s %s %s\n", source->path, source->layer, source->format, source->clock);
    check_null();
    for (unsigned i = 0; (class = strata_reader_class(reader, i)); i++)
        n_fields += class->n_fields;
    check_null();
    for (unsigned i = 0; (s = strata_reader_note(reader, i)); i++)
        put("note %s\n", s);
    for (unsigned i = 0; (s = strata_reader_unmatched(reader, i)); i++)
        put("unmatched %s\n", s);
    check_null();
    return n_fields;
}

int main(int argc, char **argv)
{
    static char *none[] = {NULL};
    char **declarations = none;
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    int r;

    *(void **)&live_blocks = dlsym(RTLD_DEFAULT, "fault_live_blocks");
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            argv[i] = NULL;
            declarations = argv + i + 1;
            break;
        }
    blocks_before = live_blocks ? live_blocks() : 0;
    put("%s\n", strata_read_version());
    reader = strata_reader_new();
    if (!reader) {
        dprintf(STDERR_FILENO, "out of memory\n");
        finish(1);
    }
    set_up(argv + 1 + is_short, declarations, is_short);
    r = strata_reader_open(reader);
    if (r < 0 && strata_reader_next(reader) != r)
        broken("after an error, each further call returns the same");
    check(r);
    (void)put_tables();
    while ((r = strata_reader_next(reader)) > 0)
        put_item();
    if (strata_reader_next(reader) != r)
        broken("after the end or an error, each further call returns the same");
    if (strata_reader_item(reader))
        broken("there is no item after the end or an error");
    check(r);
    put("%u fields\n", put_tables());
    finish(0);
}
