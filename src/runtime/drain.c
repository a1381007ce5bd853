/* SPDX-License-Identifier: MIT */
#include "runtime/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/ring/reserve_memory.h"
#include "runtime/ring/ring_drops.h"
#include "runtime/trace_counts.h"

#define PACKETS_AT_ONCE 16
#define RECORDS_AT_ONCE 512

/* What goes on within one pass. */
struct run {
    struct drain *drain;
    enum ring_reading how;
    packets_function packets;
    records_function records;
    losses_function losses;
    const struct clock_sync *times;
    uint64_t until; /* ticks: what is later is for the next pass */
    unsigned n;
    struct record batch[RECORDS_AT_ONCE];
};

static struct cursor *get_cursor(struct drain *drain, unsigned number)
{
    struct cursor *cursor = drain->cursors[number];
    struct ring_map *map;

    if (cursor)
        return cursor;
    map = ring_at(number);
    if (!map)
        return NULL; /* is being made */
    cursor = malloc(sizeof(*cursor));
    if (!cursor)
        return NULL;
    if (cursor_init(cursor, map, ring_length(number)) == -ENOMEM) {
        free(cursor);
        return NULL; /* the next pass tries again */
    }
    drain->cursors[number] = cursor;
    return cursor;
}

/* ---- Packets alone: handed on many at once, never looked into ---- */

static void read_packets(struct run *run, unsigned number, struct cursor *cursor)
{
    struct ring_packet packets[PACKETS_AT_ONCE];
    struct ring_reader before[PACKETS_AT_ONCE];
    /* The loop ends even if the ring is filled as fast as it is read. A copy has one packet. */
    unsigned at_once = cursor->copy ? 1 : PACKETS_AT_ONCE;
    unsigned n, done;

    do {
        uint64_t lost = 0;

        for (n = 0; n < at_once; n++) {
            before[n] = cursor->reader;
            if (cursor_next_packet(cursor, run->how) <= 0)
                break;
            packets[n] = cursor->packet;
        }
        if (!n)
            break;
        done = run->packets(number, packets, n, true, &lost);
        if (done < n) {
            cursor->reader = before[done];
            cursor->in_packet = false;
            run->drain->kept = true;
        }
        for (unsigned i = 0; i < done; i++) {
            uint64_t discarded = packets[i].header.events_discarded;

            if (discarded > cursor->discarded)
                COUNT(events_dropped, discarded - cursor->discarded);
            cursor->discarded = MAX(cursor->discarded, discarded);
        }
        cursor->reader.lost += lost;
        if (done) {
            cursor->packet = packets[done - 1];
            cursor_release(cursor);
        }
    } while (done == at_once && cursor->reader.position - cursor->started < cursor->reader.size);
}

/* ---- Records: a heap of rings by the time of their next record ---- */

static void deliver(struct run *run)
{
    if (run->n)
        run->records(run->batch, run->n);
    run->n = 0;
}

static void add_dropped(struct run *run, uint64_t time, uint32_t tid, uint64_t n)
{
    COUNT(events_dropped, n);
    if (run->n == RECORDS_AT_ONCE)
        deliver(run);
    run->batch[run->n++] = (struct record){.time = time, .tid = tid, .dropped = n};
}

/* All records of the packet are gathered: reports those that were dropped until its end, and passes on
 * the rest of the packet before it is released. */
static void end_packet(struct run *run, struct cursor *cursor)
{
    const struct ring_packet_header *header = &cursor->packet.header;

    if (unlikely(header->events_discarded > cursor->discarded))
        add_dropped(run, clock_sync_ns(run->times, header->timestamp_end), header->tid,
                    header->events_discarded - cursor->discarded);
    deliver(run);
    cursor_release(cursor);
}

/* Makes sure that the cursor is at a record, if there is one. */
static bool find_record(struct run *run, unsigned number, struct cursor *cursor)
{
    while (!cursor->at_record) {
        if (cursor->in_packet)
            end_packet(run, cursor);
        if (cursor_next_packet(cursor, run->how) <= 0)
            return false;
        if (run->packets) {
            uint64_t lost = 0;

            (void)run->packets(number, &cursor->packet, 1, false, &lost);
            cursor->reader.lost += lost;
        }
        cursor_first(cursor);
    }
    return true;
}

static unsigned number_of(const struct cursor *cursor)
{
    return cursor->reader.map->number;
}

static void sift_down(struct drain *drain)
{
    struct cursor **heap = drain->heap;
    struct cursor *moving = heap[0];
    unsigned i = 0;

    for (;;) {
        unsigned child = 2 * i + 1;

        if (child >= drain->n_heap)
            break;
        if (child + 1 < drain->n_heap && heap[child + 1]->ticks < heap[child]->ticks)
            child++;
        if (heap[child]->ticks >= moving->ticks)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static void heap_add(struct drain *drain, struct cursor *cursor)
{
    unsigned i;

    for (i = drain->n_heap++; i > 0 && drain->heap[(i - 1) / 2]->ticks > cursor->ticks;
         i = (i - 1) / 2)
        drain->heap[i] = drain->heap[(i - 1) / 2];
    drain->heap[i] = cursor;
}

/* Takes records of the earliest ring as long as none of another ring comes before them. Returns whether
 * the ring still has a record. */
static bool take_run(struct run *run, struct cursor *cursor, uint64_t bound)
{
    uint32_t tid = cursor->packet.header.tid;

    for (;;) {
        uint64_t time = clock_sync_ns(run->times, cursor->ticks);

        if (unlikely(run->n == RECORDS_AT_ONCE))
            deliver(run);
        if (unlikely(!cursor->layout))
            add_dropped(run, time, tid, 1);
        else
            run->batch[run->n++] = (struct record){
                .time = time,
                .layout = cursor->layout,
                .arguments = cursor->arguments,
                .size = (uint32_t)cursor->size,
                .tid = tid,
            };
        if (unlikely(!cursor_next(cursor))) {
            if (!find_record(run, number_of(cursor), cursor))
                return false;
            tid = cursor->packet.header.tid;
        }
        if (cursor->ticks > bound)
            return true;
    }
}

static void merge(struct run *run)
{
    struct drain *drain = run->drain;

    while (drain->n_heap && drain->heap[0]->ticks <= run->until) {
        uint64_t bound = run->until;

        for (unsigned i = 1; i <= 2 && i < drain->n_heap; i++)
            bound = MIN(bound, drain->heap[i]->ticks);
        if (!take_run(run, drain->heap[0], bound)) {
            drain->heap[0] = drain->heap[--drain->n_heap];
            if (!drain->n_heap)
                break;
        }
        sift_down(drain);
    }
    deliver(run);
    drain->n_heap = 0;
}

/* Takes the pages that a ring will need next, in the first round through it, if it is filled fast: as much as was read of
 * it, twice. The thread that fills it then finds them; they cost it more than the events that they hold. */
static void take_pages_ahead(const struct cursor *cursor)
{
    const struct ring_reader *reader = &cursor->reader;
    uint64_t taken = reader->position - cursor->started;

    if (taken < reader->subbuffer_size || reader->position >= reader->size)
        return;
    (void)reserve_pages((void *)(uintptr_t)(reader->data + reader->position),
                        (size_t)MIN(2 * taken, reader->size - reader->position));
}

static void note_fullness(struct drain *drain, unsigned n_rings)
{
    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = drain->cursors[i];
        double full;

        if (!cursor || cursor->damaged || cursor->reader.overwrite)
            continue;
        take_pages_ahead(cursor);
        full = (double)(cursor->reader.position - cursor->started) / (double)cursor->reader.size;
        if (full > drain->fullest)
            drain->fullest = full;
    }
}

/* Reports losses in the native trace. A ring with unstored packets reports with them. */
static void report_losses(struct run *run, unsigned number, struct cursor *cursor)
{
    struct ring_reader before = cursor->reader;
    const struct ring_map *map = cursor->reader.map;
    struct ring_packet packet;

    if (__atomic_load_n(&map->closed, __ATOMIC_ACQUIRE) > cursor->reader.position)
        return;
    ring_reader_losses(&cursor->reader, map->clock_pair.ticks, &packet);
    if (run->losses(number, &packet) <= 0)
        cursor->reader = before;
}

static void report_no_ring(struct run *run, uint64_t no_ring)
{
    struct ring_packet packet = {
        .header =
            {
                .magic = CTF_MAGIC,
                .timestamp_begin = run->until,
                .timestamp_end = run->until,
                .content_size = sizeof(packet.header) * 8,
                .packet_size = sizeof(packet.header) * 8,
                .packet_seq_num = run->drain->no_ring_packets,
                .events_discarded = no_ring,
                .pid = (uint32_t)getpid(),
            },
        .content = (const uint8_t *)"",
    };

    if (no_ring > run->drain->no_ring_reported && run->losses(RING_NONE, &packet) > 0) {
        run->drain->no_ring_reported = no_ring;
        run->drain->no_ring_packets++;
    }
}

/* What was dropped and no packet tells of yet: a ring that was full tells with its next packet, which may
 * never come. */
static void report_last_drops(struct run *run, unsigned n_rings)
{
    uint64_t no_ring = ring_drops_without_ring();
    /* All records before this are handed on, and none behind it. */
    uint64_t now = clock_sync_ns(run->times, run->until);

    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = run->drain->cursors[i];
        uint64_t discarded = cursor && !cursor->damaged ? ring_discarded(cursor->reader.map) : 0;

        if (cursor && discarded > cursor->discarded) {
            if (run->records)
                add_dropped(run, now, cursor->reader.map->tid, discarded - cursor->discarded);
            else
                COUNT(events_dropped, discarded - cursor->discarded);
            cursor->discarded = discarded;
        }
        if (cursor && !cursor->damaged && run->losses)
            report_losses(run, i, cursor);
    }
    if (run->losses)
        report_no_ring(run, no_ring);
    if (no_ring > run->drain->no_ring) {
        if (run->records)
            add_dropped(run, now, 0, no_ring - run->drain->no_ring);
        else
            COUNT(events_dropped, no_ring - run->drain->no_ring);
        run->drain->no_ring = no_ring;
    }
    if (run->records)
        deliver(run);
}

void drain_make(struct drain *drain, enum drain_kind kind, packets_function packets,
                records_function records, losses_function losses, const struct clock_sync *times)
{
    unsigned n_rings = ring_count();
    struct run run;

    run.drain = drain;
    run.how = kind == DRAIN_OFTEN && !records ? RING_CLOSED : RING_FLUSH;
    run.packets = packets;
    run.records = records;
    run.losses = losses;
    run.times = times;
    run.until = trace_clock_ticks();
    run.n = 0;
    drain->fullest = 0;
    drain->kept = false;

    drain->n_heap = 0;
    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = get_cursor(drain, i);

        /* Flight recorders are read when they are asked for, not while they fly. */
        if (!cursor && ring_at(i))
            drain->kept = true; /* no memory */
        if (!cursor || cursor->damaged || (cursor->reader.overwrite && kind < DRAIN_ALL))
            continue;
        cursor->started = cursor->reader.position;
        if (!records)
            read_packets(&run, i, cursor);
        else if (find_record(&run, i, cursor))
            heap_add(drain, cursor);
    }
    if (records)
        merge(&run);
    note_fullness(drain, n_rings);
    if (kind >= DRAIN_ALL)
        report_last_drops(&run, n_rings);
}

void drain_keep(struct drain *drain)
{
    drain->fullest = 0;
    drain->kept = !ring_all_taken() || ring_drops_without_ring() > drain->no_ring;
}

uint64_t drain_count_left(struct drain *drain, uint64_t *lost)
{
    uint64_t left = 0;

    for (unsigned i = 0; i < ring_count(); i++) {
        struct cursor *cursor = get_cursor(drain, i), spare;

        if (!cursor && ring_at(i)) { /* no memory */
            cursor = &spare;
            /* To count, no copy is needed. */
            if (cursor_init(cursor, ring_at(i), ring_length(i)) == -ENOMEM)
                cursor->damaged = false;
        }
        while (cursor && cursor_next_packet(cursor, RING_FLUSH) > 0) {
            uint64_t n = packet_count_records(&cursor->packet);

            if (cursor->reader.map->flags & RING_NO_FILE)
                *lost += n;
            else
                left += n;
        }
    }
    return left;
}

uint64_t drain_unreported(const struct drain *drain, bool files, reported_function reported)
{
    uint64_t n = ring_drops_without_ring() - reported(RING_NONE);

    for (unsigned i = 0; i < ring_count(); i++) {
        const struct cursor *cursor = drain->cursors[i];
        const struct ring_map *map = ring_at(i);
        uint64_t lost;

        if (!map || (!files && !(map->flags & RING_NO_FILE)))
            continue;
        lost = ring_discarded(map) + (cursor ? cursor->reader.lost : 0);
        n += lost - MIN(lost, reported(i));
    }
    return n;
}

void drain_forget_losses(struct drain *drain)
{
    for (unsigned i = 0; i < RINGS_MAX; i++)
        if (drain->cursors[i])
            drain->cursors[i]->reader.lost = 0;
}

void drain_done(struct drain *drain)
{
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        if (drain->cursors[i])
            cursor_done(drain->cursors[i]);
        free(drain->cursors[i]);
    }
    memset(drain, 0, sizeof(*drain));
}
