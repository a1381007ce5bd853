/* SPDX-License-Identifier: MIT */
#include "format/perf_data/attr.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/macro.h"

void perf_attrs_done(struct perf_attrs *attrs)
{
    free(attrs->list);
    map_done(&attrs->by_id);
    map_done(&attrs->cpus);
    arena_done(&attrs->arena);
}

/* The flags as a little-endian machine has them. */
static uint64_t load_flags(const uint8_t *p, bool big_endian)
{
    uint64_t flags = 0;

    if (!big_endian)
        return load_le64(p);
    for (unsigned i = 0; i < 64; i++)
        flags |= (uint64_t)(p[i / 8] >> (7 - i % 8) & 1) << i;
    return flags;
}

/* Parts of a sample, of 8 bytes each. */
static void place_sample(struct perf_attr *attr)
{
    const struct {
        uint32_t bit;
        uint16_t *place;
    } parts[] = {
        {SAMPLE_IDENTIFIER, &attr->id}, {SAMPLE_IP, &attr->ip},     {SAMPLE_TID, &attr->tid},
        {SAMPLE_TIME, &attr->time},     {SAMPLE_ADDR, &attr->addr}, {SAMPLE_ID, &attr->id},
        {SAMPLE_STREAM_ID, NULL},       {SAMPLE_CPU, &attr->cpu},   {SAMPLE_PERIOD, &attr->period},
    };
    uint16_t at = 0;

    attr->ip = attr->tid = attr->time = attr->addr = attr->id = attr->cpu = attr->period =
        PERF_NOWHERE;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (!(attr->sample_type & parts[i].bit))
            continue;
        /* The identifier and the ID are the same. */
        if (parts[i].place && *parts[i].place == PERF_NOWHERE)
            *parts[i].place = at;
        at += 8;
    }
    attr->fixed = at;
}

/* Parts of other records, from the end backwards. */
static void place_others(struct perf_attr *attr)
{
    const struct {
        uint32_t bit;
        uint16_t *place;
    } parts[] = {
        {SAMPLE_IDENTIFIER, &attr->end_id}, {SAMPLE_CPU, &attr->end_cpu},
        {SAMPLE_STREAM_ID, NULL},           {SAMPLE_ID, &attr->end_id},
        {SAMPLE_TIME, &attr->end_time},     {SAMPLE_TID, &attr->end_tid},
    };
    uint16_t at = 0;

    attr->end_tid = attr->end_time = attr->end_id = attr->end_cpu = PERF_NOWHERE;
    for (size_t i = 0; i < ARRAY_SIZE(parts) && attr->flags & ATTR_SAMPLE_ID_ALL; i++) {
        if (!(attr->sample_type & parts[i].bit))
            continue;
        at += 8;
        if (parts[i].place && *parts[i].place == PERF_NOWHERE)
            *parts[i].place = at;
    }
    attr->end_size = at;
}

static int append(struct perf_attrs *attrs, struct perf_attr *attr)
{
    if (attrs->n == attrs->capacity) {
        unsigned capacity = attrs->capacity ? attrs->capacity * 2 : 16;
        struct perf_attr **bigger = realloc(attrs->list, capacity * sizeof(struct perf_attr *));

        if (!bigger)
            return -ENOMEM;
        attrs->list = bigger;
        attrs->capacity = capacity;
    }
    attrs->list[attrs->n++] = attr;
    return 0;
}

int perf_attrs_add(struct perf_attrs *attrs, const uint8_t *p, size_t size,
                   struct perf_attr **ret_attr)
{
    struct perf_attr *attr;

    if (size < PERF_ATTR_SIZE_MIN || attrs->n >= PERF_ATTRS_MAX)
        return -EBADMSG;
    attr = arena_alloc(&attrs->arena, sizeof *attr);
    if (!attr)
        return -ENOMEM;
    attr->type = load_u32_swap(p, attrs->swap);
    attr->config = load_u64_swap(p + 8, attrs->swap);
    attr->sample_type = load_u64_swap(p + 24, attrs->swap);
    attr->read_format = load_u64_swap(p + 32, attrs->swap);
    attr->flags = load_flags(p + 40, attrs->big_endian);
    attr->is_sampled = attr->type == EVENT_TRACEPOINT &&
                       (attr->flags & ATTR_FREQ || load_u64_swap(p + 16, attrs->swap) > 1);
    attr->clockid = PERF_ATTR_CLOCKID_NONE;
    if (attr->flags & ATTR_USE_CLOCKID && size >= 96)
        attr->clockid = (int32_t)load_u32_swap(p + 92, attrs->swap);
    place_sample(attr);
    place_others(attr);
    if (attrs->n == 0) {
        attrs->id = attr->id;
        attrs->end_id = attr->end_id;
    } else if (attrs->id != attr->id || attrs->end_id != attr->end_id) {
        return -EBADMSG;
    }
    *ret_attr = attr;
    return append(attrs, attr);
}

int perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id, struct perf_attr *attr)
{
    attrs->recent[id % PERF_IDS_RECENT].attr = NULL;
    return map_put(&attrs->by_id, id, attr);
}

static _cold_ struct perf_attr *find_slow(struct perf_attrs *attrs, uint64_t id)
{
    struct perf_attr *attr = map_get(&attrs->by_id, id);

    attrs->recent[id % PERF_IDS_RECENT].id = id;
    attrs->recent[id % PERF_IDS_RECENT].attr = attr;
    return attr || attrs->n == 0 || (attrs->n > 1 && id != 0) ? attr : attrs->list[0];
}

struct perf_attr *perf_attrs_find(struct perf_attrs *attrs, uint64_t id)
{
    struct perf_attr *attr = attrs->recent[id % PERF_IDS_RECENT].attr;

    return likely(attr && attrs->recent[id % PERF_IDS_RECENT].id == id) ? attr
                                                                        : find_slow(attrs, id);
}

struct perf_attr *perf_attrs_of_sample(struct perf_attrs *attrs, const uint8_t *p, size_t size)
{
    if (attrs->n == 0)
        return NULL;
    if (attrs->id == PERF_NOWHERE)
        return attrs->list[0];
    if (size < (size_t)attrs->id + 8)
        return NULL;
    return perf_attrs_find(attrs, load_u64_swap(p + attrs->id, attrs->swap));
}

struct perf_attr *perf_attrs_of_other(struct perf_attrs *attrs, const uint8_t *p, size_t size)
{
    if (attrs->n == 0)
        return NULL;
    if (attrs->end_id == PERF_NOWHERE)
        return attrs->list[0];
    if (size < attrs->end_id)
        return NULL;
    return perf_attrs_find(attrs, load_u64_swap(p + size - attrs->end_id, attrs->swap));
}

void perf_attr_name(const struct perf_attr *attr, char *buf, size_t size)
{
    static const char *const hardware[] = {"cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           "ref-cycles"};
    static const char *const software[] = {
        "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
        "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
        "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

    if (attr->name)
        snprintf(buf, size, "%s", attr->name);
    else if (attr->type == EVENT_HARDWARE && attr->config < ARRAY_SIZE(hardware))
        snprintf(buf, size, "%s", hardware[attr->config]);
    else if (attr->type == EVENT_SOFTWARE && attr->config < ARRAY_SIZE(software))
        snprintf(buf, size, "%s", software[attr->config]);
    else
        snprintf(buf, size, "type-%" PRIu32 "-config-0x%" PRIx64, attr->type, attr->config);
}
