/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/trace_dat.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "format/ftrace/clock.h"
#include "format/ftrace/cpu.h"
#include "format/trace_dat/feed.h"

/* What all CPUs' buffers may take together, and each. */
#define BUFFERS_MAX ((size_t)16 * 1024 * 1024)
#define BUFFER_SIZE ((size_t)256 * 1024)

/* The texts of the file, for its events. */
struct dat_formats {
    struct kernel_formats formats;
    struct dat_file *file;
    char *text; /* of the format lent last */
};

static int lend_format(struct dat_formats *formats, const struct dat_format *format,
                       struct kernel_format *ret)
{
    size_t len;
    int r;

    free(TAKE_PTR(formats->text));
    r = dat_file_text(formats->file, &format->text, &formats->text, &len);
    if (r < 0)
        return r;
    *ret = (struct kernel_format){.text = formats->text, .len = len, .system = format->system};
    return 0;
}

static int formats_format(struct kernel_formats *base, uint16_t id, struct kernel_format *ret)
{
    struct dat_formats *formats = container_of(base, struct dat_formats, formats);
    const struct dat_format *format = map_get(&formats->file->formats, id);

    return format ? lend_format(formats, format, ret) : -ENOENT;
}

static int formats_kallsyms(struct kernel_formats *base, char **ret_text, size_t *ret_len)
{
    return dat_file_kallsyms(container_of(base, struct dat_formats, formats)->file, ret_text,
                             ret_len);
}

static void formats_free(struct kernel_formats *base)
{
    struct dat_formats *formats = container_of(base, struct dat_formats, formats);

    dat_file_unref(formats->file);
    free(formats->text);
    free(formats);
}

/* A text without which only names are unknown. 1: it is there, 0: missing or damaged. */
static int read_optional(struct dat_file *file, const struct dat_text *at, char **ret_text,
                         size_t *ret_len)
{
    int r = dat_file_text(file, at, ret_text, ret_len);

    return r == 0 ? 1 : error_is_local(r) ? r : 0;
}

/* The file's events, ready to be asked for. */
static int open_events(struct dat_file *file, struct catalogue *catalogue,
                       struct kernel_events **ret_events, struct error *error)
{
    struct kernel_facts facts = {
        .swap = file->swap, .big_endian = file->big_endian, .long_size = file->layout.long_size};
    struct dat_formats *formats = calloc(1, sizeof *formats);
    struct kernel_events *events;
    struct kernel_format format;
    size_t len = 0;
    char *text = NULL;
    int r;

    if (!formats)
        return error_set(error, -ENOMEM, file->path, "out of memory");
    formats->formats.format = formats_format;
    formats->formats.kallsyms = formats_kallsyms;
    formats->formats.free = formats_free;
    formats->file = dat_file_ref(file);
    r = kernel_events_new(catalogue, &facts, &formats->formats, &events);
    if (r < 0)
        return error_set(error, r, file->path, "out of memory");

    if (file->any) {
        r = lend_format(formats, file->any, &format);
        if (r == 0) {
            format.path = file->path;
            r = kernel_events_set_common(events, &format, error);
        } else if (!error_is_local(r)) {
            r = 0; /* damaged: events are shown by their numbers */
        }
    }
    if (r == 0)
        r = read_optional(file, &file->printk, &text, &len);
    if (r > 0)
        r = kernel_events_read_printk(events, text, len);
    if (r == 0)
        r = read_optional(file, &file->cmdlines, &text, &len);
    if (r > 0)
        r = kernel_events_read_cmdlines(events, text, len);
    if (r < 0) {
        kernel_events_unref(events);
        return dat_file_error(file, r, error);
    }
    *ret_events = events;
    return 0;
}

struct opening {
    struct dat_file *file;
    struct kernel_events *events;
    const char *name;
    enum layer layer;
    struct catalogue *catalogue;
    const struct reader_options *options;
    struct error *error;
    size_t buffer_size;
    struct source **sources;
    unsigned n_sources, n_max;
};

static int open_buffer(struct opening *o, const struct dat_buffer *buffer)
{
    struct ftrace_layout layout = o->file->layout;
    struct origin origin = {
        .layer = o->layer, .format = "trace.dat", .n_cpus = buffer->n_cpus, .clock = buffer->clock};
    const struct ftrace_times *times = &o->file->times;
    struct ftrace_capture *capture;
    char path[512];
    int r = 0;

    snprintf(path, sizeof path, "%s%s%s", o->name, *buffer->name ? ":" : "", buffer->name);
    origin.path = arena_strdup(&o->catalogue->arena, path);
    if (!origin.path)
        return error_set(o->error, -ENOMEM, o->name, "out of memory");
    if (times->mult)
        origin.clock = (struct clock){"tsc2nsec", NANOSECONDS};
    if (o->file->is_realtime)
        origin.clock.name = "realtime";
    /* A buffer of version 7 says how long its pages are; header_page is of the top one. */
    if (buffer->page_size > layout.data + 8 && buffer->page_size <= FTRACE_PAGE_MAX)
        layout.size = buffer->page_size;

    r = ftrace_capture_new(o->catalogue, &origin, kernel_events_ref(o->events), &layout,
                           o->options->keep_going, &capture);
    if (r < 0)
        return error_set(o->error, r, o->name, "out of memory");
    if (ftrace_times_change(times))
        ftrace_capture_set_times(capture, times);
    for (unsigned i = 0; i < buffer->n_cpus && r == 0; i++) {
        struct page_feed *feed;

        if (buffer->cpus[i].size == 0)
            continue;
        r = dat_feed_new(o->file, buffer, &buffer->cpus[i], layout.size, o->buffer_size, &feed);
        if (r == 0)
            r = ftrace_cpu_open(capture, buffer->cpus[i].cpu, feed, &o->sources[o->n_sources]);
        if (r < 0)
            error_set(o->error, r, o->name, "out of memory");
        else
            o->n_sources++;
    }
    ftrace_capture_unref(capture);
    return r;
}

/* Counts the sources. No byte of a file is two CPUs' pages: a small file whose tables say so again and
 * again would be a large one to read. */
static int count_cpus(struct opening *o)
{
    const struct dat_file *file = o->file;
    uint64_t total = file->in.size, sum = 0;

    for (unsigned i = 0; i < file->n_buffers; i++)
        for (unsigned k = 0; k < file->buffers[i].n_cpus; k++) {
            const struct dat_cpu *cpu = &file->buffers[i].cpus[k];
            uint64_t there = MIN(cpu->size, total - MIN(cpu->offset, total));

            if (cpu->size == 0)
                continue;
            if (there > total - sum)
                return error_set(o->error, -EBADMSG, o->name,
                                 "the pages of its CPUs take more than the whole file: its "
                                 "tables are damaged");
            sum += there;
            if (++o->n_max > DAT_CPUS_MAX)
                return error_set(o->error, -EBADMSG, o->name,
                                 "its buffers have pages of more than %u CPUs", DAT_CPUS_MAX);
        }
    return 0;
}

static int open_buffers(struct opening *o)
{
    struct dat_file *file = o->file;
    bool is_text = false;
    int r = count_cpus(o);

    if (r < 0)
        return r;
    if (file->n_buffers == 0)
        return error_set(o->error, -EBADMSG, o->name, "no buffer with events");
    for (unsigned i = 0; i < file->n_buffers; i++)
        is_text |= file->buffers[i].is_text;
    if (o->n_max == 0 && is_text)
        return error_set(o->error, -ENOTSUP, o->name,
                         "it holds the text of a latency tracer, not events; trace-cmd report "
                         "shows it");
    o->buffer_size = MIN(BUFFER_SIZE, BUFFERS_MAX / MAX(o->n_max, 1u));
    o->sources = calloc(MAX(o->n_max, 1u), sizeof(struct source *));
    if (!o->sources)
        return error_set(o->error, -ENOMEM, o->name, "out of memory");
    for (unsigned i = 0; i < file->n_buffers && r == 0; i++)
        if (!file->buffers[i].is_text)
            r = open_buffer(o, &file->buffers[i]);
    return r;
}

int trace_dat_open(struct input *in, const char *name, enum layer layer,
                   struct catalogue *catalogue, const struct reader_options *options,
                   struct source ***ret_sources, unsigned *ret_n, struct error *error)
{
    struct opening o = {
        .name = name, .layer = layer, .catalogue = catalogue, .options = options, .error = error};
    int r;

    r = dat_file_open(in, name, &o.file, error);
    if (r < 0)
        return r;
    r = open_events(o.file, catalogue, &o.events, error);
    if (r == 0) {
        r = open_buffers(&o);
        kernel_events_unref(o.events);
    }
    dat_file_unref(o.file);
    if (r < 0) {
        while (o.n_sources > 0)
            source_free(o.sources[--o.n_sources]);
        free(o.sources);
        return r;
    }
    *ret_sources = o.sources;
    *ret_n = o.n_sources;
    return 0;
}
