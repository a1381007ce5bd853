/* SPDX-License-Identifier: MIT */
#include "format/ftrace/passed_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"

/* Pages of a CPU that are scanned before the pages of other CPUs; then more. */
#define FIRST_ROUND 16
#define ROUND_GROWTH 4
/* Threads of one CPU whose names are kept. */
#define NAMES_MAX 65536

struct earlier_name {
    char name[KERNEL_TASK_NAME];
    int64_t time;
    uint64_t page; /* which one has it, as n_scanned counts */
};

static void keep(struct passed_pages *pages, int32_t pid, const char name[KERNEL_TASK_NAME],
                 int64_t time)
{
    struct earlier_name *kept = map_get(&pages->names, (uint64_t)pid);

    /* Within a page later records come later; before, pages are scanned backwards. */
    if (pid <= 0 || (kept && kept->page != pages->n_scanned) ||
        (!kept && pages->names.used >= NAMES_MAX))
        return;
    if (!kept) {
        kept = arena_alloc(&pages->arena, sizeof *kept);
        if (!kept || map_put(&pages->names, (uint64_t)pid, kept) < 0)
            return;
    }
    memcpy(kept->name, name, KERNEL_TASK_NAME);
    kept->time = time;
    kept->page = pages->n_scanned;
}

static void keep_tasks(struct passed_pages *pages, const struct ftrace_record *record,
                       const struct kernel_task_pairs *pairs, int64_t time)
{
    for (unsigned i = 0; i < pairs->n; i++) {
        char name[KERNEL_TASK_NAME];
        int32_t pid;

        if (kernel_task_pair_read(&pairs->list[i], record->data, record->size, &pid, name))
            keep(pages, pid, name, time);
    }
}

/* Scans the last page that was not scanned yet. */
static void scan_page(struct passed_pages *pages)
{
    const struct ftrace_layout *layout = &pages->instance->layout;
    struct kernel_events *events = pages->instance->events;
    const struct kernel_common common = *kernel_events_common(events);
    struct ftrace_record record;
    struct ftrace_page page;
    struct error error = {0};
    const char *what;

    pages->n_scanned++;
    if (!pages->page)
        pages->page = malloc(layout->size);
    /* Numbers before the next page's are below zero, and wrap. */
    if (!pages->page ||
        pages->feed->peek(pages->feed, UINT64_C(0) - (pages->n_since + pages->n_scanned),
                          pages->page, layout->size, &error) < 0 ||
        ftrace_page_open(&page, layout, pages->page, layout->size, &what) < 0)
        return;
    pages->time = ftrace_cpu_time(pages->instance, pages->cpu, page.time);
    while (ftrace_page_next(&page, layout, &record) > 0 && record.size >= common.size) {
        uint16_t id = load_u16_swap(record.data + common.type_offset, layout->swap);
        const struct event_class *class = kernel_events_class(events, id);

        if (class && class->task_data)
            keep_tasks(pages, &record, class->task_data,
                       ftrace_cpu_time(pages->instance, pages->cpu, record.time));
    }
}

/* Scans up to N pages for a name of PID that is later than BEST's (NULL: any). Returns the later one; *MORE is set if there may
 * be one in pages that were not scanned. */
static const struct earlier_name *find_later(struct passed_pages *pages, int32_t pid, uint64_t n,
                                             const struct earlier_name *best, bool *more)
{
    const struct earlier_name *found = map_get(&pages->names, (uint64_t)pid);

    while (!found && pages->n_scanned < pages->n_passed && !(best && pages->time <= best->time)) {
        if (n-- == 0) {
            *more = true;
            return best;
        }
        scan_page(pages);
        found = map_get(&pages->names, (uint64_t)pid);
    }
    return found && (!best || found->time > best->time) ? found : best;
}

static bool find(struct kernel_earlier *earlier, int32_t pid, char ret_name[KERNEL_TASK_NAME])
{
    struct ftrace_instance *instance = container_of(earlier, struct ftrace_instance, earlier);
    const struct earlier_name *best = NULL;
    uint64_t round = FIRST_ROUND;
    bool more = true;

    for (; more; round *= ROUND_GROWTH) {
        more = false;
        for (struct passed_pages *pages = instance->pages; pages; pages = pages->next)
            best = find_later(pages, pid, round, best, &more);
    }
    if (best)
        memcpy(ret_name, best->name, KERNEL_TASK_NAME);
    return best;
}

void passed_pages_init(struct passed_pages *pages, struct ftrace_instance *instance,
                       struct page_feed *feed, int cpu)
{
    *pages = (struct passed_pages){
        .next = instance->pages, .instance = instance, .feed = feed, .cpu = cpu, .time = INT64_MAX};
    instance->pages = pages;
    instance->earlier.find = find;
}

void passed_pages_drop(struct passed_pages *pages)
{
    pages->n_passed = pages->n_scanned = 0;
}

void passed_pages_done(struct passed_pages *pages)
{
    struct passed_pages **at = &pages->instance->pages;

    while (*at != pages)
        at = &(*at)->next;
    *at = pages->next;
    map_done(&pages->names);
    arena_done(&pages->arena);
    free(pages->page);
}

void passed_pages_pass(struct passed_pages *pages, uint64_t n)
{
    /* What was read since the last time is scanned again. */
    pages->n_passed += pages->n_passed > 0 ? n + pages->n_since : n;
    pages->n_since = 0;
    pages->n_scanned = 0;
    pages->time = INT64_MAX;
    map_done(&pages->names);
    pages->names = (struct map){0};
    kernel_events_begin_lookback(pages->instance->events, &pages->instance->earlier);
}
