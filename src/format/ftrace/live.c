/* SPDX-License-Identifier: MIT */
#include "format/ftrace/live.h"

#include <inttypes.h>
#include <string.h>

#include "base/macro.h"
#include "format/ftrace/clock.h"
#include "format/ftrace/cpu_pages.h"
#include "format/ftrace/live_files.h"
#include "schema/kernel/format.h"

/* Pages of all CPUs that have begun, and have not ended. */
#define FILLING_MAX ((size_t)32 << 20)

struct live_page {
    struct live_page *next;
    uint64_t came;
    size_t filled;
    bool missed; /* something before it never came */
    uint8_t bytes[];
};

/* One CPU: its waiting pages, the current page, and the unread items of that page. */
struct live_cpu {
    struct page_feed feed;
    struct ftrace_live *live;
    uint32_t number;
    uint64_t offset; /* of what comes next */
    bool missed;     /* before the next page */
    bool is_busy;    /* in the list */
    struct live_page *first, *last;
    struct live_page *filling; /* goes after `last` when it is whole */
    struct live_page *lent;
    struct source *source;
    const struct item *items;
    int n_items, at;
    int64_t last_time; /* of the items so far */
};

struct ftrace_live {
    struct catalogue *catalogue;
    char *name;
    enum layer layer;
    uint64_t hz;
    struct live_files *files;     /* borrowed once `events` has them */
    struct kernel_events *events; /* borrowed from `instance` */
    struct ftrace_instance *instance;
    struct ftrace_layout layout;
    struct origin *origin;
    struct live_cpu *cpus[FTRACE_LIVE_CPUS_MAX];
    unsigned *busy; /* the CPUs with items or pages */
    unsigned n_busy;
    bool ended;
    int looked_at;  /* place in `busy`, or -1 */
    size_t held;    /* bytes of pages that wait … */
    size_t filling; /* … and of those that are not whole yet */
};

int ftrace_live_file(struct ftrace_live *live, const char *path, char *text, size_t len)
{
    _cleanup_free_ char *owned = text;
    int r = 0;

    if (!live->files) /* nothing can be read by it any more */
        return 0;
    if (!live_files_has_room(live->files, path, len))
        return -E2BIG;
    /* Items that were lent may point into an existing file; only task names are read again. */
    if (!live->events || !live_files_find(live->files, path))
        r = live_files_put(live->files, path, &owned, len);
    if (r == 0 && live->events && strcmp(path, "saved_cmdlines") == 0)
        r = kernel_events_learn_cmdlines(live->events, text, len);
    return r;
}

void ftrace_live_set_hz(struct ftrace_live *live, uint64_t hz)
{
    live->hz = hz;
}

/* Opening. */

int ftrace_live_new(struct catalogue *catalogue, const char *name, enum layer layer,
                    struct ftrace_live **ret_live)
{
    struct ftrace_live *live = calloc(1, sizeof *live);

    if (!live)
        return -ENOMEM;
    live->catalogue = catalogue;
    live->layer = layer;
    live->looked_at = -1;
    live->name = strdup(name);
    live->files = live_files_new();
    live->busy = calloc(FTRACE_LIVE_CPUS_MAX, sizeof *live->busy);
    if (!live->name || !live->files || !live->busy) {
        ftrace_live_free(live);
        return -ENOMEM;
    }
    *ret_live = live;
    return 0;
}

static void free_pages(struct live_page *page)
{
    while (page) {
        struct live_page *next = page->next;

        free(page);
        page = next;
    }
}

static void free_cpu(struct live_cpu *cpu)
{
    if (!cpu)
        return;
    source_free(cpu->source);
    free_pages(cpu->first);
    free(cpu->filling);
    free(cpu->lent);
    free(cpu);
}

struct ftrace_live *ftrace_live_free(struct ftrace_live *live)
{
    if (!live)
        return NULL;
    for (unsigned i = 0; i < FTRACE_LIVE_CPUS_MAX; i++)
        free_cpu(live->cpus[i]);
    if (live->instance)
        ftrace_instance_unref(live->instance);
    else if (live->files)
        live->files->formats.free(&live->files->formats);
    free(live->name);
    free(live->busy);
    free(live);
    return NULL;
}

static int read_names(struct ftrace_live *live, struct kernel_events *events)
{
    const struct live_file *file = live_files_find(live->files, "printk_formats");
    int r = 0;

    if (file) {
        char *copy = strndup(file->text, file->len);

        r = copy ? kernel_events_read_printk(events, copy, strlen(copy)) : -ENOMEM;
    }
    file = live_files_find(live->files, "saved_cmdlines");
    if (r == 0 && file)
        r = kernel_events_learn_cmdlines(events, file->text, file->len);
    return r;
}

static int set_common(struct ftrace_live *live, struct kernel_events *events, struct error *error)
{
    struct kernel_format format;

    if (!live_files_any_format(live->files, &format))
        return 0; /* events without formats still have times and tasks */
    return kernel_events_set_common(events, &format, error);
}

static struct clock clock_of(const struct ftrace_live *live)
{
    const struct live_file *file = live_files_find(live->files, "trace_clock");
    struct clock clock = ftrace_clock(file ? file->text : "", file ? file->len : 0);

    if (clock.hz == 0)
        clock.hz = live->hz;
    return clock;
}

/* The first page is there: what all of them look like, and what their events are. */
static int open_it(struct ftrace_live *live, const uint8_t *page, size_t size, struct error *error)
{
    const struct live_file *header = live_files_find(live->files, "events/header_page");
    struct kernel_events *events;
    struct ftrace_layout other;
    struct kernel_facts facts;
    struct origin origin;
    int r;

    if (!header)
        return error_set(
            error, -EBADMSG, live->name,
            "the guest sent pages, but not the file header_page that describes their layout");
    r = ftrace_layout_parse(header->text, header->len, live->name, &live->layout, error);
    if (r < 0)
        return r;
    other = live->layout;
    ftrace_layout_set_order(&other, !live->layout.big_endian);
    if (size >= live->layout.data && !ftrace_page_is_plausible(&live->layout, page, size) &&
        ftrace_page_is_plausible(&other, page, size))
        live->layout = other;
    facts =
        (struct kernel_facts){live->layout.swap, live->layout.big_endian, live->layout.long_size};
    origin = (struct origin){
        .layer = live->layer, .format = "ftrace", .n_cpus = 1, .clock = clock_of(live)};
    origin.path = arena_strdup(&live->catalogue->arena, live->name);
    if (!origin.path)
        return -ENOMEM;
    r = kernel_events_new(live->catalogue, &facts, &live->files->formats, &events);
    if (r < 0) {
        live->files = NULL; /* they are gone, and nothing can come of this any more */
        return r;
    }
    r = set_common(live, events, error);
    if (r == 0)
        r = read_names(live, events);
    if (r < 0) {
        live->files = NULL;
        kernel_events_unref(events);
        return r;
    }
    r = ftrace_instance_new(live->catalogue, &origin, events, &live->layout, true, &live->instance);
    if (r < 0) {
        live->files = NULL;
        return r;
    }
    live->events = events;
    live->origin = (struct origin *)(uintptr_t)live->instance->origin;
    return 0;
}

struct origin *ftrace_live_origin(const struct ftrace_live *live)
{
    return live->origin;
}

/* Pages. */

/* As the kernel itself says that something was lost, and how much is not known: format/ftrace/page.h. */
static void mark_missed(const struct ftrace_layout *layout, uint8_t *page)
{
    uint8_t *commit = page + layout->commit;
    unsigned top = layout->big_endian ? layout->long_size - 4u : 3u;

    commit[top] = (uint8_t)((commit[top] | 0x80) & ~0x40);
}

/* A page without events, after all others, that reports a loss. */
static struct live_page *make_last(struct live_cpu *cpu)
{
    const struct ftrace_layout *layout = &cpu->live->layout;
    struct live_page *page;

    if (!cpu->live->ended || !cpu->missed)
        return NULL;
    cpu->missed = false;
    page = calloc(1, sizeof *page + layout->size);
    if (!page)
        return NULL;
    page->filled = layout->size;
    for (unsigned i = 0; i < 8; i++)
        page->bytes[layout->big_endian ? 7 - i : i] =
            (uint8_t)((uint64_t)cpu->last_time >> (8 * i));
    mark_missed(layout, page->bytes);
    cpu->live->held += layout->size;
    return page;
}

static int feed_next(struct page_feed *feed, const uint8_t **ret_page, size_t *ret_size,
                     uint64_t *ret_offset, struct error *error)
{
    struct live_cpu *cpu = container_of(feed, struct live_cpu, feed);
    struct live_page *page = cpu->first;

    (void)error;
    free(TAKE_PTR(cpu->lent));
    if (!page)
        page = make_last(cpu);
    if (!page)
        return -EAGAIN;
    cpu->first = page->next;
    if (!cpu->first)
        cpu->last = NULL;
    cpu->lent = page;
    cpu->live->held -= cpu->live->layout.size;
    *ret_page = page->bytes;
    *ret_size = page->filled;
    *ret_offset = 0;
    return 1;
}

/* The CPU outlives its source. */
static void feed_free(struct page_feed *feed)
{
    (void)feed;
}

static int get_cpu(struct ftrace_live *live, uint32_t number, struct live_cpu **ret)
{
    struct live_cpu *cpu = live->cpus[number];
    int r;

    if (!cpu) {
        cpu = calloc(1, sizeof *cpu);
        if (!cpu)
            return -ENOMEM;
        cpu->live = live;
        cpu->number = number;
        cpu->feed =
            (struct page_feed){.next = feed_next, .free = feed_free, .path = live->origin->path};
        r = ftrace_cpu_open(live->instance, (int)number, &cpu->feed, &cpu->source);
        if (r < 0) {
            free(cpu);
            return r;
        }
        live->cpus[number] = cpu;
        live->origin->n_cpus = MAX(live->origin->n_cpus, number + 1);
    }
    *ret = cpu;
    return 0;
}

/* Something did not come: the page that is under way is of no use, and the next one is marked. */
static void see_gap(struct live_cpu *cpu, uint64_t offset)
{
    if (offset == cpu->offset)
        return;
    if (cpu->filling)
        cpu->live->filling -= cpu->live->layout.size;
    free(TAKE_PTR(cpu->filling));
    cpu->missed = true;
    cpu->offset = offset;
}

static void make_busy(struct ftrace_live *live, struct live_cpu *cpu)
{
    if (!cpu->is_busy)
        live->busy[live->n_busy++] = cpu->number;
    cpu->is_busy = true;
}

static void finish_page(struct ftrace_live *live, struct live_cpu *cpu)
{
    struct live_page *page = TAKE_PTR(cpu->filling);

    if (page->missed && ftrace_page_is_plausible(&live->layout, page->bytes, page->filled))
        mark_missed(&live->layout, page->bytes);
    make_busy(live, cpu);
    live->filling -= live->layout.size;
    if (cpu->last)
        cpu->last->next = page;
    else
        cpu->first = page;
    cpu->last = page;
    live->held += live->layout.size;
}

static int put_bytes(struct ftrace_live *live, struct live_cpu *cpu, const uint8_t *p, size_t size,
                     uint64_t came)
{
    const size_t whole = live->layout.size;

    while (size > 0) {
        size_t n;

        if (!cpu->filling) {
            size_t into = (size_t)(cpu->offset % whole);

            if (into > 0) { /* up to where a page begins */
                n = MIN(size, whole - into);
                cpu->offset += n;
                p += n;
                size -= n;
                continue;
            }
            if (live->filling + whole >
                FILLING_MAX) { /* more CPUs with torn pages than any machine has */
                see_gap(cpu, cpu->offset + size);
                return 0;
            }
            cpu->filling = malloc(sizeof *cpu->filling + whole);
            if (!cpu->filling)
                return -ENOMEM;
            live->filling += whole;
            *cpu->filling = (struct live_page){.missed = cpu->missed};
            cpu->missed = false;
        }
        n = MIN(size, whole - cpu->filling->filled);
        memcpy(cpu->filling->bytes + cpu->filling->filled, p, n);
        cpu->filling->filled += n;
        cpu->filling->came = came;
        cpu->offset += n;
        p += n;
        size -= n;
        if (cpu->filling->filled == whole)
            finish_page(live, cpu);
    }
    return 0;
}

int ftrace_live_pages(struct ftrace_live *live, uint32_t cpu, uint64_t offset, const void *p,
                      size_t size, uint64_t came, struct error *error)
{
    struct live_cpu *known;
    int r;

    if (cpu >= FTRACE_LIVE_CPUS_MAX || offset > UINT64_MAX / 2)
        return error_set(error, -EBADMSG, live->name, "no CPU %" PRIu32, cpu);
    if (!live->files)
        return error_set(error, -EBADMSG, live->name, "its pages cannot be read");
    if (!live->instance && size == 0)
        return 0;
    if (!live->instance) {
        r = open_it(live, p, size, error);
        if (r < 0)
            return r;
    }
    r = get_cpu(live, cpu, &known);
    if (r < 0)
        return r;
    see_gap(known, offset);
    return put_bytes(live, known, p, size, came);
}

void ftrace_live_end(struct ftrace_live *live)
{
    live->ended = true;
    for (unsigned i = 0; live->instance && i < FTRACE_LIVE_CPUS_MAX; i++) {
        struct live_cpu *cpu = live->cpus[i];

        if (!cpu)
            continue;
        cpu->missed = cpu->missed || cpu->filling;
        if (cpu->missed)
            make_busy(live, cpu);
    }
}

size_t ftrace_live_held(const struct ftrace_live *live)
{
    return live->held;
}

/* Items. */

/* Whether CPU has an item to look at. */
static bool has_item(struct live_cpu *cpu)
{
    if (cpu->at < cpu->n_items)
        return true;
    cpu->at = 0;
    cpu->n_items = source_next(cpu->source, &cpu->items);
    if (cpu->n_items > 0) {
        cpu->last_time = cpu->items[cpu->n_items - 1].time;
        return true;
    }
    /* Nothing more for now; or it is finished, by want of memory. */
    cpu->n_items = 0;
    return false;
}

static uint64_t came_of(const struct live_cpu *cpu)
{
    return cpu->lent ? cpu->lent->came : 0;
}

bool ftrace_live_look(struct ftrace_live *live, struct item **ret_item, uint64_t *ret_came)
{
    const struct item *lowest = NULL;
    uint64_t oldest = UINT64_MAX;

    live->looked_at = -1;
    for (unsigned i = 0; i < live->n_busy;) {
        struct live_cpu *cpu = live->cpus[live->busy[i]];
        const struct item *item;

        if (!has_item(cpu)) {
            live->busy[i] = live->busy[--live->n_busy];
            cpu->is_busy = false;
            continue;
        }
        item = &cpu->items[cpu->at];
        if (!lowest || item->time < lowest->time) {
            lowest = item;
            live->looked_at = (int)i;
        }
        oldest = MIN(oldest, came_of(cpu));
        i++;
    }
    if (!lowest)
        return false;
    *ret_item = (struct item *)(uintptr_t)lowest; /* S6 */
    *ret_came = oldest;
    return true;
}

void ftrace_live_take(struct ftrace_live *live)
{
    if (live->looked_at >= 0)
        live->cpus[live->busy[live->looked_at]]->at++;
    live->looked_at = -1;
}
