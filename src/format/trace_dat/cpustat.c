/* SPDX-License-Identifier: MIT */

/* The kernel's counts begin at 0 when a recording begins. Events that the recorder or any other process reads from the
 * buffer are counted in "read events". trace-cmd copies the counts after it has told its processes to end. Events that
 * "entries" then counts in the buffer were read by these processes while the counts were copied, or later. So the file
 * has at least "read events" events, and at most "entries" more.
 *
 * Source: trace-cmd.dat.v7(5); recordings of trace-cmd 3.1.6, also while others read the same buffer, and with -m. */
#include "format/trace_dat/cpustat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/saturate.h"
#include "format/trace_dat/feed.h"

#define BUFFER_SIZE ((size_t)256 * 1024)
#define TEXT_MAX 4096u
#define CPUSTATS_MAX (2u * DAT_CPUS_MAX)

/* The number after NAME at the begin of a line of TEXT. */
static bool take_count(const char *text, const char *name, uint64_t *ret)
{
    size_t len = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        char *end;

        line += *line == '\n';
        if (strncmp(line, name, len) != 0 || line[len] != ':')
            continue;
        *ret = strtoull(line + len + 1, &end, 10);
        return end > line + len + 1;
    }
    return false;
}

static int begin_buffer(struct dat_file *file, const char *name)
{
    size_t len = strcspn(name, "\n");

    file->cpustat_buffer = arena_strndup(&file->arena, name, len);
    return file->cpustat_buffer ? 0 : -ENOMEM;
}

int dat_cpustat_read(struct dat_file *file, const uint8_t *p, uint32_t n)
{
    static const char buffer_begins[] = "\nBuffer: ";
    struct dat_cpustat stat = {.buffer = file->cpustat_buffer ? file->cpustat_buffer : ""};
    struct dat_cpustat *more;
    char text[TEXT_MAX];
    uint64_t cpu;

    if (n >= sizeof text || file->n_cpustats == CPUSTATS_MAX)
        return 0;
    memcpy(text, p, n);
    text[n] = '\0';
    if (strncmp(text, buffer_begins, strlen(buffer_begins)) == 0)
        return begin_buffer(file, text + strlen(buffer_begins));
    if (!take_count(text, "CPU", &cpu) || cpu >= DAT_CPUS_MAX ||
        !take_count(text, "entries", &stat.entries) || !take_count(text, "read events", &stat.read))
        return 0;
    (void)take_count(text, "dropped events", &stat.dropped);
    stat.cpu = (int)cpu;
    more = realloc(file->cpustats, (file->n_cpustats + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    file->cpustats = more;
    file->cpustats[file->n_cpustats++] = stat;
    return 0;
}

/* NULL: there is none, or there are several. */
static const struct dat_cpustat *find(const struct dat_file *file, const struct dat_buffer *buffer,
                                      int cpu)
{
    const struct dat_cpustat *found = NULL;

    for (unsigned i = 0; i < file->n_cpustats; i++) {
        const struct dat_cpustat *stat = &file->cpustats[i];

        if (stat->cpu != cpu || strcmp(stat->buffer, buffer->name) != 0)
            continue;
        if (found)
            return NULL;
        found = stat;
    }
    return found;
}

/* The events in the pages of FEED. -EBADMSG or another errno: they cannot be counted. */
static int count_events(struct page_feed *feed, const struct ftrace_layout *layout,
                        struct dat_lack *lack, uint64_t *ret)
{
    struct error error = {0};
    const uint8_t *start;
    uint64_t n = 0, offset;
    size_t size;
    int r;

    while ((r = feed->next(feed, &start, &size, &offset, &error)) > 0) {
        struct ftrace_page page;
        const char *what;

        r = ftrace_page_open(&page, layout, start, size, &what);
        if (r < 0)
            return r;
        if (lack->begin == 0) {
            lack->begin = page.time;
            lack->begins_after_loss = page.missed;
        } else if (lack->second_begin == 0) {
            lack->second_begin = page.time;
        }
        lack->inner_end = lack->end;
        r = ftrace_page_count(&page, layout, &n);
        lack->end = page.time;
        if (r < 0 || page.cut)
            return -EBADMSG;
    }
    *ret = n;
    return r;
}

int dat_cpustat_compare(struct dat_file *file, const struct dat_buffer *buffer,
                        const struct dat_cpu *cpu, const struct ftrace_layout *layout,
                        struct dat_lack *ret)
{
    const struct dat_cpustat *stat = find(file, buffer, cpu->cpu);
    struct page_feed *feed;
    uint64_t n;
    int r;

    *ret = (struct dat_lack){0};
    ret->is_counted = stat != NULL;
    if (!stat && !buffer->compressed)
        return 0;
    r = dat_feed_new(file, buffer, cpu, layout->size, BUFFER_SIZE, &feed);
    if (r < 0)
        return r;
    r = count_events(feed, layout, ret, &n);
    feed->free(feed);
    /* What cannot be read to its end is reported when it is read. */
    if (r < 0 || !stat)
        return r == -ENOMEM ? r : 0;
    ret->events = add_saturated(stat->read - MIN(n, stat->read), stat->dropped);
    ret->is_exact = stat->entries == 0;
    return 0;
}
