/* SPDX-License-Identifier: MIT */

/* The consumer's side of the ring. The ring may belong to another process, a killed process, or a process that has
 * written to wrong places. So positions and sizes are checked before they are used: a damaged ring gives wrong records
 * at worst, and never a byte outside of the mapping. */

#include <errno.h>
#include <string.h>

#include "runtime/macro.h"
#include "runtime/ring/ring.h"

#define HEADER_SIZE sizeof(struct ring_packet_header)
#define SUBBUFFER_MIN 4096
#define RING_SIZE_MAX (1ULL << 40)
/* How often a packet of a flight recorder is copied again because its owner wrote over it meanwhile. */
#define COPY_TRIES 1000

static bool is_power_of_two(uint64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* The release in force, all 0 in a ring that nothing was taken from. */
static struct ring_release last_release(const struct ring_map *map, uint64_t consumed)
{
    for (unsigned i = 0; i < 2; i++)
        if (consumed > 0 && map->releases[i].end == consumed)
            return map->releases[i];
    return (struct ring_release){0};
}

static void start_at(struct ring_reader *reader, uint64_t position)
{
    struct ring_release release = last_release(reader->map, position);

    reader->position = position;
    reader->sequence = release.sequence;
    reader->time = release.time;
    reader->lost = release.lost;
    reader->stored = release.sequence;
}

/* Passes over what was given up. */
static void skip_to(struct ring_reader *reader, uint64_t oldest)
{
    if (reader->position >= oldest)
        return;
    reader->sequence += oldest / reader->subbuffer_size - reader->position / reader->subbuffer_size;
    reader->position = oldest;
}

int ring_reader_look(struct ring_reader *ret, void *p, size_t length)
{
    struct ring_map *map = p;
    struct ring_reader reader;
    uint64_t data_offset, classes_offset;

    if (length < sizeof(*map) || memcmp(map->magic, RING_MAGIC, sizeof(map->magic)) != 0)
        return -EINVAL;
    if (map->version != RING_VERSION)
        return -ENOTSUP;
    /* Each is loaded once: what is checked is what is used, even where another process writes there meanwhile. */
    data_offset = __atomic_load_n(&map->data_offset, __ATOMIC_RELAXED);
    classes_offset = __atomic_load_n(&map->classes_offset, __ATOMIC_RELAXED);
    reader = (struct ring_reader){
        .map = map,
        .size = __atomic_load_n(&map->size, __ATOMIC_RELAXED),
        .subbuffer_size = __atomic_load_n(&map->subbuffer_size, __ATOMIC_RELAXED),
        .overwrite = map->flags & RING_OVERWRITE,
    };
    if (!is_power_of_two(reader.size) || !is_power_of_two(reader.subbuffer_size) ||
        reader.size > RING_SIZE_MAX || reader.subbuffer_size < SUBBUFFER_MIN ||
        reader.subbuffer_size > reader.size / 2 || data_offset < sizeof(*map) ||
        data_offset % 8 != 0 || data_offset > length || reader.size > length - data_offset ||
        classes_offset < sizeof(*map) || classes_offset % 8 != 0 || classes_offset > data_offset ||
        map->n_classes > (data_offset - classes_offset) / 8)
        return -EINVAL;
    reader.data = (const uint8_t *)p + data_offset;
    *ret = reader;
    return 0;
}

int ring_reader_init(struct ring_reader *ret, void *p, size_t length)
{
    struct ring_reader reader;
    int r;

    r = ring_reader_look(&reader, p, length);
    if (r < 0)
        return r;
    if (reader.overwrite) {
        reader.position = __atomic_load_n(&reader.map->oldest, __ATOMIC_ACQUIRE);
        reader.sequence = reader.position / reader.subbuffer_size;
    } else {
        start_at(&reader, __atomic_load_n(&reader.map->consumed, __ATOMIC_ACQUIRE));
    }
    *ret = reader;
    return 0;
}

void ring_reader_resume(struct ring_reader *reader)
{
    uint64_t consumed = __atomic_load_n(&reader->map->consumed, __ATOMIC_ACQUIRE);

    if (!reader->overwrite || consumed == 0)
        return;
    start_at(reader, consumed);
    skip_to(reader, __atomic_load_n(&reader->map->oldest, __ATOMIC_ACQUIRE));
}

/* Copies what the owner may be writing over; who calls looks afterwards whether it did. So this is a
 * race, and meant to be one. */
__attribute__((no_sanitize("thread"))) static void copy(void *to, const void *from, size_t size)
{
    /* Headers, which are not arrays of words, are copied too. */
    typedef uint64_t __attribute__((may_alias)) any_word;
    volatile any_word *t = to;
    const volatile any_word *f = from;

    for (size_t i = 0; i < (size + 7) / 8; i++)
        t[i] = f[i];
}

static const uint8_t *at(const struct ring_reader *reader, uint64_t position)
{
    return reader->data + (position & (reader->size - 1));
}

/* The full time of the record at POSITION, which has 48 bits of it. NEAR is less than 2^47 ticks off. */
static uint64_t time_of_record(const struct ring_reader *reader, uint64_t position, uint64_t near)
{
    uint64_t word, low;

    copy(&word, at(reader, position), 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    low = word >> 16;
#else
    low = word & 0xffffffffffffULL;
#endif
    return near + (uint64_t)((int64_t)((low - near) << 16) >> 16);
}

/* A run of records in one sub-buffer. */
struct part {
    uint64_t begin, end; /* positions; begin is a multiple of 8, or at the header */
    uint64_t next;       /* where to read on */
    uint64_t time_end;
    bool whole; /* from the packet's begin */
};

/* The part of the packet at POSITION that is closed. */
static struct part closed_part(const struct ring_reader *reader, uint64_t position)
{
    uint64_t start = position & ~(reader->subbuffer_size - 1);
    struct ring_packet_header header;
    uint64_t content;
    struct part part;

    copy(&header, at(reader, start), sizeof(header));
    content = header.content_size / 8;
    if (content < HEADER_SIZE || content > reader->subbuffer_size)
        content = HEADER_SIZE; /* damaged */
    part = (struct part){
        .begin = (position + 7) & ~7ULL,
        .end = start + content,
        .next = start + reader->subbuffer_size,
        .time_end = header.timestamp_end,
    };
    if (part.begin <= start + HEADER_SIZE) {
        part.begin = start + HEADER_SIZE;
        part.whole = true;
    }
    return part;
}

static struct part open_part(const struct ring_reader *reader, uint64_t position, uint64_t end,
                             uint64_t time_end)
{
    uint64_t start = position & ~(reader->subbuffer_size - 1);
    struct part part = {
        .begin = (position + 7) & ~7ULL,
        .end = end,
        .next = end,
        .time_end = time_end,
    };

    if (part.begin <= start + HEADER_SIZE) {
        part.begin = start + HEADER_SIZE;
        part.whole = true;
    }
    return part;
}

/* Whether there is something at the reader's position, and what. A part may turn out to be empty. */
static bool find_part(const struct ring_reader *reader, enum ring_reading how, struct part *ret)
{
    const struct ring_map *map = reader->map;
    uint64_t next_packet =
        (reader->position & ~(reader->subbuffer_size - 1)) + reader->subbuffer_size;
    uint64_t committed, again, time;

    /* Acquire: of the packets before it, all is seen. */
    if (__atomic_load_n(&map->closed, __ATOMIC_ACQUIRE) >= next_packet) {
        *ret = closed_part(reader, reader->position);
        return true;
    }
    if (how == RING_CLOSED)
        return false;

    /* In this order, and acquire: [6] then says whose time it is. */
    committed = __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE);
    time = __atomic_load_n(&map->time, __ATOMIC_ACQUIRE);
    again = __atomic_load_n(&map->committed, __ATOMIC_ACQUIRE);

    /* It decreases only if another writer than the owner changes the ring. */
    if (MAX(committed, again) >= next_packet) {
        *ret = closed_part(reader, reader->position);
        return true;
    }
    if (committed <= reader->position)
        return false;
    if (again > committed)
        /* The record that begins there is committed by now, and ours are not after it. */
        time = time_of_record(reader, (committed + 7) & ~7ULL, time);
    *ret = open_part(reader, reader->position, committed, time);
    return true;
}

/* The header of the part as a packet by itself. */
static struct ring_packet_header make_header(const struct ring_reader *reader,
                                             const struct part *part)
{
    const struct ring_map *map = reader->map;
    uint64_t start = part->begin & ~(reader->subbuffer_size - 1);
    uint64_t content = HEADER_SIZE + (part->end - part->begin);
    struct ring_packet_header header;
    uint64_t discarded;

    copy(&header, at(reader, start), sizeof(header));
    if (header.magic != CTF_MAGIC || header.packet_seq_num != start / reader->subbuffer_size) {
        /* Damaged. */
        header = (struct ring_packet_header){
            .magic = CTF_MAGIC,
            .pid = map->pid,
            .tid = map->tid,
        };
        memcpy(header.uuid, map->uuid, sizeof(header.uuid));
        memcpy(header.thread_name, map->thread_name, sizeof(header.thread_name));
    }
    if (!part->whole)
        header.timestamp_begin = time_of_record(
            reader, part->begin, reader->time ? reader->time : map->clock_pair.ticks);
    header.timestamp_begin = MAX(header.timestamp_begin, reader->time);
    header.timestamp_end = MAX(part->time_end, header.timestamp_begin);
    discarded = part->next == part->end ? ring_discarded(map) : header.events_discarded;
    header.events_discarded = MAX(discarded, reader->discarded);
    header.packet_seq_num = reader->sequence;
    header.content_size = content * 8;
    header.packet_size = ((content + 7) & ~7ULL) * 8;
    return header;
}

static bool next_part(struct ring_reader *reader, enum ring_reading how, struct part *ret)
{
    uint64_t started = reader->position;

    /* More empty packets than the ring can hold are damage. */
    while (reader->position - started <= reader->size && find_part(reader, how, ret)) {
        if (ret->begin < ret->end)
            return true;
        if (ret->next <= reader->position) /* damaged, or nothing new */
            return false;
        reader->position = ret->next;
    }
    return false;
}

static void advance(struct ring_reader *reader, const struct part *part,
                    const struct ring_packet_header *header)
{
    reader->position = part->next;
    reader->sequence++;
    reader->time = header->timestamp_end;
    reader->discarded = header->events_discarded;
}

int ring_reader_next(struct ring_reader *reader, enum ring_reading how, struct ring_packet *ret)
{
    struct part part;

    if (!next_part(reader, how, &part))
        return 0;
    *ret = (struct ring_packet){
        .header = make_header(reader, &part),
        .content = at(reader, part.begin),
        .content_size = (size_t)(part.end - part.begin),
        .end = part.next,
    };
    advance(reader, &part, &ret->header);
    return 1;
}

void ring_reader_losses(struct ring_reader *reader, uint64_t time, struct ring_packet *ret)
{
    const struct ring_map *map = reader->map;
    uint64_t discarded = MAX(ring_discarded(map), reader->discarded);

    *ret = (struct ring_packet){
        .header =
            {
                .magic = CTF_MAGIC,
                .timestamp_begin = MAX(time, reader->time),
                .content_size = HEADER_SIZE * 8,
                .packet_size = HEADER_SIZE * 8,
                .packet_seq_num = reader->sequence,
                .events_discarded = discarded,
                .pid = map->pid,
                .tid = map->tid,
            },
        .content = (const uint8_t *)"",
        .end = reader->position,
    };
    ret->header.timestamp_end = ret->header.timestamp_begin;
    memcpy(ret->header.thread_name, map->thread_name, sizeof(ret->header.thread_name));
    reader->sequence++;
    reader->time = ret->header.timestamp_end;
    reader->discarded = discarded;
}

void ring_reader_release(struct ring_reader *reader, const struct ring_packet *packet)
{
    struct ring_map *map = reader->map;
    uint64_t consumed = __atomic_load_n(&map->consumed, __ATOMIC_RELAXED);
    struct ring_release *release = &map->releases[map->releases[0].end == consumed];

    *release = (struct ring_release){
        .end = packet->end,
        .sequence = packet->header.packet_seq_num + 1,
        .time = packet->header.timestamp_end,
        .lost = reader->lost,
    };
    /* Release: our reads are complete when the owner sees that it may write there, and the next consumer
     * sees the release record of this position. */
    __atomic_store_n(&map->consumed, packet->end, __ATOMIC_RELEASE);
}

int ring_reader_copy(struct ring_reader *reader, enum ring_reading how, uint8_t *buffer,
                     struct ring_packet *ret)
{
    for (unsigned i = 0; i < COPY_TRIES; i++) {
        struct part part;

        skip_to(reader, __atomic_load_n(&reader->map->oldest, __ATOMIC_ACQUIRE));
        if (!next_part(reader, how, &part)) {
            /* What made it look empty may have been written over while we looked. */
            if (__atomic_load_n(&reader->map->oldest, __ATOMIC_ACQUIRE) > reader->position)
                continue;
            return 0;
        }
        *ret = (struct ring_packet){
            .header = make_header(reader, &part),
            .content = buffer,
            .content_size = (size_t)(part.end - part.begin),
            .end = part.next,
        };
        copy(buffer, at(reader, part.begin), ret->content_size);

        /* Acquire fence: `oldest` is read after what was copied; the owner raises it before it writes. */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&reader->map->oldest, __ATOMIC_RELAXED) > part.begin)
            continue;
        advance(reader, &part, &ret->header);
        return 1;
    }
    return 0; /* it is written over faster than it can be read */
}

uint64_t ring_discarded(const struct ring_map *map)
{
    return __atomic_load_n(&map->discarded, __ATOMIC_RELAXED);
}
