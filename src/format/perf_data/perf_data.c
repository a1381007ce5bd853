/* SPDX-License-Identifier: MIT */
#include "format/perf_data/perf_data.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cpu_set.h"
#include "base/macro.h"
#include "format/perf_data/reader.h"

static struct perf_data *of(struct source *source)
{
    return container_of(source, struct perf_data, source);
}

static const struct perf_data *of_const(const struct source *source)
{
    return const_container_of(source, struct perf_data, source);
}

/* ---- Reading ---- */

/* The records cannot be read on from here: ends the source, or goes on where there are some again. */
static int records_damaged(struct perf_data *perf, int err, const char *what)
{
    uint64_t skipped, offset = input_offset(&perf->in);
    int found;

    if (err != -EBADMSG) {
        perf->at_end = true;
        perf->result = error_set(&perf->source.error, err, perf->path, "%s", error_text(err));
        return 0;
    }
    found = perf->keep_going || perf->is_unfinished ? perf_record_resync(perf, &skipped) : 0;
    /* perf was killed: the last record need not be whole. */
    if (found == 0 && perf->is_unfinished && perf->in.ended) {
        perf->at_end = true;
        return 0;
    }
    perf->at_end = perf->ends_inside = found == 0;
    if (!perf->keep_going) {
        /* What follows is not read: of each CPU, it is unknown. */
        perf->result = error_at(&perf->source.error, err, perf->path, offset,
                                "%s; --keep-going continues after it", what);
        perf->at_end = perf->ends_inside = true;
        return perf->first_time != INT64_MAX ? perf_handle_damage(perf, 0) : 0;
    }
    return perf_handle_damage(perf, skipped);
}

/* Up to when items can be lent at the end of a round. The last event of a CPU waits for the next record of the CPU, as this may say
 * that events between them were lost. Not in a pipe, where that record may come late, and not where too much would wait. */
static int64_t limit_of_round(const struct perf_data *perf)
{
    int64_t limit = perf->next_limit;

    if (!perf->in.seekable || order_held(perf->order) > PERF_DATA_WAITING_MAX)
        return limit;
    for (unsigned i = 1; i < perf->n_cpus; i++) {
        const struct perf_cpu *cpu = &perf->cpus[i];

        if (cpu->held && cpu->last > perf->lent)
            limit = MIN(limit, cpu->last - 1);
    }
    return MAX(limit, perf->limit);
}

/* Reads the next record. */
static int read_record(struct perf_data *perf)
{
    struct perf_record record;
    const char *what = "";
    int r = 1;

    if (perf->has_pending)
        record = perf->pending;
    else
        r = perf_record_next(perf, &record, &what);
    perf->has_pending = false;
    if (r > 0 && record.type == RECORD_FINISHED_ROUND) {
        perf->limit = limit_of_round(perf);
        perf->next_limit = perf->max_time;
        return perf_settle_step_before(perf, perf->limit);
    }
    if (r > 0) {
        r = perf_header_record(perf, &record, &what);
        if (r >= 0)
            return r > 0 ? 0 : perf_handle_record(perf, &record);
    }
    if (r == 0)
        perf->at_end = true;
    return r < 0 ? records_damaged(perf, r, what) : 0;
}

/* Reads until there may be something to lend. */
static int read_on(struct perf_data *perf)
{
    int64_t limit = perf->limit;
    int r = 0;

    while (r == 0 && !perf->at_end && perf->limit == limit) {
        r = read_record(perf);
        if (unlikely(order_held(perf->order) > PERF_DATA_HELD_MAX)) {
            int64_t oldest = order_oldest(perf->order), youngest = order_youngest(perf->order);

            perf->limit = oldest + (int64_t)(((uint64_t)youngest - (uint64_t)oldest) / 2);
            break;
        }
    }
    if (r == 0 && perf->at_end)
        r = perf_settle_last_step(perf);
    if (r == 0 && perf->at_end) {
        r = perf->result == 0 || perf->ends_inside ? perf_handle_end(perf) : 0;
        perf->limit = INT64_MAX;
    }
    return r;
}

/* Carries out what is not to be lent, and gives the others what depends on it. Returns how many are left. */
static int finish_items(struct perf_data *perf, unsigned n)
{
    unsigned kept = 0;
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++) {
        struct item *item = &perf->items[i];

        if (likely(item->kind == ITEM_EVENT)) {
            item->comm = perf_tasks_comm(&perf->tasks, item->pid);
            if (item->class->task_data)
                kernel_events_learn_tasks(perf->events, item->class, item->payload, item->size);
        } else if (item->kind == ITEM_PERF_COMM) {
            r = perf_tasks_set(&perf->tasks, item->pid, (const char *)item->payload, item->size);
            continue;
        } else if (item->kind == ITEM_PERF_FORK) {
            r = perf_tasks_fork(&perf->tasks, item->pid, (int32_t)load_u32(item->payload));
            continue;
        }
        if (kept < i)
            perf->items[kept] = *item;
        kept++;
    }
    return r < 0 ? r : (int)kept;
}

/* What is lent is in order, but for items that come later than the rounds promise, or than all could be held. */
static void count_late(struct perf_data *perf, unsigned n)
{
    for (unsigned i = 0; i < n && unlikely(perf->items[i].time < perf->lent); i++)
        perf->n_late++;
    perf->lent = MAX(perf->lent, perf->items[n - 1].time);
}

static int perf_next(struct source *source, const struct item **ret_items)
{
    struct perf_data *perf = of(source);
    int r;

    for (;;) {
        unsigned n = order_take(perf->order, perf->limit, perf->items, PERF_RUN_MAX);

        if (n > 0) {
            r = finish_items(perf, n);
            if (r > 0) {
                count_late(perf, (unsigned)r);
                break;
            }
        } else if (perf->at_end) {
            return perf->result;
        } else {
            r = read_on(perf);
        }
        if (r < 0) {
            perf->at_end = true;
            perf->result = error_set(&source->error, r, perf->path, "%s", error_text(r));
            return perf->result;
        }
    }
    *ret_items = perf->items;
    return r;
}

static void perf_seek(struct source *source, int64_t time)
{
    of(source)->seek_time = time;
}

static void perf_free(struct source *source)
{
    struct perf_data *perf = of(source);

    order_free(perf->order);
    text_done(&perf->made);
    text_done(&perf->skipped_body);
    text_done(&perf->step_body);
    perf_tasks_done(&perf->tasks);
    perf_unpack_free(perf->unpack);
    kernel_events_unref(perf->events);
    perf_attrs_done(&perf->attrs);
    free(perf->cpus);
    input_done(&perf->in);
    free(perf->path);
    free(perf);
}

/* ---- What is known besides the events ---- */

static void put_if(void (*put)(void *arg, const char *key, const char *value), void *arg,
                   const char *key, const char *value)
{
    if (value && *value)
        put(arg, key, value);
}

/* The time of day at a moment of the clock. */
static void put_time_of_day(const struct perf_data *perf,
                            void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    time_t seconds = (time_t)(perf->features.wall_ns / NANOSECONDS);
    char value[96];
    struct tm tm;
    size_t n;

    if (perf->features.clockid == PERF_ATTR_CLOCKID_NONE || perf->features.wall_ns == 0 ||
        !gmtime_r(&seconds, &tm))
        return;
    n = strftime(value, sizeof value, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(value + n, sizeof value - n, ".%09" PRIu64 " UTC at %" PRIu64 ".%09" PRIu64,
             perf->features.wall_ns % NANOSECONDS, perf->features.clock_ns / NANOSECONDS,
             perf->features.clock_ns % NANOSECONDS);
    put(arg, "time of day", value);
}

static void perf_facts(const struct source *source,
                       void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct perf_data *perf = of_const(source);
    const struct perf_features *features = &perf->features;
    char value[256];

    put_if(put, arg, "perf", features->version);
    snprintf(value, sizeof value, "%s%s%s", features->osrelease ? features->osrelease : "",
             features->osrelease && features->arch ? ", " : "",
             features->arch ? features->arch : "");
    put_if(put, arg, "kernel", value);
    put_if(put, arg, "cpu", features->cpudesc);
    put_if(put, arg, "cpu id", features->cpuid);
    if (features->total_mem_kb > 0) {
        snprintf(value, sizeof value, "%" PRIu64 " MB", features->total_mem_kb / 1024);
        put(arg, "memory", value);
    }
    put_if(put, arg, "command line", features->cmdline);
    put_time_of_day(perf, put, arg);
    if (perf->unpack)
        put(arg, "compression", "zstd");
    if (perf->is_unfinished)
        put(arg, "complete", "no, perf did not finish");
    if (perf->lacks_end)
        put(arg, "complete", "no, perf did not finish");
    if (perf->is_cut)
        put(arg, "complete", "no, the file was cut");
}

static void perf_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct perf_data *perf = of_const(source);

    *ret_done = input_offset(&perf->in);
    *ret_total = perf->in.size == UINT64_MAX ? 0 : perf->in.size;
}

/* A sentence of the hint. */
_printf_(2, 3) static void say(struct perf_data *perf, const char *format, ...)
{
    size_t n = strlen(perf->hint);
    va_list args;

    if (n > 0 && n + 2 < sizeof perf->hint) {
        memcpy(perf->hint + n, "; ", 3);
        n += 2;
    }
    va_start(args, format);
    vsnprintf(perf->hint + n, sizeof perf->hint - n, format, args);
    va_end(args);
}

static const char *perf_hint(const struct source *source)
{
    struct perf_data *perf = of((struct source *)(uintptr_t)source);
    const char *formats = kernel_events_hint(perf->events);
    char text[256];

    perf->hint[0] = '\0';
    if (formats)
        say(perf, "%s", formats);
    if (perf->is_unfinished)
        say(perf, "perf did not finish the file, so it has no formats of tracepoints");
    if (perf->lacks_end)
        say(perf, "perf lost events and did not finish the stream: more may be missing");
    if (perf->is_cut)
        say(perf, "the file was cut, and lacks %s",
            perf->has_no_formats ? "the formats of tracepoints" : "a part of what describes it");
    if (perf->n_unrecorded)
        say(perf, "perf did not record %u of the %u CPUs: what they did is unknown",
            perf->n_unrecorded, perf->features.n_cpus);
    if (perf->is_sampled)
        say(perf, "perf sampled tracepoints (-F, or -c above 1): most of their events are not in "
                  "the file, "
                  "so that what happened is unknown");
    if (perf->attrs.has_threads)
        say(perf, "perf recorded only certain threads: what these and others did meanwhile is "
                  "unknown; perf record -a "
                  "records all");
    if (perf->n_throttled)
        say(perf,
            "the kernel throttled sampling, so samples are missing (%" PRIu64
            " times); record with a lower frequency (-F)",
            perf->n_throttled);
    if (perf->n_stray)
        say(perf,
            "events with a time far from those around them are damaged and count as lost (%" PRIu64
            ")",
            perf->n_stray);
    if (cpu_ends_report_outlier(&perf->ends, &perf->origin->kernel.origin.clock, text, sizeof text))
        say(perf, "%s", text);
    if (perf->no_times)
        say(perf, "samples have no times: perf record ran with --no-timestamp");
    if (perf->aux_bytes || perf->features.has_aux)
        say(perf, "its AUX area traces (%" PRIu64 " bytes) are not read; perf script decodes them",
            perf->aux_bytes);
    if (perf->features.is_directory)
        say(perf, "it is of a directory that perf record --threads wrote; only this file is read");
    if (perf->n_not_leaders)
        say(perf,
            "of groups that are sampled by their leader (:S), only the leader is shown, and not "
            "%" PRIu64 " values of the others",
            perf->n_not_leaders);
    if (perf->n_unclear)
        say(perf, "%" PRIu64 " records are damaged, or of no event that the file names",
            perf->n_unclear);
    if (perf->n_unknown)
        say(perf, "%" PRIu64 " records are of types that are not known", perf->n_unknown);
    if (perf->n_late)
        say(perf, "events came too late to be put in order, and are where they came (%" PRIu64 ")",
            perf->n_late);
    return perf->hint[0] ? perf->hint : NULL;
}

/* ---- Opening ---- */

static int no_format(struct kernel_formats *formats, uint16_t id, struct kernel_format *ret)
{
    (void)formats, (void)id, (void)ret;
    return -ENOENT;
}

static int no_kallsyms(struct kernel_formats *formats, char **ret_text, size_t *ret_len)
{
    (void)formats, (void)ret_text, (void)ret_len;
    return -ENOENT;
}

static void free_formats(struct kernel_formats *formats)
{
    free(formats);
}

/* Creates the events of an unknown kernel. -ENOMEM. */
static int make_events(struct perf_data *perf)
{
    const struct kernel_facts facts = {
        .swap = perf->swap, .big_endian = perf->big_endian, .long_size = 8};
    struct kernel_formats *formats = malloc(sizeof *formats);

    if (!formats)
        return -ENOMEM;
    *formats =
        (struct kernel_formats){.format = no_format, .kallsyms = no_kallsyms, .free = free_formats};
    return kernel_events_new(perf->catalogue, &facts, formats, &perf->events);
}

static struct clock find_clock(const struct perf_data *perf)
{
    /* The names are the same as for ftrace's clocks. */
    static const struct {
        int32_t id;
        const char *name;
    } clocks[] = {{0, "realtime"}, {1, "monotonic"}, {4, "mono_raw"}, {7, "boot"}, {11, "tai"}};
    struct clock clock = {"perf", NANOSECONDS};

    for (unsigned i = 0; i < perf->attrs.n; i++) {
        int32_t id = perf->attrs.list[i]->clockid;

        if (id == PERF_ATTR_CLOCKID_NONE)
            continue;
        clock.name = "unknown";
        for (size_t k = 0; k < ARRAY_SIZE(clocks); k++)
            if (clocks[k].id == id)
                clock.name = clocks[k].name;
        break;
    }
    return clock;
}

/* What the counters count in, a bit for each: as by `perf kvm`, whose --host and --guest are both. */
enum { COUNTS_IN_HOST = 1, COUNTS_IN_GUESTS = 2 };

static unsigned counted_in(const struct perf_data *perf)
{
    unsigned all = 0;

    for (unsigned i = 0; i < perf->attrs.n; i++) {
        const struct perf_attr *attr = perf->attrs.list[i];

        /* A dummy is there for the records of tasks. */
        if (attr->type == EVENT_SOFTWARE && attr->config == 9)
            continue;
        /* Tracepoints are of the kernel that records, also where `perf kvm` sets these bits, and the kernel's own counters
         * count in it. */
        if (attr->type == EVENT_TRACEPOINT || attr->type == EVENT_SOFTWARE ||
            !(attr->flags & ATTR_EXCLUDE_HOST))
            all |= COUNTS_IN_HOST;
        if (attr->type != EVENT_TRACEPOINT && !(attr->flags & ATTR_EXCLUDE_GUEST))
            all |= COUNTS_IN_GUESTS;
    }
    return all;
}

static const char *task_name(const struct origin *origin, int32_t pid)
{
    struct perf_origin *own = container_of(origin, struct perf_origin, kernel.origin);
    const char *name =
        perf_tasks_name(&own->reader->tasks, perf_tasks_comm(&own->reader->tasks, pid));

    return name ? name : kernel_events_task(own->kernel.events, pid);
}

static const char *comm(const struct origin *origin, uint32_t number)
{
    const struct perf_origin *own = const_container_of(origin, struct perf_origin, kernel.origin);

    return perf_tasks_name(&own->reader->tasks, number);
}

/* NULL: out of memory. */
static struct perf_origin *make_origin(struct perf_data *perf, enum layer layer)
{
    struct arena *arena = &perf->catalogue->arena;
    struct origin origin = {
        .lost_uncounted = perf->features.is_directory || perf->is_unfinished,
        .layer = layer,
        .format = "perf.data",
        .path = arena_strdup(arena, perf->path),
        .clock = find_clock(perf),
        .n_cpus = perf->features.n_cpus,
    };
    struct perf_origin *made = arena_alloc(arena, sizeof *made);

    if (perf->features.hostname && *perf->features.hostname) {
        origin.host_name = arena_strdup(arena, perf->features.hostname);
        if (!origin.host_name)
            return NULL;
    }
    if (!made || !origin.path)
        return NULL;
    kernel_origin_init(&made->kernel, &origin, perf->events);
    made->kernel.origin.task_name = task_name;
    made->kernel.origin.comm = comm;
    made->reader = perf;
    return catalogue_list_origin(perf->catalogue, &made->kernel.origin) < 0 ? NULL : made;
}

/* Samples in guests have an origin of their own, if there are others. */
static int make_origins(struct perf_data *perf)
{
    unsigned in = counted_in(perf);

    perf->origin = make_origin(perf, in == COUNTS_IN_GUESTS ? LAYER_GUEST : LAYER_HOST);
    if (!perf->origin)
        return -ENOMEM;
    if (in == (COUNTS_IN_HOST | COUNTS_IN_GUESTS)) {
        perf->guest = make_origin(perf, LAYER_GUEST);
        if (!perf->guest)
            return -ENOMEM;
        perf->guest->kernel.origin.kernel = NULL; /* the formats are of the host's kernel */
        return 0;
    }
    perf->guest = in == COUNTS_IN_GUESTS ? perf->origin : NULL;
    return 0;
}

static int open_reader(struct input *in, const char *name, struct catalogue *catalogue,
                       const struct reader_options *options, struct source **ret_source,
                       struct error *error)
{
    static const struct source_ops ops = {
        .next = perf_next,
        .free = perf_free,
        .seek = perf_seek,
        .facts = perf_facts,
        .progress = perf_progress,
        .hint = perf_hint,
    };
    struct perf_data *perf = calloc(1, sizeof *perf);
    int r;

    if (!perf) {
        input_done(in);
        return error_set(error, -ENOMEM, name, "out of memory");
    }
    perf->source = (struct source){.ops = &ops, .ordered = true, .tells_losses_late = true};
    perf->in = *in;
    perf->made = perf->skipped_body = perf->step_body = TEXT_IN_MEMORY;
    perf->catalogue = catalogue;
    perf->keep_going = options->keep_going;
    perf->features.clockid = PERF_ATTR_CLOCKID_NONE;
    perf->ends = CPU_ENDS_NONE;
    perf->max_time = perf->limit = perf->next_limit = perf->lent = TIME_UNKNOWN;
    perf->first_time = INT64_MAX;
    perf->seek_time = INT64_MIN;
    perf->path = strdup(name);
    r = perf->path ? perf_header_read(perf, error) : -ENOMEM;
    if (r >= 0 && perf->features.has_counts)
        r = error_set(error, -ENOTSUP, name,
                      "it is of perf stat record, and holds counts, not events; perf stat report "
                      "shows them");
    if (r >= 0 && !perf->events)
        r = make_events(perf);
    if (r >= 0)
        r = make_origins(perf);
    if (r >= 0)
        r = order_new(&perf->order);
    if (r < 0) {
        perf_free(&perf->source);
        return error_set(error, r, name, "%s", error_text(r));
    }
    *ret_source = &perf->source;
    return 0;
}

/* ---- What was overwritten ---- */

/* The latest time at which the data of one of its CPUs begin; 0: of one CPU at most, or none. */
static int64_t find_last_begin(struct source *source, unsigned n_cpus)
{
    struct cpu_set seen = {0};
    const struct item *items;
    int64_t begin = 0;
    int n;

    while ((n_cpus == 0 || cpu_set_count(&seen) < n_cpus) && (n = source_next(source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            if (items[i].kind != ITEM_EVENT || (uint32_t)items[i].cpu >= CPU_SET_MAX ||
                cpu_set_has(&seen, (uint32_t)items[i].cpu))
                continue;
            cpu_set_add(&seen, (uint32_t)items[i].cpu);
            begin = MAX(begin, items[i].time);
        }
    return cpu_set_count(&seen) > 1 ? begin : 0;
}

/* With --overwrite, perf kept the end of what it had of each CPU: the file is read once before to find where these begin. */
static void note_overwritten(struct perf_data *perf, const struct reader_options *options)
{
    struct catalogue catalogue = {0};
    struct error error = {0};
    struct source *source;
    struct input in;

    perf->origin->kernel.origin.lost_uncounted = true;
    if (!perf->in.seekable || perf->in.fd < 0 ||
        input_open(&in, perf->in.path, perf->in.capacity, &error) < 0)
        return;
    if (open_reader(&in, perf->path, &catalogue, options, &source, &error) >= 0) {
        perf->origin->kernel.origin.lost_begin = find_last_begin(source, perf->features.n_cpus);
        source_free(source);
    }
    catalogue_done(&catalogue);
}

int perf_data_open(struct input *in, const char *name, struct catalogue *catalogue,
                   const struct reader_options *options, struct source **ret_source,
                   struct error *error)
{
    int r = open_reader(in, name, catalogue, options, ret_source, error);
    struct perf_data *perf;

    if (r < 0)
        return r;
    perf = of(*ret_source);
    for (unsigned i = 0; i < perf->attrs.n; i++)
        if (perf->attrs.list[i]->flags & ATTR_WRITE_BACKWARD) {
            note_overwritten(perf, options);
            break;
        }
    return 0;
}
