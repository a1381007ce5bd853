/* SPDX-License-Identifier: MIT */
/* What a record says: an event, a loss, the name of a task. */
#include <stdlib.h>
#include <string.h>

#include "base/cpu_set.h"
#include "base/macro.h"
#include "base/saturate.h"
#include "base/ticks.h"
#include "event/kernel.h"
#include "format/perf_data/reader.h"

/* What a record that is not a sample has at its end, as far as it has it. */
struct trailer {
    struct perf_attr *attr; /* or NULL */
    int64_t time;           /* or TIME_UNKNOWN */
    int32_t cpu, tid;
    size_t size; /* of the body before it */
};

static uint32_t get_u32(const struct perf_data *perf, const uint8_t *p)
{
    return load_u32_swap(p, perf->swap);
}

static uint64_t get_u64(const struct perf_data *perf, const uint8_t *p)
{
    return load_u64_swap(p, perf->swap);
}

/* Whether a body of SIZE bytes has N at least; if not, that is counted. */
static bool has_bytes(struct perf_data *perf, size_t size, size_t n)
{
    if (size >= n)
        return true;
    perf->n_unclear++;
    return false;
}

/* What is known of CPU, which may be unknown itself. NULL: out of memory. */
static struct perf_cpu *get_cpu(struct perf_data *perf, int32_t cpu)
{
    unsigned index = cpu < 0 || cpu >= PERF_CPUS_MAX ? 0 : (unsigned)cpu + 1;

    if (unlikely(index >= perf->n_cpus)) {
        unsigned n = MAX(index + 1, MIN(2 * perf->n_cpus, PERF_CPUS_MAX + 1u));
        struct perf_cpu *bigger = realloc(perf->cpus, n * sizeof *bigger);

        if (!bigger)
            return NULL;
        for (unsigned i = perf->n_cpus; i < n; i++)
            bigger[i] = (struct perf_cpu){.last = TIME_UNKNOWN};
        perf->cpus = bigger;
        perf->n_cpus = n;
    }
    return &perf->cpus[index];
}

/* The CPU that event ID counts on, if each CPU has its own. */
static int32_t cpu_of_id(const struct perf_data *perf, uint64_t id)
{
    return (int32_t)(uintptr_t)map_get(&perf->attrs.cpus, id) - 1;
}

/* A time as the record has it; one without is of the time that the file is at. */
static int64_t seen_time(struct perf_data *perf, int64_t time)
{
    if (time == TIME_UNKNOWN)
        return perf->max_time == TIME_UNKNOWN ? 0 : perf->max_time;
    if (time > perf->max_time)
        perf->max_time = time;
    return time;
}

static void read_trailer(struct perf_data *perf, const struct perf_record *record,
                         struct trailer *ret)
{
    struct perf_attr *attr = perf_attrs_of_other(&perf->attrs, record->body, record->size);
    const uint8_t *end = record->body + record->size;

    *ret = (struct trailer){.attr = attr,
                            .time = TIME_UNKNOWN,
                            .cpu = CPU_UNKNOWN,
                            .tid = PID_UNKNOWN,
                            .size = record->size};
    if (!attr || record->size < attr->end_size)
        return;
    ret->size = record->size - attr->end_size;
    if (attr->end_tid != PERF_NOWHERE)
        ret->tid = (int32_t)get_u32(perf, end - attr->end_tid + 4);
    if (attr->end_time != PERF_NOWHERE)
        ret->time = (int64_t)get_u64(perf, end - attr->end_time);
    if (attr->end_cpu != PERF_NOWHERE)
        ret->cpu = (int32_t)get_u32(perf, end - attr->end_cpu);
    else if (attr->end_id != PERF_NOWHERE)
        ret->cpu = cpu_of_id(perf, get_u64(perf, end - attr->end_id));
}

static struct item make_item(const struct perf_data *perf, unsigned kind, int64_t time, int32_t cpu,
                             int32_t pid)
{
    return (struct item){
        .kind = (uint8_t)kind,
        .time = time,
        .origin = &perf->origin->kernel.origin,
        .cpu = cpu,
        .pid = pid,
        .vcpu = VCPU_UNKNOWN,
    };
}

/* ---- Losses ---- */

/* ITEM is a loss of CPU since its last record. */
static int put_loss_item(struct perf_data *perf, struct perf_cpu *cpu, struct item *item)
{
    item->since = cpu->last;
    if (item->cpu >= 0 && cpu->held && cpu->last > perf->lent)
        cpu->held->before_loss = true;
    cpu->held = order_put(perf->order, item, NULL, 0);
    cpu->last = item->time;
    cpu->is_damaged = false;
    return cpu->held ? 0 : -ENOMEM;
}

static struct item make_loss(const struct perf_data *perf, const struct perf_cpu *cpu,
                             enum loss_cause cause, int64_t time, uint64_t lost)
{
    struct item item =
        make_item(perf, ITEM_LOSS, time, (int32_t)(cpu - perf->cpus) - 1, PID_UNKNOWN);

    item.cause = cause;
    item.lost = lost;
    return item;
}

/* What could not be read of CPU, up to TIME. */
static _cold_ int put_damage(struct perf_data *perf, struct perf_cpu *cpu, int64_t time,
                             bool is_open)
{
    struct item item = make_loss(perf, cpu, LOSS_UNREADABLE, time, LOST_UNKNOWN);

    item.skipped = (uint32_t)MIN(perf->skipped, (uint64_t)UINT32_MAX);
    item.is_open = is_open;
    perf->skipped = 0;
    return put_loss_item(perf, cpu, &item);
}

int perf_handle_damage(struct perf_data *perf, uint64_t skipped)
{
    struct perf_cpu *none;
    bool any = false;

    perf->skipped += skipped;
    for (unsigned i = 0; i < perf->n_cpus; i++) {
        perf->cpus[i].is_damaged |= perf->cpus[i].last != TIME_UNKNOWN;
        any |= perf->cpus[i].is_damaged;
    }
    if (any)
        return 0;
    none = get_cpu(perf, CPU_UNKNOWN);
    return none ? put_damage(perf, none, seen_time(perf, TIME_UNKNOWN), false) : -ENOMEM;
}

/* A sample of CPU has a damaged time; the next one has TIME. IS_OPEN: there is none. */
static _cold_ int put_stray(struct perf_data *perf, struct perf_cpu *cpu, int64_t time,
                            bool is_open)
{
    struct item item = make_loss(perf, cpu, LOSS_UNREADABLE, time, 1);

    perf->has_step = false;
    perf->n_stray++;
    item.is_open = is_open;
    return put_loss_item(perf, cpu, &item);
}

/* A record of CPU NUMBER and THREAD has TIME: may tell whether the kept sample is damaged. Another CPU only confirms it. -ENOMEM. */
static int settle_step(struct perf_data *perf, int32_t number, int32_t thread, int64_t time);

static int put_loss(struct perf_data *perf, struct perf_cpu *cpu, int64_t time, uint64_t lost)
{
    struct item item = make_loss(perf, cpu, LOSS_DROPPED, time, lost);
    int r = cpu->is_damaged ? put_damage(perf, cpu, time, false) : 0;

    return r < 0 ? r : put_loss_item(perf, cpu, &item);
}

static int handle_lost(struct perf_data *perf, const struct perf_record *record)
{
    struct perf_cpu *cpu;
    struct trailer trailer;
    uint64_t lost;

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, 16))
        return 0;
    if (trailer.cpu == CPU_UNKNOWN)
        trailer.cpu = cpu_of_id(perf, get_u64(perf, record->body));
    if (unlikely(perf->has_step) && trailer.time != TIME_UNKNOWN &&
        settle_step(perf, trailer.cpu, trailer.tid, trailer.time) < 0)
        return -ENOMEM;
    cpu = get_cpu(perf, trailer.cpu);
    if (!cpu)
        return -ENOMEM;
    lost = get_u64(perf, record->body + 8);
    cpu->lost = add_saturated(cpu->lost, lost);
    perf->has_open_losses |= trailer.attr && trailer.attr->read_format & READ_LOST;
    return put_loss(perf, cpu, seen_time(perf, trailer.time), lost);
}

/* Of an event with a counter of its losses, perf writes this at its end with all of them, also those that a record LOST
 * has reported; of others, the kernel writes it when it has lost some. */
static int handle_lost_samples(struct perf_data *perf, const struct perf_record *record)
{
    struct perf_cpu *cpu;
    struct trailer trailer;
    uint64_t lost;

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, 8))
        return 0;
    lost = get_u64(perf, record->body);
    if (!trailer.attr || !(trailer.attr->read_format & READ_LOST)) {
        cpu = get_cpu(perf, trailer.cpu);
        return cpu ? put_loss(perf, cpu, seen_time(perf, trailer.time), lost) : -ENOMEM;
    }
    /* perf sets nothing in it but the ID. */
    cpu = get_cpu(perf, trailer.attr->end_id == PERF_NOWHERE
                            ? CPU_UNKNOWN
                            : cpu_of_id(perf, get_u64(perf, record->body + record->size -
                                                                trailer.attr->end_id)));
    if (!cpu)
        return -ENOMEM;
    cpu->counted += lost;
    perf->has_open_losses = false;
    return 0;
}

/* From TIME on, what CPU did is unknown. */
static int put_open_loss(struct perf_data *perf, int32_t cpu, int64_t time)
{
    struct perf_cpu *of = get_cpu(perf, cpu);
    struct item item;

    if (!of)
        return -ENOMEM;
    of->last = time;
    item = make_loss(perf, of, LOSS_DROPPED, time, LOST_UNKNOWN);
    item.is_open = true;
    return put_loss_item(perf, of, &item);
}

/* The CPUs that perf was not asked to record, as by -C. Its table of IDs names the others. */
static int put_unrecorded(struct perf_data *perf, int64_t time)
{
    unsigned n = MIN(perf->features.n_cpus, CPU_SET_MAX);
    struct cpu_set recorded = {0};
    size_t iter = 0;
    uint64_t id;
    void *cpu;
    int r = 0;

    if (perf->attrs.has_any_cpu)
        return 0;
    while (map_next(&perf->attrs.cpus, &iter, &id, &cpu))
        if ((uintptr_t)cpu <= n)
            cpu_set_add(&recorded, (uint32_t)((uintptr_t)cpu - 1));
    perf->n_unrecorded = cpu_set_count(&recorded) > 0 ? n - MIN(n, cpu_set_count(&recorded)) : 0;
    for (unsigned i = 0; i < n && r == 0 && perf->n_unrecorded > 0; i++)
        if (!cpu_set_has(&recorded, i))
            r = put_open_loss(perf, (int32_t)i, time);
    return r;
}

/* From the first sample on, at TIME: what perf was asked to leave out. */
static _cold_ int put_left_out(struct perf_data *perf, int64_t time)
{
    unsigned n = MIN(perf->features.n_cpus, CPU_SET_MAX);
    int r = 0;

    for (unsigned i = 0; i < perf->attrs.n; i++)
        perf->is_sampled |= perf->attrs.list[i]->is_sampled;
    perf->origin->kernel.origin.threads_only |= perf->attrs.has_threads;
    if (!perf->is_sampled)
        return put_unrecorded(perf, time);
    if (n == 0)
        return put_open_loss(perf, CPU_UNKNOWN, time);
    for (unsigned i = 0; i < n && r == 0; i++)
        r = put_open_loss(perf, (int32_t)i, time);
    return r;
}

/* The file ends inside a record. CPUs without a record may have had records after that, at times that were not complete
 * when the earlier data was written. */
static _cold_ int put_unseen(struct perf_data *perf)
{
    int64_t since = perf->limit != TIME_UNKNOWN ? perf->limit : perf->first_time;
    unsigned n = MIN(perf->features.n_cpus, PERF_CPUS_MAX);
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++) {
        struct perf_cpu *cpu = get_cpu(perf, (int32_t)i);

        if (!cpu)
            return -ENOMEM;
        if (cpu->last != TIME_UNKNOWN)
            continue;
        cpu->last = since;
        r = put_damage(perf, cpu, MAX(since, perf->lent), true);
    }
    return r;
}

static int handle_sample(struct perf_data *perf, const struct perf_record *record);

/* No event was at or after the time that was sought: the last one says when the trace ends. */
static int put_skipped(struct perf_data *perf)
{
    perf->seek_time = INT64_MIN;
    perf->has_skipped_last = false;
    perf->skipped_last.body = (const uint8_t *)perf->skipped_body.start;
    return handle_sample(perf, &perf->skipped_last);
}

/* perf was killed while it wrote a stream that had lost events. */
static void note_no_end(struct perf_data *perf)
{
    perf->lacks_end = true;
    perf->origin->kernel.origin.lost_uncounted = true;
}

/* Marks the last events of CPUs that end before others. Events that were already returned cannot be marked any more. */
static void note_ends(struct perf_data *perf, int64_t end)
{
    if (origin_is_recorded_to_end(&perf->origin->kernel.origin))
        return;
    for (unsigned i = 1; i < perf->n_cpus; i++) {
        struct perf_cpu *cpu = &perf->cpus[i];

        if (cpu->held && cpu->held->kind == ITEM_EVENT && cpu->last > perf->lent && cpu->last < end)
            cpu->held->before_loss = true;
    }
}

/* Adds what the CPUs counted and did not report otherwise, each by itself, or together, and what has no end. */
int perf_handle_end(struct perf_data *perf)
{
    int64_t end = perf->max_time == TIME_UNKNOWN ? 0 : perf->max_time;
    int r = perf->has_skipped_last ? put_skipped(perf) : 0;
    struct perf_cpu *none = r < 0 ? NULL : get_cpu(perf, CPU_UNKNOWN);
    bool by_cpu;

    if (!none)
        return r < 0 ? r : -ENOMEM;
    if (perf->is_stream && perf->has_open_losses)
        note_no_end(perf);
    by_cpu = none->lost == 0 && none->counted == 0;
    for (unsigned i = 1; i < perf->n_cpus && !by_cpu; i++) {
        none->lost = add_saturated(none->lost, perf->cpus[i].lost);
        none->counted = add_saturated(none->counted, perf->cpus[i].counted);
    }
    for (unsigned i = by_cpu ? 1 : 0; i < (by_cpu ? perf->n_cpus : 1) && r == 0; i++)
        if (perf->cpus[i].counted > perf->cpus[i].lost)
            r = put_loss(perf, &perf->cpus[i], end, perf->cpus[i].counted - perf->cpus[i].lost);
    for (unsigned i = 0; i < perf->n_cpus && r == 0; i++)
        if (perf->cpus[i].is_damaged)
            r = put_damage(perf, &perf->cpus[i], MAX(perf->cpus[i].last, perf->lent), true);
    for (unsigned i = 1; i < perf->n_cpus && r == 0 && perf->is_sampled; i++)
        if (perf->cpus[i].last != TIME_UNKNOWN)
            r = put_open_loss(perf, (int32_t)i - 1, MAX(perf->cpus[i].last, perf->lent));
    if (r == 0)
        note_ends(perf, end);
    return r == 0 && perf->ends_inside && perf->first_time != INT64_MAX ? put_unseen(perf) : r;
}

/* ---- Tasks ---- */

static int handle_comm(struct perf_data *perf, const struct perf_record *record)
{
    struct order_piece name;
    struct trailer trailer;
    struct item item;

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, 8))
        return 0;
    item = make_item(perf, ITEM_PERF_COMM, seen_time(perf, trailer.time), CPU_UNKNOWN,
                     (int32_t)get_u32(perf, record->body + 4));
    name = (struct order_piece){record->body + 8, trailer.size - 8};
    return order_put(perf->order, &item, &name, 1) ? 0 : -ENOMEM;
}

static int handle_fork(struct perf_data *perf, const struct perf_record *record)
{
    struct order_piece piece;
    struct trailer trailer;
    struct item item;
    int32_t parent;

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, 24))
        return 0;
    /* Without a trailer there is still its own time. */
    if (trailer.time == TIME_UNKNOWN)
        trailer.time = (int64_t)get_u64(perf, record->body + 16);
    item = make_item(perf, ITEM_PERF_FORK, seen_time(perf, trailer.time), CPU_UNKNOWN,
                     (int32_t)get_u32(perf, record->body + 8));
    parent = (int32_t)get_u32(perf, record->body + 12);
    piece = (struct order_piece){&parent, sizeof parent};
    return order_put(perf->order, &item, &piece, 1) ? 0 : -ENOMEM;
}

/* ---- What perf itself reports ---- */

static int put_own(struct perf_data *perf, const struct trailer *trailer, enum perf_own_class which,
                   const void *p, size_t size)
{
    const struct order_piece piece = {p, size};
    struct item item =
        make_item(perf, ITEM_EVENT, seen_time(perf, trailer->time), trailer->cpu, trailer->tid);

    /* Between samples, nothing is known before it either. */
    if (unlikely(perf->is_sampled) && item.cpu >= 0) {
        struct perf_cpu *cpu = get_cpu(perf, item.cpu);

        if (!cpu || (cpu->last != TIME_UNKNOWN &&
                     put_loss(perf, cpu, MAX(item.time, cpu->last), LOST_UNKNOWN) < 0))
            return -ENOMEM;
    }
    item.class = perf_class_own(perf, which);
    return item.class && order_put(perf->order, &item, &piece, 1) ? 0 : -ENOMEM;
}

static int handle_throttle(struct perf_data *perf, const struct perf_record *record)
{
    const struct perf_attr *attr;
    struct trailer trailer;
    char name[256] = "";

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, 24))
        return 0;
    if (trailer.time == TIME_UNKNOWN)
        trailer.time = (int64_t)get_u64(perf, record->body);
    attr = perf_attrs_find(&perf->attrs, get_u64(perf, record->body + 8));
    if (attr)
        perf_attr_name(attr, name, sizeof name);
    if (record->type == RECORD_THROTTLE)
        perf->n_throttled++;
    return put_own(perf, &trailer,
                   record->type == RECORD_THROTTLE ? PERF_CLASS_THROTTLE : PERF_CLASS_UNTHROTTLE,
                   name, strlen(name));
}

static int handle_switch(struct perf_data *perf, const struct perf_record *record)
{
    bool wide = record->type == RECORD_SWITCH_CPU_WIDE;
    struct trailer trailer;
    uint8_t payload[12] = {0};

    read_trailer(perf, record, &trailer);
    if (!has_bytes(perf, trailer.size, wide ? 8 : 0))
        return 0;
    payload[0] = (record->misc & MISC_SWITCH_OUT) != 0;
    payload[1] = (record->misc & MISC_SWITCH_OUT_PREEMPT) != 0;
    if (wide) {
        store_u32(payload + 4, get_u32(perf, record->body));
        store_u32(payload + 8, get_u32(perf, record->body + 4));
    }
    return put_own(perf, &trailer, PERF_CLASS_SWITCH, payload, wide ? 12 : 2);
}

/* ---- Samples ---- */

/* Parts of a sample that vary. */
struct parts {
    const uint8_t *chain; /* with the number before it, or NULL */
    size_t chain_size;
    const uint8_t *raw; /* or NULL */
    size_t raw_size;
};

/* Bytes of the values that were read of counters; false: there are fewer. */
static bool skip_read(struct perf_data *perf, const struct perf_attr *attr, const uint8_t **p,
                      const uint8_t *end)
{
    uint64_t format = attr->read_format, n = 1;
    size_t value = 8 + (format & READ_ID ? 8u : 0) + (format & READ_LOST ? 8u : 0);
    size_t times = (format & READ_TIME_ENABLED ? 8u : 0) + (format & READ_TIME_RUNNING ? 8u : 0);

    if (format & READ_GROUP) {
        if (end - *p < 8)
            return false;
        n = get_u64(perf, *p);
        *p += 8;
    }
    if ((size_t)(end - *p) < times || n > ((size_t)(end - *p) - times) / value)
        return false;
    *p += times + (size_t)n * value;
    perf->n_not_leaders += format & READ_GROUP && n > 1 ? n - 1 : 0;
    return true;
}

static bool read_parts(struct perf_data *perf, const struct perf_attr *attr, const uint8_t *p,
                       const uint8_t *end, struct parts *ret)
{
    *ret = (struct parts){0};
    if (attr->sample_type & SAMPLE_READ && !skip_read(perf, attr, &p, end))
        return false;
    if (attr->sample_type & SAMPLE_CALLCHAIN) {
        uint64_t n;

        if (end - p < 8)
            return false;
        n = get_u64(perf, p);
        if (n > (size_t)(end - p - 8) / 8)
            return false;
        ret->chain = p;
        ret->chain_size = 8 + (size_t)n * 8;
        p += ret->chain_size;
    }
    if (attr->sample_type & SAMPLE_RAW) {
        uint32_t size;

        if (end - p < 4)
            return false;
        size = get_u32(perf, p);
        if (size > (size_t)(end - p - 4))
            return false;
        ret->raw = p + 4;
        ret->raw_size = size;
    }
    return true;
}

/* An event that has its fields with it: PARTS gets the payload of its own class. */
static _cold_ const struct event_class *
decode_own(struct perf_data *perf, const struct event_class *class, struct parts *parts)
{
    struct text *made = &perf->made;

    made->next = made->start;
    class = kernel_events_decode(perf->events, class, parts->raw, parts->raw_size, made);
    if (text_len(made) > 0) {
        parts->raw = (const uint8_t *)made->start;
        parts->raw_size = text_len(made);
    }
    return class;
}

/* The class of a tracepoint's samples. */
static _cold_ int make_class(struct perf_data *perf, struct perf_attr *attr)
{
    attr->class = kernel_events_class(perf->events, (uint16_t)attr->config);
    if (!attr->class)
        return kernel_events_error(perf->events);
    attr->is_open = attr->class->task_data && kernel_class_is_open(attr->class);
    return 0;
}

/* Finds the class and the thread of a tracepoint's sample. Returns as find_class(). */
static inline int find_tracepoint(struct perf_data *perf, struct perf_attr *attr,
                                  struct parts *parts, const struct event_class **ret_class,
                                  int32_t *ret_pid)
{
    const struct kernel_common *common = kernel_events_common(perf->events);
    int r;

    if (attr->config > UINT16_MAX || parts->raw_size < common->size)
        return 0;
    if (unlikely(!attr->class)) {
        r = make_class(perf, attr);
        if (r < 0)
            return r;
    }
    *ret_class = attr->class;
    /* The sample's own is the number that the thread has in the container that perf ran in. */
    if (likely(common->pid_offset != KERNEL_NO_OFFSET))
        *ret_pid = (int32_t)get_u32(perf, parts->raw + common->pid_offset);
    if (unlikely(attr->is_open))
        *ret_class = decode_own(perf, attr->class, parts);
    return likely(*ret_class != NULL) ? 1 : kernel_events_error(perf->events);
}

/* Finds the class and the origin. 1; 0: the record is damaged; a negative errno. */
static int find_class(struct perf_data *perf, struct perf_attr *attr, uint8_t cpumode,
                      const struct event_class **ret_class, const struct perf_origin **ret_of)
{
    bool in_guest = perf->guest && (cpumode == MISC_GUEST_KERNEL || cpumode == MISC_GUEST_USER);
    const struct event_class **class = in_guest ? &attr->guest_class : &attr->class;
    const struct perf_origin *of = in_guest ? perf->guest : perf->origin;

    if (unlikely(!*class))
        *class = perf_class_of_samples(perf, attr, of);
    *ret_class = *class;
    *ret_of = of;
    return *class ? 1 : -ENOMEM;
}

/* Keeps RECORD in RET and a copy of its body in BODY, until the next one is kept there. -ENOMEM. */
static int keep_record(const struct perf_record *record, struct text *body, struct perf_record *ret)
{
    body->next = body->start;
    text_put(body, (const char *)record->body, record->size);
    if (body->error)
        return body->error;
    *ret = *record;
    return 0;
}

/* Keeps the sample RECORD, which is not needed unless none follows. -ENOMEM. */
static int keep_skipped(struct perf_data *perf, const struct perf_record *record)
{
    int r = keep_record(record, &perf->skipped_body, &perf->skipped_last);

    perf->has_skipped_last = perf->has_skipped_last || r == 0;
    return r;
}

/* A recording per thread (perf record --per-thread) has one thread after the other, and a thread may sleep for long. It has no idle
 * thread. */
#define OTHER_THREAD_NS (3600 * (int64_t)1000000000)

/* True if TIME of a sample is further than FAR ns from LAST, the last time of its CPU. False if a time is unknown. */
static bool is_far(int64_t last, int64_t time, int64_t far)
{
    int64_t step = ticks_between(last, time);

    return last != TIME_UNKNOWN && time != TIME_UNKNOWN && (step > far || step < -far);
}

static int keep_step(struct perf_data *perf, const struct perf_record *record)
{
    int r = perf_settle_step(perf);

    if (r < 0)
        return r;
    r = keep_record(record, &perf->step_body, &perf->step);

    perf->has_step = perf->has_step || r == 0;
    return r;
}

/* The thread of a sample; PID_UNKNOWN. */
static int32_t thread_of(const struct perf_data *perf, const struct perf_attr *attr,
                         const uint8_t *body)
{
    return attr->tid != PERF_NOWHERE ? (int32_t)get_u32(perf, body + attr->tid + 4) : PID_UNKNOWN;
}

/* The sample RECORD, of CPU NUMBER, is the last one of CPU. */
static int put_sample(struct perf_data *perf, const struct perf_record *record,
                      struct perf_attr *attr, struct parts *parts, struct perf_cpu *cpu,
                      int32_t number)
{
    uint8_t cpumode = record->misc & MISC_CPUMODE;
    bool is_tracepoint = attr->type == EVENT_TRACEPOINT && parts->raw;
    struct order_piece pieces[3];
    unsigned n_pieces = 1;
    const struct perf_origin *of = perf->origin;
    const struct event_class *class;
    int32_t pid = thread_of(perf, attr, record->body);
    struct item *held;
    int r = is_tracepoint ? find_tracepoint(perf, attr, parts, &class, &pid)
                          : find_class(perf, attr, cpumode, &class, &of);

    if (unlikely(r <= 0)) {
        perf->n_unclear += r == 0;
        return r;
    }
    if (is_tracepoint) {
        pieces[0] = (struct order_piece){parts->raw, parts->raw_size};
    } else {
        const uint8_t *raw = parts->raw ? parts->raw : record->body;

        pieces[0] = (struct order_piece){record->body, attr->fixed};
        pieces[1] = (struct order_piece){&cpumode, sizeof cpumode};
        pieces[2] = parts->chain ? (struct order_piece){parts->chain, parts->chain_size}
                                 : (struct order_piece){raw, parts->raw_size};
        n_pieces = 3;
    }
    perf->has_idle |= pid == 0;
    /* Made where it is held: a copy's loads would wait for the stores of single members. */
    held = cpu->held = order_add(perf->order, cpu->last, pieces, n_pieces);
    if (!held)
        return -ENOMEM;
    *held = (struct item){
        .kind = ITEM_EVENT,
        .time = cpu->last,
        .origin = &of->kernel.origin,
        .class = class,
        .payload = held->payload,
        .size = held->size,
        .cpu = number,
        .pid = pid,
        .vcpu = VCPU_UNKNOWN,
    };
    return 0;
}

static int handle_sample(struct perf_data *perf, const struct perf_record *record)
{
    const uint8_t *body = record->body;
    struct perf_attr *attr = perf_attrs_of_sample(&perf->attrs, body, record->size);
    int32_t number = CPU_UNKNOWN;
    struct perf_cpu *cpu;
    struct parts parts;
    int64_t time;
    int r;

    if (unlikely(!attr || record->size < attr->fixed ||
                 !read_parts(perf, attr, body + attr->fixed, body + record->size, &parts))) {
        perf->n_unclear++;
        return 0;
    }
    time = TIME_UNKNOWN;
    if (likely(attr->time != PERF_NOWHERE))
        time = (int64_t)get_u64(perf, body + attr->time);
    else
        perf->no_times = true;
    if (likely(attr->cpu != PERF_NOWHERE))
        number = (int32_t)get_u32(perf, body + attr->cpu);
    else if (attr->id != PERF_NOWHERE)
        number = cpu_of_id(perf, get_u64(perf, body + attr->id));
    r = unlikely(perf->has_step && time != TIME_UNKNOWN)
            ? settle_step(perf, number, thread_of(perf, attr, body), time)
            : 0;
    cpu = r < 0 ? NULL : get_cpu(perf, number);
    if (!cpu)
        return -ENOMEM;
    if (unlikely(is_far(cpu->last, time, SOURCE_STRAY_NS)) && record != &perf->step)
        return keep_step(perf, record);
    time = seen_time(perf, time);
    if (unlikely(cpu->is_damaged)) {
        r = put_damage(perf, cpu, time, false);
        if (r < 0)
            return r;
    }
    if (unlikely(cpu->last == TIME_UNKNOWN)) {
        r = perf->first_time == INT64_MAX ? put_left_out(perf, time) : 0;
        if (r < 0)
            return r;
        cpu = get_cpu(perf, number); /* they may have moved */
        perf->first_time = MIN(perf->first_time, time);
    } else if (unlikely(perf->is_sampled)) {
        r = put_loss(perf, cpu, MAX(time, cpu->last), LOST_UNKNOWN);
        if (r < 0)
            return r;
    }
    cpu->last = time;
    cpu->held = NULL;
    if (unlikely(time < perf->seek_time))
        return keep_skipped(perf, record);
    perf->has_skipped_last = false;
    return put_sample(perf, record, attr, &parts, cpu, number);
}

/* The sample that is kept. */
struct step {
    int32_t cpu, thread;
    int64_t time;
};

static struct step read_step(struct perf_data *perf)
{
    const uint8_t *body = (const uint8_t *)perf->step_body.start;
    const struct perf_attr *attr = perf_attrs_of_sample(&perf->attrs, body, perf->step.size);

    return (struct step){
        .cpu = attr->cpu != PERF_NOWHERE  ? (int32_t)get_u32(perf, body + attr->cpu)
               : attr->id != PERF_NOWHERE ? cpu_of_id(perf, get_u64(perf, body + attr->id))
                                          : CPU_UNKNOWN,
        .thread = thread_of(perf, attr, body),
        .time = (int64_t)get_u64(perf, body + attr->time),
    };
}

int perf_settle_step(struct perf_data *perf)
{
    if (likely(!perf->has_step))
        return 0;
    perf->has_step = false;
    perf->step.body = (const uint8_t *)perf->step_body.start;
    return handle_sample(perf, &perf->step);
}

int perf_settle_step_before(struct perf_data *perf, int64_t limit)
{
    struct step step;
    struct perf_cpu *cpu;

    if (likely(!perf->has_step))
        return 0;
    step = read_step(perf);
    cpu = get_cpu(perf, step.cpu);
    if (!cpu)
        return -ENOMEM;
    return step.time > cpu->last && step.time <= limit ? perf_settle_step(perf) : 0;
}

int perf_settle_last_step(struct perf_data *perf)
{
    struct step step;
    struct perf_cpu *cpu;

    if (likely(!perf->has_step))
        return 0;
    step = read_step(perf);
    cpu = get_cpu(perf, step.cpu);
    if (!cpu)
        return -ENOMEM;
    if (step.time < cpu->last)
        return put_stray(perf, cpu, cpu->last, true);
    cpu_ends_note_begin(&perf->ends, step.cpu, perf->first_time, perf->first_time);
    cpu_ends_note_end(&perf->ends, step.cpu, TIME_UNKNOWN, step.time, perf->max_time);
    return perf_settle_step(perf);
}

static int settle_step(struct perf_data *perf, int32_t number, int32_t thread, int64_t time)
{
    struct step step = read_step(perf);
    int64_t far =
        step.thread == thread || perf->has_idle ? (int64_t)SOURCE_STRAY_NS : OTHER_THREAD_NS;
    struct perf_cpu *cpu = get_cpu(perf, number);

    if (!cpu)
        return -ENOMEM;
    if (!is_far(time, step.time, step.cpu == number ? far : (int64_t)SOURCE_STRAY_NS))
        return perf_settle_step(perf);
    if (step.cpu != number)
        return 0;
    /* Records of a CPU are in the order of time. */
    if (time >= cpu->last && (step.time < cpu->last || step.time > time))
        return put_stray(perf, cpu, time, false);
    return perf_settle_step(perf);
}

/* Whether a record of TYPE, which has no time of its CPU's ring, says what happened on a CPU since its last sample. */
static bool tells_state(uint32_t type)
{
    switch (type) {
    case RECORD_LOST_SAMPLES:
    case RECORD_THROTTLE:
    case RECORD_UNTHROTTLE:
    case RECORD_SWITCH:
    case RECORD_SWITCH_CPU_WIDE: return true;
    default: return false;
    }
}

int perf_handle_record(struct perf_data *perf, const struct perf_record *record)
{
    int r = tells_state(record->type) ? perf_settle_step(perf) : 0;

    if (r < 0)
        return r;
    switch (record->type) {
    case RECORD_SAMPLE: return handle_sample(perf, record);
    case RECORD_LOST: return handle_lost(perf, record);
    case RECORD_LOST_SAMPLES: return handle_lost_samples(perf, record);
    case RECORD_COMM: return handle_comm(perf, record);
    case RECORD_FORK: return handle_fork(perf, record);
    case RECORD_THROTTLE:
    case RECORD_UNTHROTTLE: return handle_throttle(perf, record);
    case RECORD_SWITCH:
    case RECORD_SWITCH_CPU_WIDE: return handle_switch(perf, record);
    default:
        if (record->type == 0 || record->type > RECORD_KERNEL_LAST)
            perf->n_unknown++;
        return 0;
    }
}
