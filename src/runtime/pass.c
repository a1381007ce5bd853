/* SPDX-License-Identifier: MIT */
#include "runtime/pass.h"

#include <stdlib.h>

#include "runtime/counts.h"
#include "runtime/macro.h"

#define PACKETS_AT_ONCE 16
#define RECORDS_AT_ONCE 512

/* What goes on within one pass. */
struct run {
    struct pass *pass;
    enum ring_reading how;
    packets_function packets;
    records_function records;
    const struct times *times;
    uint64_t until; /* ticks: what is later is for the next pass */
    unsigned n;
    struct record batch[RECORDS_AT_ONCE];
};

static struct cursor *get_cursor(struct pass *pass, unsigned number)
{
    struct cursor *cursor = pass->cursors[number];
    struct ring_map *map;

    if (cursor)
        return cursor;
    map = ring_at(number);
    if (!map)
        return NULL; /* is being made */
    cursor = malloc(sizeof(*cursor));
    if (!cursor)
        return NULL;
    cursor_init(cursor, map);
    pass->cursors[number] = cursor;
    return cursor;
}

/* ---- Packets alone: handed on many at once, never looked into ---- */

static void read_packets(struct run *run, unsigned number, struct cursor *cursor)
{
    struct ring_packet packets[PACKETS_AT_ONCE];
    /* Not for ever, should the ring be filled as fast as it is read. A copy is one packet's. */
    unsigned at_once = cursor->copy ? 1 : PACKETS_AT_ONCE;
    unsigned n;

    do {
        for (n = 0; n < at_once && cursor_next_packet(cursor, run->how) > 0; n++) {
            packets[n] = cursor->packet;
            if (packets[n].header.events_discarded > cursor->discarded)
                COUNT(events_dropped, packets[n].header.events_discarded - cursor->discarded);
            cursor->discarded = MAX(cursor->discarded, packets[n].header.events_discarded);
        }
        if (n) {
            cursor->reader.lost += run->packets(number, packets, n);
            cursor_release(cursor);
        }
    } while (n == at_once && cursor->reader.position - cursor->started < cursor->reader.size);
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

/* The packet's records are all gathered: tells of those that were dropped until its end, and hands on
 * what still lies in the packet before it is released. */
static void end_packet(struct run *run, struct cursor *cursor)
{
    const struct ring_packet_header *header = &cursor->packet.header;

    if (unlikely(header->events_discarded > cursor->discarded))
        add_dropped(run, times_ns(run->times, header->timestamp_end), header->tid,
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
        if (run->packets)
            cursor->reader.lost += run->packets(number, &cursor->packet, 1);
        cursor_first(cursor);
    }
    return true;
}

static unsigned number_of(const struct cursor *cursor)
{
    return cursor->reader.map->number;
}

static void sift_down(struct pass *pass)
{
    struct cursor **heap = pass->heap;
    struct cursor *moving = heap[0];
    unsigned i = 0;

    for (;;) {
        unsigned child = 2 * i + 1;

        if (child >= pass->n_heap)
            break;
        if (child + 1 < pass->n_heap && heap[child + 1]->ticks < heap[child]->ticks)
            child++;
        if (heap[child]->ticks >= moving->ticks)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moving;
}

static int heap_add(struct pass *pass, struct cursor *cursor)
{
    unsigned i;

    if (pass->n_heap == pass->heap_size) {
        unsigned size = pass->heap_size ? 2 * pass->heap_size : 16;
        struct cursor **heap = realloc(pass->heap, size * sizeof(struct cursor *));

        if (!heap)
            return -1;
        pass->heap = heap;
        pass->heap_size = size;
    }
    for (i = pass->n_heap++; i > 0 && pass->heap[(i - 1) / 2]->ticks > cursor->ticks;
         i = (i - 1) / 2)
        pass->heap[i] = pass->heap[(i - 1) / 2];
    pass->heap[i] = cursor;
    return 0;
}

/* Takes records of the earliest ring as long as none of another ring comes before them. Returns whether
 * the ring still has a record. */
static bool take_run(struct run *run, struct cursor *cursor, uint64_t bound)
{
    uint32_t tid = cursor->packet.header.tid;

    for (;;) {
        if (unlikely(run->n == RECORDS_AT_ONCE))
            deliver(run);
        run->batch[run->n++] = (struct record){
            .time = times_ns(run->times, cursor->ticks),
            .plan = cursor->plan,
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
    struct pass *pass = run->pass;

    while (pass->n_heap && pass->heap[0]->ticks <= run->until) {
        uint64_t bound = run->until;

        for (unsigned i = 1; i <= 2 && i < pass->n_heap; i++)
            bound = MIN(bound, pass->heap[i]->ticks);
        if (!take_run(run, pass->heap[0], bound)) {
            pass->heap[0] = pass->heap[--pass->n_heap];
            if (!pass->n_heap)
                break;
        }
        sift_down(pass);
    }
    deliver(run);
    pass->n_heap = 0;
}

static void note_fullness(struct pass *pass, unsigned n_rings)
{
    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = pass->cursors[i];
        double full;

        if (!cursor || cursor->damaged || cursor->reader.overwrite)
            continue;
        full = (double)(cursor->reader.position - cursor->started) / (double)cursor->reader.size;
        if (full > pass->fullest)
            pass->fullest = full;
    }
}

/* What was dropped and no packet tells of yet: a ring that was full tells with its next packet, which may
 * never come. */
static void tell_last_drops(struct run *run, unsigned n_rings)
{
    uint64_t homeless = ring_homeless_drops();
    /* All records before this are handed on, and none behind it. */
    uint64_t now = times_ns(run->times, run->until);

    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = run->pass->cursors[i];
        uint64_t discarded = cursor && !cursor->damaged ? ring_discarded(cursor->reader.map) : 0;

        if (cursor && discarded > cursor->discarded) {
            if (run->records)
                add_dropped(run, now, cursor->reader.map->tid, discarded - cursor->discarded);
            else
                COUNT(events_dropped, discarded - cursor->discarded);
            cursor->discarded = discarded;
        }
    }
    if (homeless > run->pass->homeless) {
        if (run->records)
            add_dropped(run, now, 0, homeless - run->pass->homeless);
        else
            COUNT(events_dropped, homeless - run->pass->homeless);
        run->pass->homeless = homeless;
    }
    if (run->records)
        deliver(run);
}

void pass_make(struct pass *pass, enum pass_kind kind, packets_function packets,
               records_function records, const struct times *times)
{
    unsigned n_rings = ring_count();
    struct run run;

    run.pass = pass;
    run.how = kind == PASS_OFTEN && !records ? RING_CLOSED : RING_FLUSH;
    run.packets = packets;
    run.records = records;
    run.times = times;
    run.until = trace_clock_ticks();
    run.n = 0;
    pass->fullest = 0;

    pass->n_heap = 0;
    for (unsigned i = 0; i < n_rings; i++) {
        struct cursor *cursor = get_cursor(pass, i);

        /* Flight recorders are read when they are asked for, not while they fly. */
        if (!cursor || cursor->damaged || (cursor->reader.overwrite && kind < PASS_ALL))
            continue;
        cursor->started = cursor->reader.position;
        if (!records)
            read_packets(&run, i, cursor);
        else if (find_record(&run, i, cursor))
            heap_add(pass, cursor);
    }
    if (records)
        merge(&run);
    note_fullness(pass, n_rings);
    if (kind >= PASS_ALL)
        tell_last_drops(&run, n_rings);
}

void pass_forget_losses(struct pass *pass)
{
    for (unsigned i = 0; i < RINGS_MAX; i++)
        if (pass->cursors[i])
            pass->cursors[i]->reader.lost = 0;
}

void pass_done(struct pass *pass)
{
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        if (pass->cursors[i])
            cursor_done(pass->cursors[i]);
        free(pass->cursors[i]);
    }
    free(pass->heap);
    *pass = (struct pass){0};
}
