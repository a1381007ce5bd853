/* SPDX-License-Identifier: MIT */
/* What comes before the records, or between them, and says how to read them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "format/perf_data/perf_data.h"
#include "format/perf_data/reader.h"
#include "format/trace_dat/events.h"

#define HEADER_SIZE 104
#define STREAM_HEADER_SIZE 16
/* Of attributes, IDs and features other than the tracing data. */
#define SECTION_MAX (UINT64_C(64) * 1024 * 1024)

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP", magic_v1[] = "PERFFILE";
#define MAGIC_SIZE 8

bool perf_data_is(const void *head, size_t size)
{
    return size >= STREAM_HEADER_SIZE &&
           (memcmp(head, magic, MAGIC_SIZE) == 0 || memcmp(head, magic_swapped, MAGIC_SIZE) == 0 ||
            memcmp(head, magic_v1, MAGIC_SIZE) == 0);
}

static bool is_big_endian(const uint8_t *head)
{
    return memcmp(head, magic_swapped, MAGIC_SIZE) == 0;
}

static uint64_t load_ordered(const uint8_t *p, bool big_endian)
{
    return load_u64_swap(p, big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
}

bool perf_data_is_stream(const void *head, size_t size)
{
    const uint8_t *p = head;

    return perf_data_is(head, size) && load_ordered(p + 8, is_big_endian(p)) == STREAM_HEADER_SIZE;
}

static int out_of_memory(struct perf_data *perf, struct error *error)
{
    return error_set(error, -ENOMEM, perf->path, "out of memory");
}

/* Makes the kernel's events of SIZE bytes of tracing data. Takes BYTES over. */
static int set_tracing_data(struct perf_data *perf, uint8_t *bytes, size_t size,
                            struct error *error)
{
    _cleanup_free_ uint8_t *owned = bytes;
    struct dat_file *file;
    struct input in;
    int r;

    if (perf->events)
        return 0;
    if (input_open_memory(&in, owned, size, perf->path) < 0)
        return out_of_memory(perf, error);
    r = dat_file_open_tracing_data(&in, perf->path, &file, error);
    if (r < 0)
        return r;
    r = dat_events_open(file, perf->catalogue, &perf->events, error);
    dat_file_unref(file);
    return r;
}

/* ---- Records ---- */

static int read_attr(struct perf_data *perf, const struct perf_record *record,
                     const char **ret_what)
{
    struct perf_attr *attr;
    size_t size;
    int r;

    *ret_what = "the attributes of an event are damaged";
    if (record->size < PERF_ATTR_SIZE_MIN)
        return -EBADMSG;
    /* In the first version of perf the size was 0. */
    size = load_u32_swap(record->body + 4, perf->swap);
    size = size ? size : PERF_ATTR_SIZE_MIN;
    if (size > record->size)
        return -EBADMSG;
    r = perf_attrs_add(&perf->attrs, record->body, size, &attr);
    for (size_t at = size; r == 0 && record->size - at >= 8; at += 8)
        r = perf_attrs_add_id(&perf->attrs, load_u64_swap(record->body + at, perf->swap), attr);
    return r;
}

static int read_event_update(struct perf_data *perf, const struct perf_record *record)
{
    struct perf_attr *attr;

    if (record->size < 16 || load_u64_swap(record->body, perf->swap) != EVENT_UPDATE_NAME)
        return 0;
    attr = perf_attrs_find(&perf->attrs, load_u64_swap(record->body + 8, perf->swap));
    if (!attr)
        return 0;
    attr->name = arena_strndup(&perf->attrs.arena, (const char *)record->body + 16,
                               strnlen((const char *)record->body + 16, record->size - 16));
    return attr->name ? 0 : -ENOMEM;
}

/* Reads on which CPU each event counts, and for which thread; -1: all. */
static int read_id_index(struct perf_data *perf, const struct perf_record *record)
{
    for (size_t at = 8; record->size >= at + 32; at += 32) {
        uint64_t id = load_u64_swap(record->body + at, perf->swap);
        uint64_t cpu = load_u64_swap(record->body + at + 16, perf->swap);

        perf->attrs.has_threads |= (int32_t)load_u64_swap(record->body + at + 24, perf->swap) > 0;
        perf->attrs.has_any_cpu |= cpu >= PERF_CPUS_MAX;
        if (cpu < PERF_CPUS_MAX && map_put(&perf->attrs.cpus, id, (void *)(uintptr_t)(cpu + 1)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int read_tracing_data(struct perf_data *perf, const struct perf_record *record,
                             const char **ret_what)
{
    uint8_t *bytes = NULL;
    uint64_t size;
    int r;

    *ret_what = "a record is too short";
    if (record->size < 4)
        return -EBADMSG;
    size = load_u32_swap(record->body, perf->swap);
    r = perf_record_read_data(perf, (size + 7) & ~UINT64_C(7), PERF_TRACING_DATA_MAX, &bytes,
                              ret_what);
    return r < 0 ? r : set_tracing_data(perf, bytes, (size_t)size, &perf->source.error);
}

static int skip_aux(struct perf_data *perf, const struct perf_record *record, const char **ret_what)
{
    uint64_t size;

    *ret_what = "a record is too short";
    if (record->size < 8)
        return -EBADMSG;
    size = load_u64_swap(record->body, perf->swap);
    perf->aux_bytes += size;
    return perf_record_skip_data(perf, size, ret_what);
}

int perf_header_record(struct perf_data *perf, const struct perf_record *record,
                       const char **ret_what)
{
    int r = 0;

    if (record->type < RECORD_USER_FIRST || record->type == RECORD_FINISHED_ROUND)
        return 0;
    switch (record->type) {
    case RECORD_HEADER_ATTR: r = read_attr(perf, record, ret_what); break;
    case RECORD_EVENT_UPDATE: r = read_event_update(perf, record); break;
    case RECORD_ID_INDEX: r = read_id_index(perf, record); break;
    case RECORD_TRACING_DATA: r = read_tracing_data(perf, record, ret_what); break;
    case RECORD_AUXTRACE: r = skip_aux(perf, record, ret_what); break;
    case RECORD_STAT_CONFIG: perf->features.has_counts = true; break;
    case RECORD_HEADER_FEATURE:
        if (record->size >= 8)
            r = perf_feature_read(&perf->features, &perf->attrs,
                                  (unsigned)load_u64_swap(record->body, perf->swap),
                                  record->body + 8, record->size - 8);
        break;
    default:
        if (record->type > RECORD_USER_LAST)
            perf->n_unknown++;
    }
    return r < 0 ? r : 1;
}

/* ---- The header of a file ---- */

/* Reports that the file ends before WHAT, which its header places at OFFSET. */
static int file_ends(struct perf_data *perf, uint64_t offset, const char *what, struct error *error)
{
    perf->is_cut = true;
    return error_at(error, -EBADMSG, perf->path, offset, "the file was cut: %s not in it%s", what,
                    perf->end > 0 ? "; --keep-going reads the events that are" : "");
}

/* Reads a section of at most SECTION_MAX bytes. */
static int load_section(struct perf_data *perf, const uint8_t *section, const char *what,
                        uint8_t **ret, size_t *ret_size, struct error *error)
{
    uint64_t offset = load_u64_swap(section, perf->swap);
    uint64_t size = load_u64_swap(section + 8, perf->swap);
    char *bytes;
    int r = size > SECTION_MAX ? -EFBIG
                               : input_load_at(&perf->in, offset, (size_t)size, &bytes, ret_size);

    if (r == -ENOMEM)
        return out_of_memory(perf, error);
    if (r == -EFBIG)
        return error_at(error, r, perf->path, offset, "%s larger than 64 MB", what);
    if (r == -EBADMSG)
        return file_ends(perf, offset, what, error);
    if (r < 0)
        return error_at(error, r, perf->path, offset, "%s not readable: %s", what, error_text(r));
    *ret = (uint8_t *)bytes;
    return 0;
}

static int read_ids(struct perf_data *perf, const uint8_t *section, struct perf_attr *attr,
                    struct error *error)
{
    _cleanup_free_ uint8_t *ids = NULL;
    size_t size;
    int r = load_section(perf, section, "the IDs of an event are", &ids, &size, error);

    /* Each event has its own: if they shared them, there could be any number in a small file. */
    if (r == 0 && size > perf->id_bytes_left)
        return error_at(error, -EBADMSG, perf->path, load_u64_swap(section, perf->swap),
                        "the IDs of its events take more than the file has");
    perf->id_bytes_left -= r == 0 ? size : 0;
    for (size_t at = 0; r == 0 && size - at >= 8; at += 8)
        if (perf_attrs_add_id(&perf->attrs, load_u64_swap(ids + at, perf->swap), attr) < 0)
            r = out_of_memory(perf, error);
    return r;
}

static int read_attrs(struct perf_data *perf, uint64_t entry, const uint8_t *section,
                      struct error *error)
{
    _cleanup_free_ uint8_t *attrs = NULL;
    size_t size;
    int r;

    if (entry < PERF_ATTR_SIZE_MIN + 16 || entry > 65536)
        return error_at(error, -EBADMSG, perf->path, 16,
                        "the size of an event's attributes is wrong");
    r = load_section(perf, section, "the attributes of its events are", &attrs, &size, error);
    for (size_t at = 0; r == 0 && size - at >= entry; at += (size_t)entry) {
        struct perf_attr *attr;

        r = perf_attrs_add(&perf->attrs, attrs + at, (size_t)entry - 16, &attr);
        if (r == -ENOMEM)
            return out_of_memory(perf, error);
        if (r < 0)
            return error_at(error, r, perf->path, load_u64_swap(section, perf->swap) + at,
                            "the attributes of an event are damaged");
        r = read_ids(perf, attrs + at + entry - 16, attr, error);
    }
    return r;
}

static bool is_wanted(unsigned feature)
{
    return (feature >= FEATURE_HOSTNAME && feature <= FEATURE_EVENT_DESC) ||
           feature == FEATURE_TRACING_DATA || feature == FEATURE_CLOCK_DATA;
}

static int read_feature(struct perf_data *perf, unsigned feature, const uint8_t *section,
                        struct error *error)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    char what[32] = "the formats of tracepoints are";
    size_t size;
    int r;

    if (!is_wanted(feature))
        return perf_feature_read(&perf->features, &perf->attrs, feature, section, 0);
    if (feature != FEATURE_TRACING_DATA)
        snprintf(what, sizeof what, "feature %u is", feature);
    r = load_section(perf, section, what, &bytes, &size, error);
    if (r < 0)
        return r;
    if (feature == FEATURE_TRACING_DATA)
        return set_tracing_data(perf, TAKE_PTR(bytes), size, error);
    r = perf_feature_read(&perf->features, &perf->attrs, feature, bytes, size);
    return r < 0 ? out_of_memory(perf, error) : 0;
}

/* FLAGS: a bit for each feature, in the words of the machine that recorded. */
static int read_features(struct perf_data *perf, const uint8_t flags[32], uint64_t offset,
                         struct error *error)
{
    int r = 0;

    for (unsigned feature = 0; feature < FEATURES_MAX && r == 0; feature++) {
        uint64_t word = load_u64_swap(flags + feature / 64 * 8, perf->swap);
        uint8_t section[16];

        if (!(word >> feature % 64 & 1))
            continue;
        if (input_read_at(&perf->in, offset, section, sizeof section, error) < 16)
            return file_ends(perf, offset, "its features are", error);
        r = read_feature(perf, feature, section, error);
        offset += sizeof section;
    }
    return r;
}

static int read_file_header(struct perf_data *perf, const uint8_t header[HEADER_SIZE],
                            struct error *error)
{
    uint64_t begin = load_u64_swap(header + 40, perf->swap);
    uint64_t size = load_u64_swap(header + 48, perf->swap);
    int r;

    perf->id_bytes_left = MIN(perf->in.size, SECTION_MAX);
    r = read_attrs(perf, load_u64_swap(header + 16, perf->swap), header + 24, error);
    if (r < 0)
        return r;
    if (begin > INT64_MAX || size > INT64_MAX)
        return error_at(error, -EBADMSG, perf->path, 40, "the place of its records is wrong");
    perf->is_unfinished = size == 0;
    perf->end = size ? begin + size : UINT64_MAX;
    if (size > 0)
        r = read_features(perf, header + 72, begin + size, error);
    /* Records have their times and numbers without them. */
    if (r < 0 && perf->is_cut && perf->keep_going) {
        error_clear(error);
        perf->has_no_formats = !perf->events;
        r = 0;
    }
    return r < 0 ? r : input_seek(&perf->in, begin, error);
}

static int read_stream_header(struct perf_data *perf, struct error *error)
{
    const char *what = NULL;
    int r;

    input_skip(&perf->in, STREAM_HEADER_SIZE);
    perf->end = UINT64_MAX;
    do {
        r = perf_record_next(perf, &perf->pending, &what);
        perf->has_pending = r > 0;
        if (r > 0)
            r = perf_header_record(perf, &perf->pending, &what);
    } while (r > 0);
    if (r == -ENOMEM)
        return out_of_memory(perf, error);
    if (r < 0) {
        if (error && perf->source.error.code)
            *error = perf->source.error;
        return error_at(error, r, perf->path, input_offset(&perf->in), "%s",
                        what ? what : error_text(r));
    }
    return 0;
}

int perf_header_read(struct perf_data *perf, struct error *error)
{
    uint8_t header[HEADER_SIZE] = {0};
    size_t n;
    int r = input_need(&perf->in, STREAM_HEADER_SIZE, error);

    if (r < 0)
        return r;
    if (r == 0 || !perf_data_is(input_at(&perf->in), STREAM_HEADER_SIZE))
        return error_set(error, -EBADMSG, perf->path, "not a perf.data");
    if (memcmp(input_at(&perf->in), magic_v1, MAGIC_SIZE) == 0)
        return error_set(error, -EBADMSG, perf->path,
                         "perf.data of version 1 is not supported (supported: version 2); "
                         "use perf script");
    perf->big_endian = is_big_endian(input_at(&perf->in));
    perf->swap = perf->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    perf->attrs.swap = perf->swap;
    perf->attrs.big_endian = perf->big_endian;
    perf->is_stream = perf_data_is_stream(input_at(&perf->in), STREAM_HEADER_SIZE);
    if (perf->is_stream)
        return read_stream_header(perf, error);
    if (!perf->in.seekable)
        return error_set(error, -ESPIPE, perf->path,
                         "a perf.data cannot be read from a pipe, but for what perf record -o - "
                         "writes; give the file itself");
    n = MIN(input_buffered(&perf->in), sizeof header);
    if (n < sizeof header) {
        r = input_need(&perf->in, sizeof header, error);
        n = MIN(input_buffered(&perf->in), sizeof header);
    }
    if (r < 0)
        return r;
    if (n < sizeof header)
        return error_set(error, -EBADMSG, perf->path, "the file ends inside its header");
    memcpy(header, input_at(&perf->in), sizeof header);
    return read_file_header(perf, header, error);
}
