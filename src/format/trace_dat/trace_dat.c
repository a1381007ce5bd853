/* SPDX-License-Identifier: MIT */
#include "format/trace_dat/trace_dat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/reopen_cache.h"
#include "event/origin_flags.h"
#include "format/ftrace/clock.h"
#include "format/ftrace/cpu_pages.h"
#include "format/trace_dat/cpustat.h"
#include "format/trace_dat/events.h"
#include "format/trace_dat/feed.h"

/* What all CPUs' buffers may take together, and each. */
#define BUFFERS_MAX ((size_t)16 * 1024 * 1024)
#define BUFFER_SIZE ((size_t)256 * 1024)

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
    unsigned n_empty;           /* CPUs without pages, which may get a source */
    const struct cpu_set *lost; /* CPUs with missing data; NULL: none */
    bool may_be_cut;
    struct cpu_set *lacking; /* found to lack events; NULL: not looked for */
};

/* Sets the layer of buffer NUMBER as stated by the file or by the caller, and what is unknown of the buffer. */
static void set_layer(const struct opening *o, unsigned number, struct origin *origin)
{
    const char *p = o->file->layers;
    char words[128], *rest = words, *word;

    origin->layer = o->layer;
    for (unsigned i = 0; p && i < number; i++)
        p = strchr(p + 1, ' ');
    if (!p || sscanf(p, " %127[^ ]", words) != 1)
        return;
    (void)layer_by_name(strsep(&rest, "+"), &origin->layer);
    while ((word = strsep(&rest, "+")))
        (void)origin_set_flag(origin, word, strlen(word));
}

/* Finds the events that CPU of BUFFER lacks by reading its pages, once for all openings of the file. */
static int compare_once(struct opening *o, const struct dat_buffer *buffer,
                        const struct dat_cpu *cpu, const struct ftrace_layout *layout,
                        struct dat_lack *ret)
{
    const struct dat_lack *known;
    struct dat_lack *copy;
    char key[512];
    int r, len;

    len = snprintf(key, sizeof key, "trace.dat lack %d %s %s", cpu->cpu, buffer->name, o->name);
    if (len < 0 || (size_t)len >= sizeof key)
        return dat_cpustat_compare(o->file, buffer, cpu, layout, ret);
    known = reopen_cache_get(o->options->cache, key);
    if (known) {
        *ret = *known;
        return 0;
    }
    r = dat_cpustat_compare(o->file, buffer, cpu, layout, ret);
    copy = r < 0 || !o->options->cache ? NULL : malloc(sizeof *copy);
    if (copy) {
        *copy = *ret;
        if (reopen_cache_put(o->options->cache, key, copy, free) < 0)
            free(copy);
    }
    return r;
}

/* Finds what CPU of BUFFER lacks. */
static int find_lack(struct opening *o, const struct dat_buffer *buffer, const struct dat_cpu *cpu,
                     const struct ftrace_layout *layout, struct ftrace_instance *instance,
                     struct dat_lack *ret)
{
    int r;

    *ret = (struct dat_lack){0};
    if (!o->lacking)
        return 0;
    r = compare_once(o, buffer, cpu, layout, ret);
    if (r < 0)
        return error_set(o->error, r, o->name, "out of memory");
    if (ret->events > 0) {
        cpu_set_add(o->lacking, (uint32_t)cpu->cpu);
        instance->origin->is_cut = true;
        instance->origin->lost_uncounted |= !ret->is_exact;
    }
    return 0;
}

/* Opens a CPU. A CPU without pages has lost them. */
static int open_cpu(struct opening *o, const struct dat_buffer *buffer, const struct dat_cpu *cpu,
                    uint32_t page_size, const struct dat_lack *lack,
                    struct ftrace_instance *instance)
{
    struct page_feed *feed;
    int r = dat_feed_new(o->file, buffer, cpu, page_size, o->buffer_size, &feed);

    if (r == 0) {
        feed->is_cut = cpu->size == 0 || lack->events > 0;
        feed->lacks = lack->events;
        feed->begin = lack->begin;
        feed->end = lack->end;
        feed->second_begin = lack->second_begin;
        feed->inner_end = lack->inner_end;
        feed->begins_after_loss = lack->begins_after_loss;
        r = ftrace_cpu_open(instance, cpu->cpu, feed, &o->sources[o->n_sources]);
    }
    if (r < 0)
        return error_set(o->error, r, o->name, "out of memory");
    o->n_sources++;
    return 0;
}

static bool has_pages(const struct dat_buffer *buffer, int cpu)
{
    for (unsigned i = 0; i < buffer->n_cpus; i++)
        if (buffer->cpus[i].cpu == cpu && buffer->cpus[i].size > 0)
            return true;
    return false;
}

static int open_buffer(struct opening *o, const struct dat_buffer *buffer)
{
    struct ftrace_layout layout = o->file->layout;
    struct origin origin = {
        .format = "trace.dat", .n_cpus = buffer->n_cpus, .clock = buffer->clock};
    const struct ftrace_times *times = &o->file->times;
    struct ftrace_instance *instance;
    bool are_counted = true;
    char path[512];
    int r = 0;

    snprintf(path, sizeof path, "%s%s%s", o->name, *buffer->name ? ":" : "", buffer->name);
    set_layer(o, (unsigned)(buffer - o->file->buffers), &origin);
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

    r = ftrace_instance_new(o->catalogue, &origin, kernel_events_ref(o->events), &layout,
                            o->options->keep_going, &instance);
    if (r < 0)
        return error_set(o->error, r, o->name, "out of memory");
    if (ftrace_times_change(times))
        ftrace_instance_set_times(instance, times);
    for (unsigned i = 0; i < buffer->n_cpus && r == 0; i++) {
        struct dat_lack lack;

        r = find_lack(o, buffer, &buffer->cpus[i], &layout, instance, &lack);
        are_counted &= lack.is_counted || buffer->cpus[i].size == 0;
        if (r == 0 && (buffer->cpus[i].size > 0 || lack.events > 0))
            r = open_cpu(o, buffer, &buffer->cpus[i], layout.size, &lack, instance);
    }
    for (uint32_t cpu = o->lost ? cpu_set_next(o->lost, 0) : CPU_SET_MAX;
         cpu < CPU_SET_MAX && r == 0; cpu = cpu_set_next(o->lost, cpu + 1))
        if (!has_pages(buffer, (int)cpu) && !(o->lacking && cpu_set_has(o->lacking, cpu)))
            r = open_cpu(o, buffer, &(struct dat_cpu){.cpu = (int)cpu}, layout.size,
                         &(struct dat_lack){0}, instance);
    instance->reports_outlier = true;
    if (r == 0 && o->may_be_cut && !are_counted)
        ftrace_instance_judge_ends(instance);
    ftrace_instance_unref(instance);
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

            if (cpu->size == 0 && o->lacking)
                o->n_empty++;
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

static int open_events(struct opening *o)
{
    kernel_events_unref(o->events);
    o->events = NULL;
    return dat_events_open(o->file, o->catalogue, &o->events, o->error);
}

static int open_buffers(struct opening *o)
{
    struct dat_file *file = o->file;
    unsigned n_lost = o->lost ? cpu_set_count(o->lost) * file->n_buffers : 0;
    bool is_text = false, has_cpus = false;
    int r = count_cpus(o);

    if (r < 0)
        return r;
    if (file->n_buffers == 0)
        return error_set(o->error, -EBADMSG, o->name, "no buffer with events");
    for (unsigned i = 0; i < file->n_buffers; i++) {
        is_text |= file->buffers[i].is_text;
        has_cpus |= file->buffers[i].n_cpus > 0;
    }
    if (o->n_max == 0 && is_text)
        return error_set(o->error, -ENOTSUP, o->name,
                         "it holds the text of a latency tracer, not events; trace-cmd report "
                         "shows it");
    if (!has_cpus)
        return error_set(o->error, -EBADMSG, o->name,
                         "unfinished, or trace-cmd recorded nothing: it has the pages of no CPU; "
                         "of files NAME.cpuN that it left, trace-cmd restore makes a trace.dat");
    o->buffer_size = MIN(BUFFER_SIZE, BUFFERS_MAX / MAX(o->n_max, 1u));
    o->sources = calloc(MAX(o->n_max + o->n_empty + n_lost, 1u), sizeof(struct source *));
    if (!o->sources)
        return error_set(o->error, -ENOMEM, o->name, "out of memory");
    for (unsigned i = 0; i < file->n_buffers && r == 0; i++) {
        /* Instances are of one kernel, and layers are not. */
        if (i == 0 || file->layers)
            r = open_events(o);
        if (r == 0 && !file->buffers[i].is_text)
            r = open_buffer(o, &file->buffers[i]);
    }
    return r;
}

int trace_dat_open(struct input *in, const char *name, enum layer layer, const struct cpu_set *lost,
                   bool may_be_cut, struct cpu_set *ret_lacking, struct catalogue *catalogue,
                   const struct reader_options *options, struct source ***ret_sources,
                   unsigned *ret_n, struct error *error)
{
    struct opening o = {.name = name,
                        .layer = layer,
                        .lost = lost,
                        .may_be_cut = may_be_cut,
                        .lacking = ret_lacking,
                        .catalogue = catalogue,
                        .options = options,
                        .error = error};
    int r;

    if (ret_lacking)
        *ret_lacking = (struct cpu_set){0};
    r = dat_file_open(in, name, &o.file, error);
    if (r < 0)
        return r;
    r = open_buffers(&o);
    kernel_events_unref(o.events);
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
