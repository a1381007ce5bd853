/* SPDX-License-Identifier: MIT */
#include "format/ftrace/cpu_pages.h"

#include <stdio.h>

#include "base/text.h"
#include "event/kernel.h"
#include "format/ftrace/passed_pages.h"
#include "schema/kernel/origin.h"

/* Pages on each side of the searched page, whose times show if its time is right. */
#define NEIGHBOURS 4u
/* Items per run: a page of 4 KB holds at most 340 of the shortest real events. */
#define RUN_MAX 384
/* Of a page's head, up to its first record: 16 bytes. */
#define PAGE_HEAD_MAX 64

/* The last event of a page, with its payload. */
struct held_item {
    struct item item;
    uint8_t *payload;
    uint32_t room;
};

struct ftrace_cpu {
    struct source source;
    struct ftrace_instance *instance;
    struct page_feed *feed;
    int cpu;
    int result; /* what next() returns once there is nothing more: 0 or the error */
    bool finished;
    bool dry;       /* no page is there yet */
    bool is_open;   /* nothing of it follows, though the recording went on (struct item) */
    bool lost_sync; /* the next page is to be looked for, from `damage` bytes on */
    size_t damage;
    uint64_t sync_time; /* of the last page but garbled ones; 0: none yet */
    bool in_page;       /* `page` has records left */
    struct ftrace_page page;
    const uint8_t *page_start;
    size_t page_size;     /* bytes of it that are there */
    uint64_t page_offset; /* of the page in its file */
    int64_t seek_time;    /* no item before it is needed; INT64_MIN: all are */
    int64_t last_time;    /* of the last event lent, or TIME_UNKNOWN */
    int64_t begin,
        end; /* of its first page and its last event, found before; TIME_UNKNOWN: not known */
    struct passed_pages earlier;
    struct held_item held[2]; /* the one before is lent */
    unsigned next_held;
    bool has_held;
    struct arena made;   /* payloads of events that have their fields with them, of this run */
    struct text scratch; /* of the last of them */
    unsigned n_put;      /* the first of the items was held */
    unsigned n_items;
    struct item items[RUN_MAX];
};

int ftrace_instance_new(struct catalogue *catalogue, const struct origin *origin,
                        struct kernel_events *events, const struct ftrace_layout *layout,
                        bool keep_going, struct ftrace_instance **ret_instance)
{
    struct ftrace_instance *instance = malloc(sizeof *instance);
    struct kernel_origin *copy = arena_alloc(&catalogue->arena, sizeof *copy);

    if (!instance || !copy || catalogue_list_origin(catalogue, &copy->origin) < 0) {
        free(instance);
        kernel_events_unref(events);
        return -ENOMEM;
    }
    kernel_origin_init(copy, origin, events);
    *instance = (struct ftrace_instance){
        .n_refs = 1,
        .events = events,
        .layout = *layout,
        .origin = &copy->origin,
        .keep_going = keep_going,
        .ends = CPU_ENDS_NONE,
    };
    *ret_instance = instance;
    return 0;
}

void ftrace_instance_unref(struct ftrace_instance *instance)
{
    if (!instance || --instance->n_refs > 0)
        return;
    kernel_events_end_lookback(instance->events, &instance->earlier);
    kernel_events_unref(instance->events);
    free(instance);
}

void ftrace_instance_set_times(struct ftrace_instance *instance, const struct ftrace_times *times)
{
    instance->times = times;
}

static inline int64_t time_of(const struct ftrace_cpu *cpu, uint64_t time)
{
    return ftrace_cpu_time(cpu->instance, cpu->cpu, time);
}

static int64_t known_time(const struct ftrace_cpu *cpu, uint64_t time)
{
    return time == 0 ? TIME_UNKNOWN : time_of(cpu, time);
}

static struct item *add_item(struct ftrace_cpu *cpu)
{
    return &cpu->items[cpu->n_items++];
}

static void add_loss(struct ftrace_cpu *cpu, enum loss_cause cause, int64_t time, uint64_t lost,
                     uint64_t skipped)
{
    *add_item(cpu) = (struct item){
        .kind = ITEM_LOSS,
        .cause = cause,
        .time = time,
        .origin = cpu->instance->origin,
        .lost = lost,
        .since = cpu->last_time,
        .cpu = cpu->cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .skipped = (uint32_t)MIN(skipped, UINT32_MAX),
        .is_open = cpu->is_open,
    };
    if (cause == LOSS_DROPPED)
        cpu->last_time = time;
}

static int64_t tail_time(const struct ftrace_cpu *cpu)
{
    return cpu->last_time == TIME_UNKNOWN ? time_of(cpu, cpu->page.time) : cpu->last_time;
}

/* A loss of unknown size after the last event. */
static void add_tail(struct ftrace_cpu *cpu, enum loss_cause cause, uint64_t skipped)
{
    add_loss(cpu, cause, tail_time(cpu), LOST_UNKNOWN, skipped);
}

static void add_unreadable(struct ftrace_cpu *cpu, uint64_t skipped)
{
    add_tail(cpu, LOSS_UNREADABLE, skipped);
}

/* Whether the data of the CPU end before the recording did is what these say, never the last event, as a CPU may be idle:
 *  - its file is shorter than the recorder, or the table of the file, says, or has fewer events;
 *  - it cannot be read on from here, and reading does not go on after it;
 *  - the recorder was killed, or stopped writing before its end (feed->is_unfinished). */
static void end_early(struct ftrace_cpu *cpu, enum loss_cause cause)
{
    if (cpu->is_open)
        return;
    cpu->is_open = true;
    if (cpu->feed->lacks > 0)
        add_loss(cpu, LOSS_DROPPED, tail_time(cpu), cpu->feed->lacks, 0);
    else
        add_tail(cpu, cause, 0);
}

/* The current page is damaged from AT on: ends the source, or continues with the next page. */
static void page_damaged(struct ftrace_cpu *cpu, const uint8_t *at, const char *what)
{
    size_t from = (size_t)(at - cpu->page_start);

    cpu->in_page = false;
    cpu->is_open |= cpu->page_size < cpu->instance->layout.size || !cpu->instance->keep_going;
    if (!cpu->instance->keep_going) {
        cpu->finished = true;
        add_unreadable(cpu, cpu->page_size - from);
        cpu->result =
            error_at(&cpu->source.error, -EBADMSG, cpu->feed->path, cpu->page_offset + from,
                     "%s; --keep-going continues after it", what);
        return;
    }
    /* What points into the page must be lent before it is gone. */
    if (cpu->feed->resync) {
        cpu->lost_sync = true;
        cpu->damage = from;
        return;
    }
    add_unreadable(cpu, cpu->page_size - from);
}

/* Goes on at the next page that can be found. */
static void find_sync(struct ftrace_cpu *cpu)
{
    uint64_t skipped;
    int r;

    cpu->lost_sync = false;
    passed_pages_drop(&cpu->earlier);
    r = cpu->feed->resync(cpu->feed, cpu->damage, cpu->sync_time, &skipped, &cpu->source.error);
    if (r < 0) {
        cpu->finished = true;
        cpu->result = r;
        return;
    }
    add_unreadable(cpu, skipped);
}

static void next_page(struct ftrace_cpu *cpu)
{
    const struct ftrace_layout *layout = &cpu->instance->layout;
    const char *what;
    bool is_late;
    int r;

    r = cpu->feed->next(cpu->feed, &cpu->page_start, &cpu->page_size, &cpu->page_offset,
                        &cpu->source.error);
    if (r == -EAGAIN) {
        cpu->dry = true;
        return;
    }
    if (r <= 0) {
        cpu->finished = true;
        cpu->result = r;
        if (cpu->feed->is_cut || (r < 0 && !error_is_shortage(r)))
            end_early(cpu, LOSS_UNREADABLE);
        else if (cpu->feed->is_unfinished)
            end_early(cpu, LOSS_DROPPED);
        return;
    }
    cpu->earlier.n_since++;
    r = ftrace_page_open(&cpu->page, layout, cpu->page_start, cpu->page_size, &what);
    if (r < 0) {
        page_damaged(cpu, cpu->page_start, what);
        return;
    }
    /* Records of a garbled page may have any time, and so may a page whose own time is out of order. */
    if (cpu->instance->keep_going &&
        (cpu->sync_time == 0 ||
         ftrace_page_seems_to_begin(layout, cpu->page_start, cpu->page_size, cpu->sync_time)))
        cpu->sync_time = cpu->page.time;
    is_late = cpu->feed->is_late && cpu->page_offset == 0;
    /* Pages may lack between any two: then what it did from one to the next is unknown. */
    if (cpu->feed->lacks > 0 && !cpu->page.missed && cpu->last_time != TIME_UNKNOWN)
        add_loss(cpu, LOSS_DROPPED, time_of(cpu, cpu->page.time), 0, 0);
    if (cpu->page.missed || is_late)
        add_loss(cpu, LOSS_DROPPED, time_of(cpu, cpu->page.time),
                 cpu->page.count_known && !is_late ? cpu->page.n_missed : LOST_UNKNOWN, 0);
    cpu->in_page = true;
}

/* When page NUMBER from the next one on begins. 0, or a negative errno: it cannot be said; with ERROR, it cannot be read. */
static int read_page_begin(const struct ftrace_cpu *cpu, uint64_t number, int64_t *ret_time,
                           struct error *error)
{
    const struct ftrace_layout *layout = &cpu->instance->layout;
    uint8_t header[64];
    int r;

    if (layout->data > sizeof header)
        return -EINVAL;
    r = cpu->feed->peek(cpu->feed, number, header, layout->data, error);
    if (r == 0 && !ftrace_page_is_plausible(layout, header, layout->data))
        r = -EBADMSG;
    if (r == 0)
        *ret_time = time_of(cpu, load_u64_swap(header, layout->swap));
    return r;
}

static int page_begin(const struct ftrace_cpu *cpu, uint64_t number, int64_t *ret_time)
{
    struct error error = {0};

    return read_page_begin(cpu, number, ret_time, &error);
}

/* The last item of a page is lent when the next page is known, which may say that events were lost in between. */
static void hold_last(struct ftrace_cpu *cpu)
{
    struct held_item *held = &cpu->held[cpu->next_held];
    uint8_t *payload = held->payload;
    const struct item *item;

    if (cpu->n_items <= cpu->n_put || cpu->has_held)
        return;
    item = &cpu->items[cpu->n_items - 1];
    if (item->kind != ITEM_EVENT) {
        if (cpu->n_items > 1)
            cpu->items[cpu->n_items - 2].before_loss = true;
        held->item = *item;
        cpu->n_items--;
        cpu->has_held = true;
        return;
    }
    if (item->size > held->room) {
        payload = realloc(payload, item->size);
        if (!payload)
            return;
        held->payload = payload;
        held->room = item->size;
    }
    if (item->size > 0)
        memcpy(payload, item->payload, item->size);
    held->item = *item;
    held->item.payload = payload;
    cpu->n_items--;
    cpu->has_held = true;
}

/* As the first of a run. */
static void put_held(struct ftrace_cpu *cpu)
{
    if (!cpu->has_held)
        return;
    *add_item(cpu) = cpu->held[cpu->next_held].item;
    cpu->n_put = 1;
    cpu->has_held = false;
    cpu->next_held ^= 1;
}

/* Whether item NUMBER of the run is a loss; beyond its last one, whether find_sync() begins the next run with one. */
static bool is_loss(const struct ftrace_cpu *cpu, unsigned number)
{
    return number < cpu->n_items ? cpu->items[number].kind == ITEM_LOSS
                                 : cpu->lost_sync && !cpu->has_held;
}

/* Whether nothing follows, though other CPUs go on which were recorded for longer. */
static bool ends_before_others(const struct ftrace_cpu *cpu)
{
    const struct ftrace_instance *instance = cpu->instance;

    return cpu->finished && !cpu->has_held && cpu->end != TIME_UNKNOWN &&
           cpu->end < instance->ends.last_end && !origin_is_recorded_to_end(instance->origin);
}

/* Marks the item before item NUMBER, if that is a loss. */
static void note_loss(struct ftrace_cpu *cpu, unsigned number)
{
    if (number > 0 && number <= cpu->n_items && is_loss(cpu, number))
        cpu->items[number - 1].before_loss = true;
}

/* Where the record of ITEM begins in the page. */
static const uint8_t *record_of(const struct ftrace_cpu *cpu, const struct item *item)
{
    return item->reader_word ? cpu->page_start + item->reader_word : item->payload;
}

/* Turns ITEM, an event that has its fields with it, into one of its own class. False: memory is out. */
static _cold_ bool decode_own(struct ftrace_cpu *cpu, struct item *item)
{
    struct text *made = &cpu->scratch;
    size_t at = (size_t)(item->payload - cpu->page_start);

    made->next = made->start;
    item->class =
        kernel_events_decode(cpu->instance->events, item->class, item->payload, item->size, made);
    if (!item->class || text_len(made) == 0)
        return item->class;
    item->payload = arena_memdup(&cpu->made, made->start, text_len(made));
    item->size = (uint32_t)text_len(made);
    item->reader_word = (uint32_t)at;
    return item->payload;
}

/* Checks the items from FIRST on, which are events of a page that is damaged at AT. Drops the first item whose time is
 * not between the begin of this page and the begin of the next page, and all items after it. Returns where the damage
 * begins. */
static _cold_ const uint8_t *drop_misdated(struct ftrace_cpu *cpu, unsigned first,
                                           const uint8_t *at)
{
    int64_t begin = time_of(cpu, load_u64_swap(cpu->page_start, cpu->instance->layout.swap));
    int64_t next;

    if (!cpu->feed->peek || page_begin(cpu, 0, &next) < 0 || next < begin)
        return at;
    for (unsigned i = first; i < cpu->n_items; i++) {
        if (cpu->items[i].time >= begin && cpu->items[i].time <= next)
            continue;
        at = record_of(cpu, &cpu->items[i]) - sizeof(uint32_t);
        cpu->n_items = i;
    }
    return at;
}

/* Turns records of the present page into items, as many as fit. LAYOUT has the byte order. */
static inline __attribute__((always_inline)) void walk_records(struct ftrace_cpu *cpu,
                                                               const struct ftrace_layout *layout)
{
    struct kernel_events *events = cpu->instance->events;
    const struct kernel_common common = *kernel_events_common(events);
    struct ftrace_page page = cpu->page;
    struct item *item = cpu->items + cpu->n_items;
    const unsigned first = cpu->n_items;
    const int64_t last_time = cpu->last_time;
    /* One place is kept free for what page_damaged() may add. */
    const struct item *end = cpu->items + RUN_MAX - 1;
    struct ftrace_record record;
    bool failed = false;
    int r = 1;

    for (; item < end; item++) {
        const struct event_class *class;

        r = ftrace_page_next(&page, layout, &record);
        if (unlikely(r <= 0))
            break;
        if (unlikely(record.size < common.size)) {
            r = -EBADMSG;
            page.next = record.data - 4;
            break;
        }
        class = kernel_events_class(events,
                                    load_u16_swap(record.data + common.type_offset, layout->swap));
        if (unlikely(!class)) {
            r = kernel_events_error(events);
            failed = true;
            break;
        }
        item->time = time_of(cpu, record.time);
        item->origin = cpu->instance->origin;
        item->class = class;
        item->payload = record.data;
        item->size = record.size;
        item->reader_word = 0;
        item->cpu = cpu->cpu;
        item->pid = likely(common.pid_offset != KERNEL_NO_OFFSET)
                        ? (int32_t)load_u32_swap(record.data + common.pid_offset, layout->swap)
                        : PID_UNKNOWN;
        item->vcpu = VCPU_UNKNOWN;
        item->skipped = 0;
        item->kind = ITEM_EVENT;
        item->before_loss = false;
        item->reader_byte = 0;
        item->error_ns = 0;
        if (class->task_data) {
            if (likely(!kernel_class_is_open(class))) {
                kernel_events_learn_tasks(events, class, record.data, record.size);
            } else if (!decode_own(cpu, item)) {
                r = -ENOMEM;
                failed = true;
                break;
            }
        }
    }

    if (item > cpu->items + cpu->n_items && item[-1].kind == ITEM_EVENT)
        cpu->last_time = item[-1].time;
    cpu->n_items = (unsigned)(item - cpu->items);
    cpu->page = page;
    if (r == 1)
        return;
    if (r == 0 && page.cut) {
        page_damaged(cpu, page.end, "the file ends inside a page");
    } else if (r == 0) {
        cpu->in_page = false;
        hold_last(cpu);
    } else if (failed) {
        cpu->finished = true;
        cpu->result = error_set(&cpu->source.error, r, cpu->feed->path,
                                r == -ENOMEM ? "%s" : "cannot read the format of an event: %s",
                                error_text(r));
    } else {
        const uint8_t *at = drop_misdated(cpu, first, page.next);

        cpu->last_time = cpu->n_items > first ? cpu->items[cpu->n_items - 1].time : last_time;
        page_damaged(cpu, at,
                     page.cut ? "the file ends inside a record"
                     : at != page.next
                         ? "the time of a record does not match its page, which is damaged"
                         : "a record does not fit into its page");
    }
}

static _hot_ void walk_page(struct ftrace_cpu *cpu)
{
    /* Almost all: a copy of the code without the questions. */
    static const struct ftrace_layout native = {.swap = false, .big_endian = false};
    const struct ftrace_layout *layout = &cpu->instance->layout;

    if (likely(!layout->swap && !layout->big_endian))
        walk_records(cpu, &native);
    else
        walk_records(cpu, layout);
}

/* The number of the N pages that begin before TIME; all earlier pages end before it. Also 0 if an examined page is
 * damaged or out of order, so that no other page can be trusted. */
static uint64_t count_before(const struct ftrace_cpu *cpu, uint64_t n, int64_t time)
{
    uint64_t low = 0, high = n;
    int64_t first, last, at, before = INT64_MIN;

    if (n == 0 || page_begin(cpu, 0, &first) < 0 || page_begin(cpu, n - 1, &last) < 0)
        return 0;
    /* Pages before `low` begin before TIME, and the last of them at `first` or later; those from `high` on do not. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (page_begin(cpu, middle, &at) < 0 || at < first || at > last)
            return 0;
        if (at < time) {
            low = middle + 1;
            first = at;
        } else {
            high = middle;
            last = at;
        }
    }
    /* The times that were looked at rise; a wrong one among them is before those beside it, or after them. */
    for (uint64_t page = low > NEIGHBOURS ? low - NEIGHBOURS : 0; page < MIN(low + NEIGHBOURS, n);
         page++) {
        if (page_begin(cpu, page, &at) < 0 || at < before || (at < time) != (page < low))
            return 0;
        before = at;
    }
    return low;
}

/* Goes on at the last page that begins before `seek_time`, if that is not this one. Where that is not certain, reading goes
 * on as before. */
static void seek(struct ftrace_cpu *cpu)
{
    int64_t time = cpu->seek_time;
    struct error error = {0};
    uint64_t n;

    cpu->seek_time = INT64_MIN;
    if (cpu->lost_sync || !cpu->feed->left)
        return;
    n = count_before(cpu, cpu->feed->left(cpu->feed), time);
    if (n == 0 || cpu->feed->skip(cpu->feed, n - 1, &error) < 0)
        return;
    passed_pages_pass(&cpu->earlier, n - 1);
    cpu->in_page = cpu->has_held = false;
    cpu->last_time = TIME_UNKNOWN;
}

static void cpu_seek(struct source *source, int64_t time)
{
    struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);

    cpu->seek_time = time;
    kernel_events_forget_tasks(cpu->instance->events);
}

static int cpu_next(struct source *source, const struct item **ret_items)
{
    struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);

    cpu->n_items = cpu->n_put = 0;
    arena_done(&cpu->made);
    cpu->dry = false;
    if (unlikely(cpu->seek_time != INT64_MIN))
        seek(cpu);
    put_held(cpu);
    /* What is lent points into one page, so a run ends with its page. */
    for (;;) {
        if ((cpu->finished || cpu->dry) && cpu->n_items > 0)
            break;
        if (cpu->finished)
            return cpu->result;
        if (cpu->dry)
            return -EAGAIN;
        if (cpu->lost_sync)
            find_sync(cpu);
        else if (!cpu->in_page)
            next_page(cpu);
        if (cpu->in_page)
            walk_page(cpu);
        if (cpu->n_items > cpu->n_put || (cpu->has_held && cpu->n_put > 0))
            break;
        put_held(cpu);
    }
    /* Losses are beside the ends of what a page has. */
    note_loss(cpu, cpu->n_put);
    note_loss(cpu, cpu->n_items - 1);
    note_loss(cpu, cpu->n_items);
    if (unlikely(ends_before_others(cpu)) && cpu->items[cpu->n_items - 1].kind == ITEM_EVENT)
        cpu->items[cpu->n_items - 1].before_loss = true;
    *ret_items = cpu->items;
    return (int)cpu->n_items;
}

static void cpu_free(struct source *source)
{
    struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);

    for (unsigned i = 0; i < ARRAY_SIZE(cpu->held); i++)
        free(cpu->held[i].payload);
    passed_pages_done(&cpu->earlier);
    arena_done(&cpu->made);
    text_done(&cpu->scratch);
    cpu->feed->free(cpu->feed);
    ftrace_instance_unref(cpu->instance);
    free(cpu);
}

static void cpu_facts(const struct source *source,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);
    const struct ftrace_layout *layout = &cpu->instance->layout;
    char value[32];

    snprintf(value, sizeof value, "%u bytes", layout->size);
    put(arg, "page", value);
    snprintf(value, sizeof value, "%u-bit, %s-endian", layout->long_size * 8,
             layout->big_endian ? "big" : "little");
    put(arg, "kernel", value);
}

static void cpu_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);

    *ret_done = cpu->feed->done;
    *ret_total = cpu->feed->total;
}

static const char *cpu_hint(const struct source *source)
{
    const struct ftrace_cpu *cpu = container_of(source, struct ftrace_cpu, source);
    struct ftrace_instance *instance = cpu->instance;
    const char *hint = kernel_events_hint(instance->events);
    int len;

    if (instance->first != source || !instance->reports_outlier)
        return instance->first == source ? hint : NULL;
    len =
        snprintf(instance->hint, sizeof instance->hint, "%s%s", hint ? hint : "", hint ? "; " : "");
    if (len < 0 || (size_t)len >= sizeof instance->hint ||
        !cpu_ends_report_outlier(&instance->ends, &instance->origin->clock, instance->hint + len,
                                 sizeof instance->hint - (size_t)len))
        return hint;
    return instance->hint;
}

/* True if the first page begins at TIME after the next two, which begin in order from SECOND on. Its events are lost. */
static bool is_first_damaged(const struct ftrace_cpu *cpu, int64_t time, int64_t second)
{
    int64_t third;

    return second != TIME_UNKNOWN && time > second && cpu->feed->peek &&
           cpu->feed->left(cpu->feed) >= 3 && page_begin(cpu, 2, &third) == 0 && third >= second &&
           third < time;
}

/* SECOND: when its second page begins; TIME_UNKNOWN: there is none. */
static void note_begin_at(struct ftrace_cpu *cpu, uint64_t begin, int64_t second,
                          bool is_after_loss)
{
    struct origin *origin = cpu->instance->origin;
    int64_t time = time_of(cpu, MIN(begin, (uint64_t)INT64_MAX));

    cpu->begin = time;
    cpu_ends_note_begin(&cpu->instance->ends, cpu->cpu, time, second);
    if (is_first_damaged(cpu, time, second)) {
        time = second;
        is_after_loss = true;
    }
    origin->last_begin = MAX(origin->last_begin, time);
    if (cpu->feed->is_cut || is_after_loss)
        origin->lost_begin = MAX(origin->lost_begin, time);
}

/* A page could not be read, by R; without ERROR, the page is cut, which reading finds. */
static void note_failed_peek(struct ftrace_cpu *cpu, int r, const struct error *error)
{
    if (!error->code)
        return;
    cpu->source.error = *error;
    cpu->result = r;
    cpu->finished = true;
}

/* When the CPU begins. A buffer that went round has lost what came before its first page, and a file that is shorter than the
 * recorder wrote may have. */
static void note_begin(struct ftrace_cpu *cpu)
{
    struct ftrace_instance *instance = cpu->instance;
    struct error error = {0};
    uint8_t head[PAGE_HEAD_MAX];
    int64_t second;
    int r;

    if (!cpu->feed->peek && cpu->feed->begin != 0) {
        note_begin_at(cpu, cpu->feed->begin, known_time(cpu, cpu->feed->second_begin),
                      cpu->feed->begins_after_loss);
        return;
    }
    if (!cpu->feed->peek || instance->layout.data > sizeof head || cpu->feed->left(cpu->feed) == 0)
        return;
    r = cpu->feed->peek(cpu->feed, 0, head, instance->layout.data, &error);
    if (r < 0) {
        note_failed_peek(cpu, r, &error);
        return;
    }
    if (cpu->feed->left(cpu->feed) < 2 || read_page_begin(cpu, 1, &second, &error) < 0)
        second = TIME_UNKNOWN;
    note_failed_peek(cpu, error.code, &error);
    note_begin_at(cpu, load_u64_swap(head, instance->layout.swap), second,
                  cpu->feed->is_late || ftrace_page_is_after_loss(&instance->layout, head));
}

/* INNER: when its last but one page ends; TIME_UNKNOWN: there is none. */
static void note_end_at(struct ftrace_cpu *cpu, int64_t end, int64_t inner)
{
    cpu->end = end;
    cpu_ends_note_end(&cpu->instance->ends, cpu->cpu, cpu->begin, end, inner);
}

void ftrace_instance_judge_ends(struct ftrace_instance *instance)
{
    instance->origin->ends_apart |= cpu_ends_are_apart(&instance->ends);
}

/* When page NUMBER from the next one on ends, which BYTES have room for. 1; 0: it is damaged; or a negative errno. */
static int page_end(const struct ftrace_cpu *cpu, uint64_t number, uint8_t *bytes, int64_t *ret,
                    struct error *error)
{
    const struct ftrace_layout *layout = &cpu->instance->layout;
    struct ftrace_page page;
    const char *what;
    uint64_t n = 0;
    int r = cpu->feed->peek(cpu->feed, number, bytes, layout->size, error);

    if (r < 0)
        return r;
    if (ftrace_page_open(&page, layout, bytes, layout->size, &what) < 0)
        return 0;
    (void)ftrace_page_count(&page, layout, &n);
    *ret = time_of(cpu, page.time);
    return 1;
}

/* When the CPU ends: after that, others may be recorded alone. 0, -ENOMEM. */
static int note_end(struct ftrace_cpu *cpu)
{
    const struct ftrace_layout *layout = &cpu->instance->layout;
    struct error error = {0};
    _cleanup_free_ uint8_t *bytes = NULL;
    int64_t end, inner;
    uint64_t n;
    int r;

    cpu->end = TIME_UNKNOWN;
    if (!cpu->feed->peek) {
        if (cpu->feed->end != 0)
            note_end_at(cpu, time_of(cpu, cpu->feed->end), known_time(cpu, cpu->feed->inner_end));
        return 0;
    }
    n = cpu->finished ? 0 : cpu->feed->left(cpu->feed);
    if (n == 0)
        return 0;
    bytes = malloc(layout->size);
    if (!bytes)
        return -ENOMEM;
    r = page_end(cpu, n - 1, bytes, &end, &error);
    if (r > 0 && (n < 2 || page_end(cpu, n - 2, bytes, &inner, &error) <= 0))
        inner = TIME_UNKNOWN;
    if (r > 0)
        note_end_at(cpu, end, inner);
    note_failed_peek(cpu, error.code, &error);
    return 0;
}

int ftrace_cpu_open(struct ftrace_instance *instance, int cpu_number, struct page_feed *feed,
                    struct source **ret_source)
{
    static const struct source_ops ops = {
        .next = cpu_next,
        .free = cpu_free,
        .seek = cpu_seek,
        .facts = cpu_facts,
        .progress = cpu_progress,
        .hint = cpu_hint,
    };
    struct ftrace_cpu *cpu = calloc(1, sizeof *cpu);

    if (!cpu) {
        feed->free(feed);
        return -ENOMEM;
    }
    cpu->source.ops = &ops;
    if (!instance->first)
        instance->first = &cpu->source;
    cpu->source.ordered = true;
    cpu->source.skips = feed->peek != NULL;
    cpu->instance = instance;
    instance->n_refs++;
    cpu->feed = feed;
    cpu->cpu = cpu_number;
    cpu->scratch = TEXT_IN_MEMORY;
    cpu->seek_time = INT64_MIN;
    cpu->last_time = cpu->begin = TIME_UNKNOWN;
    cpu->page.time = instance->begin;
    passed_pages_init(&cpu->earlier, instance, feed, cpu_number);
    error_clear(&cpu->source.error);
    note_begin(cpu);
    if (note_end(cpu) < 0) {
        source_free(&cpu->source);
        return -ENOMEM;
    }
    *ret_source = &cpu->source;
    return 0;
}
