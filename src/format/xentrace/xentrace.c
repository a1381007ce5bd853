/* SPDX-License-Identifier: MIT */
#include "format/xentrace/xentrace.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/reopen_cache.h"
#include "base/spool.h"
#include "format/xentrace/class.h"
#include "format/xentrace/seek.h"
#include "format/xentrace/vendor.h"
#include "format/xentrace/windows.h"

/* What all cpus' buffers and runs of items may take together. */
#define BUFFERS_TOTAL ((size_t)16 << 20)
#define ITEMS_TOTAL ((size_t)8 << 20)
#define BUFFER_MAX ((size_t)128 * 1024)
#define BUFFER_MIN ((size_t)2048)
#define RUN_MAX 512
#define RUN_MIN 16

/* What the sources of one file share. */
struct xentrace {
    unsigned references;
    unsigned reading; /* sources that are not at their end */
    struct input in;
    struct xentrace_options options;
    bool is_vendor_guessed; /* options.cpu is, by the records */
    struct xentrace_windows windows;
    struct xentrace_classes classes;
};

struct cpu_source {
    struct source source;
    struct xentrace *x;
    uint16_t cpu;
    bool first;      /* reports the facts of the file */
    bool is_missing; /* it was recorded, and has no window */
    bool ended;
    int error;

    struct xentrace_cursor cursor;
    uint64_t done;       /* bytes of windows read */
    uint64_t at;         /* in the file, of what of the window is not in the buffer yet */
    uint32_t left;       /* bytes of that */
    bool cut;            /* the file ends before the window */
    uint64_t buf_offset; /* of the buffer in the file */
    size_t next;
    size_t filled;
    size_t capacity;
    uint8_t *buf;

    int64_t time; /* of the last record with a cycle count; before, of the next; or TIME_UNKNOWN */
    bool stamped; /* there was a record with a cycle count */
    uint64_t timeless; /* up to here in the file no record has one */
    int32_t vcpu;
    bool follows;      /* the trace has records that say which vCPU runs */
    bool loss_pending; /* to be lent before the next record */
    bool is_open;      /* nothing of the CPU follows it */
    int32_t loss_cpu;
    uint64_t loss_skipped;
    uint64_t lost_at_end; /* to be lent as the last one */
    int64_t seek_time;    /* no record before it is needed; INT64_MIN: all are */

    unsigned run;
    struct item *items;
};

static struct cpu_source *cpu_source(struct source *source)
{
    return container_of(source, struct cpu_source, source);
}

static void x_unref(struct xentrace *x)
{
    if (--x->references > 0)
        return;
    xentrace_windows_done(&x->windows);
    xentrace_classes_done(&x->classes);
    input_done(&x->in);
    free(x);
}

static void cpu_free(struct source *source)
{
    struct cpu_source *s = cpu_source(source);

    if (!s->ended)
        s->x->reading--;
    x_unref(s->x);
    free(s->buf);
    free(s->items);
    free(s);
}

static void note_damage(struct cpu_source *s, int32_t cpu, uint64_t bytes)
{
    s->loss_cpu = s->loss_pending && s->loss_cpu != cpu ? CPU_UNKNOWN : cpu;
    s->loss_pending = true;
    s->loss_skipped += bytes;
}

/* The file offset of the next unread byte. */
static uint64_t offset(const struct cpu_source *s)
{
    return s->buf_offset + s->next;
}

/* The window cannot be read on from here. With keep_going its rest is left out. */
static int damage(struct cpu_source *s, const char *what, uint32_t header)
{
    if (!s->x->options.reader.keep_going) {
        s->error = -EBADMSG;
        return error_at(&s->source.error, -EBADMSG, s->x->in.path, offset(s),
                        "%s (its first word is 0x%08" PRIx32
                        "); --keep-going leaves out the rest of this window",
                        what, header);
    }
    note_damage(s, s->cpu, s->filled - s->next + s->left);
    s->done += s->left;
    s->left = 0;
    s->next = s->filled;
    return 0;
}

/* Whether the file ends early, and reading goes on up to there. The CPUs' last windows end at different times, and what
 * followed is missing of each. */
static bool is_cut(const struct xentrace *x)
{
    return (x->windows.cut || x->windows.skipped_last) &&
           (x->options.reader.keep_going || x->options.unfinished);
}

/* The last source that ends reports a break of the chain. */
static int end_of_chain(struct cpu_source *s)
{
    struct xentrace *x = s->x;

    s->ended = true;
    if (is_cut(x) || s->is_missing) {
        note_damage(s, s->cpu, 0);
        s->is_open = true;
    }
    if (--x->reading > 0)
        return 0;
    s->lost_at_end = x->options.lost_at_end;
    if (x->windows.skipped_last)
        note_damage(s, CPU_UNKNOWN, x->windows.skipped_last);
    if (x->windows.cut && x->options.unfinished) {
        /* Within a window: its CPU's source has reported it. */
        if (x->windows.cut_head)
            note_damage(s, CPU_UNKNOWN, x->windows.cut_head);
    } else if (x->windows.error.code) {
        s->source.error = x->windows.error;
        s->error = x->windows.error.code;
    }
    return s->error;
}

/* 1: there is a window; 0: the end. */
static int next_window(struct cpu_source *s)
{
    struct xentrace_window window;
    int r = xentrace_windows_next(&s->x->windows, &s->cursor, s->cpu, &window, &s->source.error);

    if (r < 0) {
        s->error = r;
        return r;
    }
    if (r == 0)
        return end_of_chain(s);
    if (window.skipped)
        note_damage(s, CPU_UNKNOWN, window.skipped);
    s->at = window.offset;
    s->left = window.size;
    s->cut = window.cut;
    s->buf_offset = window.offset;
    s->next = s->filled = 0;
    return 1;
}

/* Reads more of the window, after the bytes that are unread. */
static int load(struct cpu_source *s)
{
    size_t unread = s->filled - s->next;
    size_t n = MIN(s->capacity - unread, (size_t)s->left);
    int64_t r;

    memmove(s->buf, s->buf + s->next, unread);
    s->buf_offset += s->next;
    s->next = 0;
    s->filled = unread;
    r = xentrace_windows_read(&s->x->windows, s->at, s->buf + unread, n, &s->source.error);
    if (r >= 0 && (size_t)r < n)
        r = error_at(&s->source.error, -EIO, s->x->in.path, s->at + (uint64_t)r,
                     "the file became shorter while it was read");
    if (r < 0) {
        s->error = (int)r;
        return s->error;
    }
    s->filled += n;
    s->at += n;
    s->left -= (uint32_t)n;
    s->done += n;
    return 0;
}

/* The first cycle count among the records in the buffer, for those before it that have none. A
 * trace of classes without times has none at all: what was looked through once is not again. */
static int64_t first_time(struct cpu_source *s)
{
    size_t at = s->next;

    if (offset(s) < s->timeless)
        return TIME_UNKNOWN;
    while (s->filled - at >= 12) {
        uint32_t header = load_le32(s->buf + at);
        uint64_t tsc = load_le64(s->buf + at + 4);

        if (!xentrace_header_plausible(header))
            break;
        if (xentrace_has_tsc(header)) {
            if (tsc > INT64_MAX)
                break;
            return (int64_t)tsc;
        }
        if (xentrace_record_size(header) > s->filled - at)
            break;
        at += xentrace_record_size(header);
    }
    s->timeless = s->buf_offset + at;
    return TIME_UNKNOWN;
}

static void put_damage_loss(struct cpu_source *s, int64_t until, struct item *item)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = LOSS_UNREADABLE,
        .origin = s->x->classes.origin,
        .time = until,
        .since = s->time,
        .lost = LOST_UNKNOWN,
        .cpu = s->loss_cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .skipped = (uint32_t)MIN(s->loss_skipped, (uint64_t)UINT32_MAX),
        .is_open = s->is_open,
    };
    s->loss_pending = false;
    s->loss_skipped = 0;
    /* What ran meanwhile is not known. */
    s->vcpu = VCPU_UNKNOWN;
}

/* Whether a record between AT and the next loss says which vCPU runs, as far as the buffer goes. */
static bool will_follow(const struct cpu_source *s, const uint8_t *at)
{
    const uint8_t *end = s->buf + s->filled;

    while (end - at >= 4) {
        uint32_t header = load_le32(at);

        if (!xentrace_header_plausible(header) || xentrace_event(header) == XEN_LOST_RECORDS ||
            xentrace_record_size(header) > (size_t)(end - at))
            return false;
        if (xentrace_tells_vcpu(header))
            return true;
        at += xentrace_record_size(header);
    }
    return false;
}

/* LOST_RECORDS says what runs now: the domain in the low half, unlike everywhere else. What was lost comes after the CPU's
 * record at LAST, whatever the time that it states of the first lost one. */
static void put_loss(struct cpu_source *s, int64_t last, const uint8_t *p, unsigned words,
                     struct item *item)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = LOSS_DROPPED,
        .origin = s->x->classes.origin,
        .time = s->time,
        .since = last,
        .lost = words >= 1 ? load_le32(p) : LOST_UNKNOWN,
        .cpu = s->cpu,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };
    if (words >= 4 && s->time != TIME_UNKNOWN && load_le64(p + 8) <= (uint64_t)s->time)
        item->since = MAX(last, (int64_t)load_le64(p + 8));
    s->vcpu = VCPU_UNKNOWN;
    /* Without other such records, nothing would say when that vCPU stops running. */
    if (words >= 2 && (s->follows || will_follow(s, p + 4 * (size_t)words)))
        s->vcpu = xentrace_vcpu(load_le32(p + 4) << 16 | load_le32(p + 4) >> 16);
}

/* Which CPUs lost them is not known. */
static void put_last_loss(struct cpu_source *s, struct item *item)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = LOSS_DROPPED,
        .origin = s->x->classes.origin,
        .time = s->time,
        .since = s->time,
        .lost = s->lost_at_end,
        .cpu = CPU_UNKNOWN,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };
    s->lost_at_end = 0;
}

/* An event with WORDS, of KNOWN, at s->time. Hypercalls have a class by their words. 0, -ENOMEM. */
static inline int put_event(struct cpu_source *s, struct item *item,
                            const struct xentrace_known *known, uint32_t header,
                            const uint8_t *words)
{
    *item = (struct item){
        .time = s->time,
        .origin = s->x->classes.origin,
        .class = known->class,
        .payload = words,
        .size = 4 * xentrace_words(header),
        .reader_word = xentrace_event(header),
        .cpu = s->cpu,
        .pid = PID_UNKNOWN,
        .vcpu = s->vcpu,
        .kind = ITEM_EVENT,
    };
    if (known->tracks == TRACKS_CALL) {
        item->class = xentrace_call(&s->x->classes, known, load_le32(words));
        if (unlikely(!item->class))
            return -ENOMEM;
    } else if (known->tracks) {
        s->follows = true;
        xentrace_track_vcpu(known->tracks, item, &s->vcpu);
    }
    return 0;
}

/* Converts the records in the buffer to items, from item N on. Returns the number of items. *RET_STOP: set if the data
 * at s->next is not a record; says why. */
_hot_ static unsigned read_records(struct cpu_source *s, unsigned n, const char **ret_stop)
{
    struct xentrace *x = s->x;
    const uint8_t *p = s->buf + s->next;
    const uint8_t *end = s->buf + s->filled;

    *ret_stop = NULL;
    /* Two places are kept: one record can bring a loss with it. */
    while (n + 2 <= s->run && end - p >= 4) {
        uint32_t header = load_le32(p);
        uint32_t size = xentrace_record_size(header);
        const uint8_t *words = p + 4;
        const struct xentrace_known *known;
        struct item *item = &s->items[n];
        int64_t last;

        /* Most: an event with a time, of a class that was met before. */
        known = xentrace_class_known(&x->classes, header);
        if (likely(known && xentrace_has_tsc(header) && size <= (size_t)(end - p) &&
                   load_le64(words) <= INT64_MAX && !s->loss_pending)) {
            s->time = (int64_t)load_le64(words);
            s->stamped = true;
            if (unlikely(put_event(s, item, known, header, words + 8) < 0)) {
                *ret_stop = "";
                break;
            }
            n++;
            p += size;
            continue;
        }

        last = s->stamped ? s->time : TIME_UNKNOWN;
        s->next = (size_t)(p - s->buf);
        if (size > (size_t)(end - p))
            break;
        if (unlikely(!xentrace_header_plausible(header))) {
            *ret_stop = "not a trace record";
            break;
        }
        if (xentrace_has_tsc(header)) {
            uint64_t tsc = load_le64(words);
            if (unlikely(tsc > INT64_MAX)) {
                *ret_stop = "a record here has an impossible time";
                break;
            }
            if (unlikely(s->loss_pending))
                put_damage_loss(s, (int64_t)tsc, &s->items[n++]);
            s->time = (int64_t)tsc;
            s->stamped = true;
            words += 8;
        } else {
            if (unlikely(s->time == TIME_UNKNOWN))
                s->time = first_time(s);
            if (unlikely(s->loss_pending))
                put_damage_loss(s, s->time, &s->items[n++]);
        }

        item = &s->items[n];
        if (unlikely((header & 0x0ffff000) == XEN_CLASS_GEN)) {
            uint32_t event = xentrace_event(header);
            if (event == XEN_CPU_CHANGE) {
                *ret_stop = "a window begins before the previous one ends";
                break;
            }
            if (event == XEN_LOST_RECORDS && n > 0)
                s->items[n - 1].before_loss = true;
            if (event == XEN_LOST_RECORDS)
                put_loss(s, last, words, xentrace_words(header), &s->items[n++]);
            if (event == XEN_LOST_RECORDS || event == XEN_WRAP_BUFFER) {
                p += size;
                continue;
            }
        }

        known = xentrace_class(&x->classes, header);
        if (unlikely(!known)) {
            *ret_stop = "";
            break;
        }
        if (unlikely(put_event(s, item, known, header, words) < 0)) {
            *ret_stop = "";
            break;
        }
        n++;
        p += size;
    }
    s->next = (size_t)(p - s->buf);
    return n;
}

/* Goes on at a window before `seek_time`, as far as that is certain. */
static _cold_ void seek(struct cpu_source *s)
{
    const struct xentrace_rest rest = {offset(s), (uint32_t)(s->filled - s->next) + s->left};
    int64_t time = s->seek_time;
    int r;

    s->seek_time = INT64_MIN;
    if (s->error || s->ended)
        return;
    r = xentrace_seek(&s->x->windows, s->cpu, time, &rest, s->follows, &s->cursor,
                      &s->source.error);
    if (r < 0)
        s->error = r;
    if (r <= 0)
        return;
    s->next = s->filled = 0;
    s->left = 0;
    s->cut = false;
    s->time = TIME_UNKNOWN;
    s->stamped = false;
    s->vcpu = VCPU_UNKNOWN;
}

static void cpu_seek(struct source *source, int64_t time)
{
    cpu_source(source)->seek_time = time;
}

/* Whether the next record of the CPU is a loss, or there is none, and others may go on: the CPU is recorded up to here only. Mostly a loss is the
 * first record of a window: Xen reports what it had no room for when there is room again. */
static bool loss_follows(struct cpu_source *s)
{
    struct xentrace_cursor cursor = s->cursor;
    struct xentrace_window window;
    struct error error = {0};
    uint8_t header[4];

    if (s->loss_pending)
        return true;
    if (s->error)
        return false;
    if (s->next < s->filled) {
        size_t unread = s->filled - s->next;
        uint32_t next = unread >= sizeof header ? load_le32(s->buf + s->next) : 0;

        if (unread >= sizeof header && xentrace_event(next) == XEN_LOST_RECORDS)
            return true;
        return s->cut && s->left == 0 && is_cut(s->x) &&
               (unread < sizeof header || xentrace_record_size(next) > unread);
    }
    if (s->left == 0) {
        if (xentrace_windows_next(&s->x->windows, &cursor, s->cpu, &window, &error) <= 0)
            return is_cut(s->x) ||
                   (s->x->reading > 1 && !origin_is_recorded_to_end(s->x->classes.origin));
        return window.begins_lost;
    }
    return xentrace_windows_read(&s->x->windows, s->at, header, sizeof header, &error) ==
               (int64_t)sizeof header &&
           xentrace_event(load_le32(header)) == XEN_LOST_RECORDS;
}

static int cpu_next(struct source *source, const struct item **ret_items)
{
    struct cpu_source *s = cpu_source(source);
    unsigned n = 0;

    if (unlikely(s->seek_time != INT64_MIN))
        seek(s);
    while (!s->error) {
        const char *stop;

        n = read_records(s, n, &stop);
        if (n + 2 > s->run)
            break;
        if (stop) {
            /* What is in the buffer is good up to here. */
            if (n > 0 && !s->x->options.reader.keep_going)
                break;
            if (!*stop)
                s->error = error_set(&s->source.error, -ENOMEM, s->x->in.path, "out of memory");
            else
                damage(s, stop, load_le32(s->buf + s->next));
            continue;
        }
        if (s->left > 0) {
            /* Reading on would overwrite the payloads that are lent. */
            if (n > 0)
                break;
            load(s);
            continue;
        }
        if (s->next < s->filled) {
            if (n > 0)
                break;
            if (s->cut && s->x->options.unfinished) {
                note_damage(s, s->cpu, s->filled - s->next);
                s->next = s->filled;
            } else if (s->cut && !s->x->options.reader.keep_going) {
                s->next = s->filled; /* end_of_chain() reports it */
            } else if (s->filled - s->next < 4)
                damage(s, "a window ends within a record", 0);
            else
                damage(s, "a record crosses the end of its window", load_le32(s->buf + s->next));
            continue;
        }
        if (n > 0)
            break;
        /* All that is there of the last window was read, but some of it is not there. */
        if (s->cut && (s->x->options.reader.keep_going || s->x->options.unfinished))
            note_damage(s, s->cpu, 0);
        s->cut = false;
        if (s->ended || next_window(s) <= 0) {
            if (s->loss_pending)
                put_damage_loss(s, s->time, &s->items[n++]);
            if (s->lost_at_end)
                put_last_loss(s, &s->items[n++]);
            break;
        }
    }
    if (n == 0)
        return s->error;
    s->items[n - 1].before_loss = loss_follows(s);
    *ret_items = s->items;
    return (int)n;
}

static void cpu_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct cpu_source *s = container_of(source, struct cpu_source, source);

    *ret_done = s->done;
    *ret_total = s->x->windows.cpu_bytes[s->cpu];
}

static void cpu_facts(const struct source *source,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct cpu_source *s = container_of(source, struct cpu_source, source);
    const struct xentrace *x = s->x;
    char number[64];

    if (!s->first)
        return;
    snprintf(number, sizeof number, "%" PRIu64, x->windows.n_windows);
    put(arg, "windows", number);
    if (x->windows.big_endian)
        put(arg, "byte order", "big-endian");
    if (x->options.cpu_hz) {
        snprintf(number, sizeof number, "%" PRIu64, x->options.cpu_hz);
        put(arg, "cpu-hz", number);
    }
    if (x->classes.version) {
        snprintf(number, sizeof number, "%u.%u%s", x->classes.version / 100,
                 x->classes.version % 100, x->options.version ? "" : " or later");
        put(arg, "xen", number);
    }
    if (x->is_vendor_guessed)
        put(arg, "cpu vendor",
            x->options.cpu == XEN_CPU_AMD ? "amd, by the reasons of VM exits"
                                          : "intel, by the reasons of VM exits");
}

static const struct source_ops cpu_ops = {
    .next = cpu_next,
    .free = cpu_free,
    .facts = cpu_facts,
    .progress = cpu_progress,
    .seek = cpu_seek,
};

/* In a file without any window, it is unknown since when a CPU is missing. */
static bool is_missing(const struct xentrace *x, unsigned cpu)
{
    return x->options.recorded && x->windows.n_windows > 0 && !x->windows.cpu_present[cpu] &&
           cpu_set_has(x->options.recorded, cpu);
}

static struct source *open_cpu(struct xentrace *x, uint16_t cpu, unsigned n_cpus)
{
    struct cpu_source *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->capacity = MAX(MIN(BUFFERS_TOTAL / n_cpus / 4 * 4, BUFFER_MAX), BUFFER_MIN); /* words */
    s->run = (unsigned)MAX(MIN(ITEMS_TOTAL / n_cpus / sizeof *s->items, (size_t)RUN_MAX),
                           (size_t)RUN_MIN);
    s->buf = malloc(s->capacity);
    s->items = calloc(s->run, sizeof *s->items);
    if (!s->buf || !s->items) {
        free(s->buf);
        free(s->items);
        free(s);
        return NULL;
    }
    s->source.ops = &cpu_ops;
    s->source.skips = true;
    s->x = x;
    s->cpu = cpu;
    s->time = TIME_UNKNOWN;
    s->seek_time = INT64_MIN;
    s->vcpu = VCPU_UNKNOWN;
    s->is_missing = is_missing(x, cpu);
    if (s->is_missing)
        s->time = x->windows.first_begin;
    x->references++;
    x->reading++;
    return &s->source;
}

static int open_cpus(struct xentrace *x, struct source ***ret_sources, unsigned *ret_n)
{
    unsigned n_cpus = 0;
    unsigned n = 0;
    struct source **sources;

    for (unsigned cpu = 0; cpu < XENTRACE_CPUS_MAX; cpu++)
        n_cpus += x->windows.cpu_present[cpu] || is_missing(x, cpu);
    /* A file without any window still has an end, or an error, to report. */
    if (n_cpus == 0) {
        x->windows.cpu_present[0] = true;
        n_cpus = 1;
    }

    sources = calloc(n_cpus, sizeof *sources);
    for (unsigned cpu = 0; sources && cpu < XENTRACE_CPUS_MAX; cpu++) {
        if (!x->windows.cpu_present[cpu] && !is_missing(x, cpu))
            continue;
        sources[n] = open_cpu(x, (uint16_t)cpu, n_cpus);
        if (!sources[n]) {
            while (n > 0)
                source_free(sources[--n]);
            free(sources);
            sources = NULL;
            break;
        }
        n++;
    }
    if (!sources)
        return -ENOMEM;
    container_of(sources[0], struct cpu_source, source)->first = true;
    x->classes.origin->n_cpus = n_cpus;
    x->classes.origin->last_begin = x->windows.last_begin;
    *ret_sources = sources;
    *ret_n = n;
    return 0;
}

static void free_windows(void *thing)
{
    xentrace_windows_done(thing);
    free(thing);
}

/* Gives what was found of the windows to the cache, and borrows it. Nothing is lost where that fails. */
static void share_windows(struct xentrace *x, const char *key)
{
    struct xentrace_windows *copy = malloc(sizeof *copy);

    if (!copy)
        return;
    *copy = x->windows;
    copy->in = NULL;
    if (reopen_cache_put(x->options.cache, key, copy, free_windows) < 0)
        free(copy);
    else
        x->windows.is_borrowed = true;
}

/* The windows from START on, by walking them. */
static int walk_windows(struct xentrace *x, uint64_t start, struct error *error)
{
    const bool keep_going = x->options.reader.keep_going;
    int r = xentrace_windows_open(&x->windows, &x->in, start, keep_going, 0, error);

    return r < 0 ? r : xentrace_find_begins(&x->windows, error);
}

/* The windows from START on: those that an earlier opening of the same file has found, or else by walking it. */
static int open_windows(struct xentrace *x, uint64_t start, struct error *error)
{
    const bool keep_going = x->options.reader.keep_going;
    const struct xentrace_windows *known;
    struct stat st;
    char key[160];
    int r;

    if (!x->options.cache || fstat(x->in.fd, &st) < 0)
        return walk_windows(x, start, error);
    snprintf(key, sizeof key,
             "xentrace windows %ju %ju size %" PRIu64 " from %" PRIu64 " keep-going %d",
             (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, x->in.size, start, keep_going);
    known = reopen_cache_get(x->options.cache, key);
    if (known) {
        xentrace_windows_borrow(&x->windows, known, &x->in);
        return 0;
    }
    r = walk_windows(x, start, error);
    if (r >= 0)
        share_windows(x, key);
    return r;
}

int xentrace_open(struct input *in, const struct xentrace_options *options,
                  struct catalogue *catalogue, struct source ***ret_sources, unsigned *ret_n,
                  struct error *error)
{
    struct xentrace *x = calloc(1, sizeof *x);
    uint64_t start;
    int r;

    if (!x) {
        input_done(in);
        return error_set(error, -ENOMEM, "", "out of memory");
    }
    x->in = *in;
    *in = (struct input){.fd = -1};
    x->references = 1;
    x->options = *options;

    r = spool(&x->in, options->reader.temporary_dir, error);
    if (r < 0)
        goto out;
    start = input_offset(&x->in);
    r = open_windows(x, start, error);
    if (r >= 0 && x->options.cpu == XEN_CPU_UNKNOWN) {
        r = xentrace_guess_vendor(&x->windows, &x->options.cpu, error);
        x->is_vendor_guessed = r >= 0 && x->options.cpu != XEN_CPU_UNKNOWN;
    }
    if (r < 0)
        goto out;
    r = xentrace_classes_open(&x->classes, catalogue, options->table, options->version,
                              x->options.cpu, options->cpu_hz, x->in.path, error);
    if (r < 0)
        goto out;
    r = open_cpus(x, ret_sources, ret_n);
    x->options.recorded = NULL; /* borrowed */
    if (r < 0)
        error_set(error, r, x->in.path, "out of memory");
out:
    x_unref(x);
    return r;
}

unsigned xentrace_source_cpu(const struct source *source)
{
    return container_of(source, struct cpu_source, source)->cpu;
}

bool xentrace_source_is_missing(const struct source *source)
{
    return container_of(source, struct cpu_source, source)->is_missing;
}
