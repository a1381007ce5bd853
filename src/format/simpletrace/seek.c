/* SPDX-License-Identifier: MIT */
#include "format/simpletrace/seek.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "format/simpletrace/layout.h"

/* The longest record, so that a stretch of this length holds the beginning of one. */
#define RECORD_MAX (TYPE_SIZE + EVENT_SIZE_MAX)
/* What chains must pass: several of the longest records, so that none passes by one step. */
#define STRETCH ((size_t)3 * RECORD_MAX)
/* Records whose times are looked at, in bytes. */
#define TIMES_SIZE ((size_t)64 * 1024)
/* What is left to be read record by record. */
#define SEEK_REST ((uint64_t)1024 * 1024)

/* As many bytes as record_at() looks at. */
#define RECORD_HEAD 32

struct record {
    size_t size; /* with its type; 0: the reader would refuse it */
    bool is_mapping;
    int64_t time; /* of an event, or a note of dropped ones */
};

/* P has RECORD_HEAD bytes. */
static inline struct record record_at(const struct simpletrace_ids *ids, const uint8_t *p)
{
    size_t front = ids->version == 4 ? TYPE_SIZE : 0;
    struct record record = {0};
    uint32_t size;

    if (ids->version == 0) {
        record.size = V0_RECORD_SIZE;
    } else if (front && load_u64_swap(p, ids->swap) == TYPE_MAPPING) {
        size = load_u32_swap(p + TYPE_SIZE + 8, ids->swap);
        if (size > 0 && size <= NAME_MAX_LEN)
            record.size = TYPE_SIZE + MAPPING_HEAD_SIZE + size;
        record.is_mapping = true;
        return record;
    } else {
        size = load_u32_swap(p + front + 16, ids->swap);
        if ((front && load_u64_swap(p, ids->swap) != TYPE_EVENT) || size < EVENT_HEAD_SIZE ||
            size > EVENT_SIZE_MAX)
            return record;
        record.size = front + size;
    }
    record.time = (int64_t)load_u64_swap(p + front + 8, ids->swap);
    return record;
}

struct search {
    const struct input *in;
    const struct simpletrace_ids *ids;
    uint64_t low; /* a record begins here */
    uint8_t *bytes;
    /* By place in the stretch: where the chain that begins there leaves it; 0: it does not. */
    uint32_t *exits;
};

/* Reads N bytes at OFFSET, all of them. */
static bool read_all(const struct search *s, uint64_t offset, size_t n)
{
    struct error error = {0};

    return input_read_at(s->in, offset, s->bytes, n, &error) == (int64_t)n;
}

/* A place where a record begins for certain, after the stretch at OFFSET. */
static bool find_record(const struct search *s, uint64_t offset, uint64_t *ret_at)
{
    uint32_t only = 0;

    if (s->ids->version == 0) {
        *ret_at = offset - (offset - s->low) % V0_RECORD_SIZE;
        return true;
    }
    if (!read_all(s, offset, STRETCH + RECORD_HEAD))
        return false;
    for (size_t i = STRETCH; i-- > 0;) {
        uint64_t size = record_at(s->ids, s->bytes + i).size;

        s->exits[i] = size == 0            ? 0
                      : i + size < STRETCH ? s->exits[i + size]
                                           : (uint32_t)(i + size);
    }
    for (size_t i = 0; i < RECORD_MAX; i++) {
        if (s->exits[i] == 0 || s->exits[i] == only)
            continue;
        if (only)
            return false;
        only = s->exits[i];
    }
    *ret_at = offset + only;
    return only > 0;
}

/* The newest time of many records from AT on. */
static bool newest_time(const struct search *s, uint64_t at, int64_t *ret_time)
{
    bool any = false;

    *ret_time = INT64_MIN;
    if (!read_all(s, at, TIMES_SIZE + RECORD_HEAD))
        return false;
    for (size_t i = 0; i < TIMES_SIZE;) {
        struct record record = record_at(s->ids, s->bytes + i);

        if (record.size == 0)
            return false;
        if (!record.is_mapping)
            *ret_time = MAX(*ret_time, record.time);
        any |= !record.is_mapping;
        i += record.size;
    }
    return any;
}

int simpletrace_find_time(const struct input *in, const struct simpletrace_ids *ids, uint64_t low,
                          uint64_t high, int64_t time, uint64_t *ret_offset)
{
    _cleanup_free_ uint8_t *bytes = malloc(STRETCH + RECORD_HEAD);
    _cleanup_free_ uint32_t *exits = malloc(STRETCH * sizeof *exits);
    struct search s = {in, ids, low, bytes, exits};

    _Static_assert(TIMES_SIZE < STRETCH, "read into the same buffer");
    if (!bytes || !exits)
        return -ENOMEM;
    while (s.low < high && high - s.low > SEEK_REST) {
        uint64_t middle = s.low + (high - s.low) / 2, at;
        int64_t newest;

        /* What is not certain is taken as too late. */
        if (find_record(&s, middle, &at) && at < high && newest_time(&s, at, &newest) &&
            newest < time && time - newest > SIMPLETRACE_SEEK_MARGIN_NS)
            s.low = at;
        else
            high = middle;
    }
    *ret_offset = s.low;
    return 0;
}

int simpletrace_find_names(const struct input *in, struct simpletrace_ids *ids, uint64_t from,
                           uint64_t to, struct error *error)
{
    _cleanup_free_ uint8_t *bytes = malloc(STRETCH);

    if (!bytes)
        return error_set(error, -ENOMEM, in->path, "out of memory");
    while (from < to) {
        int64_t n = input_read_at(in, from, bytes, STRETCH, error);
        size_t i = 0;

        if (n < 0)
            return (int)n;
        while (i + RECORD_HEAD <= (size_t)n && from + i < to) {
            struct record record = record_at(ids, bytes + i);
            const struct event_class *class;
            size_t front = TYPE_SIZE + MAPPING_HEAD_SIZE;
            uint64_t id = load_u64_swap(bytes + i + TYPE_SIZE, ids->swap);

            if (record.size == 0 || (record.is_mapping && record.size > (size_t)n - i))
                break;
            if (record.is_mapping && !simpletrace_ids_known(ids, id, &class)) {
                int r = simpletrace_ids_name(ids, id, (const char *)bytes + i + front,
                                             record.size - front);

                if (r < 0)
                    return r == -E2BIG ? r : error_set(error, r, in->path, "out of memory");
            }
            i += record.size;
        }
        if (i == 0)
            break;
        from += i;
    }
    return 0;
}
