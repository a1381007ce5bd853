/* SPDX-License-Identifier: MIT */
/* Reader of the streams of a trace in CTF. Any layout that the metadata describes is read by walking its
 * types (decode.h). Headers of events whose numbers each have a place, and payloads that are bytes of the stream, have a
 * way of their own (records.c), as they are what matters most. This is libstrata's layout (src/runtime/sinks/sink_ctf.c):
 *
 *   packet    u32 0xc1fc1fc1, 16 bytes UUID of the trace, u32 stream class (0)
 *             u64 begin, u64 end: ticks of the clock
 *             u64 bits of content, with this header
 *             u64 bits of the packet, with padding after the content
 *             u64 number of the packet in its stream
 *             u64 events that were dropped in this stream up to the packet's end
 *             u32 process, u32 thread, 16 bytes the thread's name, filled with NULs
 *             then records
 *
 *   record    begins at a multiple of 8 bytes of the packet:
 *             u16 event id, 48 bits: the low ones of the clock
 *             (together one u64: on little-endian machines time << 16 | id, on others id << 48 | time)
 *             then the fields, without padding; a string with its NUL
 *
 * and this is LTTng's, with compact headers:
 *
 *   packet    magic, UUID and stream class as above, u64 number of the file
 *             u64 begin, u64 end, u64 content, u64 packet, u64 number, u64 dropped, as above; u32 CPU
 *             then records
 *
 *   record    5 bits event id, 27 bits of the clock; where these do not suffice
 *             5 bits 31, then from the next byte on: u32 event id, u64 time
 *             then what contexts were chosen, then the fields
 *
 * Time stamps of fewer than 64 bits are the low ones of the first time that is not before the one read
 * last. A stream's events are in order; what was dropped in a packet, was between the packet before it
 * and its end.
 *
 * Times are handed on as nanoseconds: of CLOCK_MONOTONIC for traces of libstrata, by the reading of both
 * clocks that stands in the metadata, and for those whose clock is called "monotonic"; so they lie on one
 * line of time with simpletrace files and logs of the same machine. Other clocks that state how far they
 * are from 1970 become CLOCK_REALTIME. */
#include "format/ctf/ctf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/bytes.h"
#include "format/ctf/reader.h"

int ctf_damaged(struct ctf *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_put(&c->source.error, -EBADMSG, c->in.path, input_offset(&c->in), 0, format, args);
    va_end(args);
    return -EBADMSG;
}

int ctf_time_is_damaged(struct ctf *c, uint64_t ticks)
{
    return ctf_damaged(c, "invalid time stamp %" PRIu64 ": more than 292 years", ticks);
}

int ctf_out_of_memory(struct ctf *c)
{
    return error_set(&c->source.error, -ENOMEM, c->in.path, "out of memory");
}

/* How far it is to where a packet begins, FROM bytes on at the soonest. False: not in the buffer. */
static bool find_packet(const struct ctf *c, size_t from, size_t *ret)
{
    const uint8_t *p = input_at(&c->in);
    size_t left = input_buffered(&c->in);
    uint32_t magic = c->trace->swap ? __builtin_bswap32(PACKET_MAGIC) : PACKET_MAGIC;
    const uint8_t *found = from < left ? memmem(p + from, left - from, &magic, sizeof magic) : NULL;

    if (found)
        *ret = (size_t)(found - p);
    return found;
}

/* Skips damaged data: the rest of the packet's events, or everything up to the next packet if the length of the packet
 * is unknown. A negative errno: reading fails. */
static int pass_over(struct ctf *c, uint64_t *skipped)
{
    size_t from = 1;
    int r = 1;

    if (c->in_packet && c->size != UINT64_MAX) {
        uint64_t left = c->in.size == UINT64_MAX ? UINT64_MAX : c->in.size - input_offset(&c->in);

        *skipped = MIN((c->content - c->position) / 8, left);
        c->position = c->content;
        return 0;
    }
    c->in_packet = false;
    while (r > 0) {
        size_t there = input_buffered(&c->in);
        size_t next;

        if (find_packet(c, from, &next)) {
            *skipped += next;
            input_skip(&c->in, next);
            return 0;
        }
        /* The magic may lie across the buffer's end. */
        next = c->in.ended ? there : there - MIN(there, (size_t)3);
        from = next ? 0 : there;
        *skipped += next;
        input_skip(&c->in, next);
        r = input_refill(&c->in, &c->source.error);
    }
    return r;
}

/* At the end of the file. If it is known whose CPU's events these were, or that more were recorded, nothing of it follows. */
static void put_open_gap(struct ctf *c, unsigned *n)
{
    bool is_open = c->is_cut || c->cpu != CPU_UNKNOWN;

    if (!c->has_gap)
        c->gap_since = MAX(c->last, c->since);
    ctf_end_gap(c, n, MAX(c->gap_since, c->last));
    c->items[*n - 1].is_open = is_open;
    c->is_cut = false;
}

/* Something is damaged, and R says what. At the file's END nothing follows it. */
static int give_up(struct ctf *c, int r, bool end, unsigned *n)
{
    int64_t from = c->in_packet ? c->last : MAX(c->last, c->since);
    uint64_t skipped = 0;

    if (c->keep_going && r == -EBADMSG) {
        error_clear(&c->source.error);
        r = 0;
        if (end) {
            skipped = input_buffered(&c->in);
            input_skip(&c->in, (size_t)skipped);
            if (c->in_packet)
                ctf_end_events(c, n);
            c->in_packet = false;
        } else {
            r = pass_over(c, &skipped);
        }
    }
    if (r < 0) {
        c->failed = r;
        return *n ? 0 : r;
    }
    if (!c->has_gap)
        c->gap_since = from;
    c->has_gap = true;
    c->gap_bytes += skipped;
    if (end)
        put_open_gap(c, n);
    else if (c->in_packet && c->has_end)
        ctf_end_gap(c, n, MAX(ctf_to_ns(c->trace, c->end), c->last));
    return 0;
}

/* A payload did not fit. */
static int grow(struct ctf *c)
{
    uint8_t *bigger = realloc(c->made, c->made_room * 2);

    if (!bigger)
        return ctf_out_of_memory(c);
    c->made = bigger;
    c->made_room *= 2;
    return 1;
}

/* Skips the packet whose header was read if it ends before `seek_time`, and is not the stream's last one: continues after it, with what its header counts.
 * False: the packet is needed; it is, too, if it says that it ends before the one before it ended, because its events
 * are then of another time. */
static bool skip_packet(struct ctf *c, unsigned *n)
{
    uint64_t begin = input_offset(&c->in) - c->origin / 8;
    struct error error = {0};
    int64_t end = ctf_to_ns(c->trace, c->end);

    if (!c->has_end || !ctf_has(&c->heard, CTF_ROLE_BEGIN) || end < c->since ||
        end >= c->seek_time || c->size == UINT64_MAX ||
        c->size / 8 >= c->in.size - MIN(begin, c->in.size) + (c->files.next < c->files.n))
        return false;
    if (input_seek(&c->in, begin + c->size / 8, &error) < 0)
        return false;
    c->heard.ticks = c->end;
    c->in_packet = false;
    ctf_end_events(c, n);
    return true;
}

/* Opens the next packet that is needed. As ctf_open_packet(). */
static int open_packet(struct ctf *c, unsigned *n)
{
    int r = ctf_open_packet(c, n);

    if (likely(c->seek_time == INT64_MIN) || r <= 0 || skip_packet(c, n))
        return r;
    c->seek_time = INT64_MIN;
    input_set_read_max(&c->in, 0);
    return r;
}

static void ctf_seek(struct source *source, int64_t time)
{
    struct ctf *c = container_of(source, struct ctf, source);

    if (!c->in.seekable || c->in.size == UINT64_MAX)
        return;
    c->seek_time = time;
    input_set_read_max(&c->in, CTF_HEADER_READ);
}

/* One step of reading. 1: go on; 0: the buffer has no more; negative: damage. */
static int step(struct ctf *c, unsigned *n)
{
    uint64_t left;
    int r;

    if (!c->in_packet) {
        if (input_buffered(&c->in) == 0)
            return 0;
        return open_packet(c, n);
    }
    if (c->position < c->content) {
        if (c->content == UINT64_MAX && c->position / 8 - c->origin / 8 == input_buffered(&c->in))
            return 0; /* a file without packets may end here */
        r = c->class->header.known ? ctf_walk_records(c, n) : 2;
        if (r == 2 && *n < RUN_MAX)
            r = ctf_walk_record(c, n);
        if (r == -ENOBUFS && c->made_len == 0)
            return grow(c);
        return r == -ENOBUFS ? 0 : MIN(r, 1);
    }
    ctf_end_events(c, n);
    /* Padding, as far as it is there; it may be more than the buffer. */
    ctf_move_to(c, c->size);
    left = (c->size - c->origin) / 8;
    c->content = c->position = c->size;
    if (left == 0)
        c->in_packet = false;
    return left == 0;
}

/* The file has no more: it may end here, or is damaged. */
static int at_end(struct ctf *c, unsigned *n)
{
    size_t left = input_buffered(&c->in);
    int r;

    if (!c->in_packet && left == 0) {
        if ((c->has_gap || c->is_cut) && c->files.next == c->files.n)
            put_open_gap(c, n);
        return 0;
    }
    if (c->in_packet && c->content == UINT64_MAX && c->position / 8 - c->origin / 8 == left) {
        ctf_end_events(c, n);
        c->in_packet = false;
        input_skip(&c->in, left);
        return 0;
    }
    r = !c->in.ended
            ? ctf_damaged(c, "event or header larger than the buffer of %zu bytes", c->in.capacity)
        : !c->in_packet ? ctf_damaged(c, "the file ends in the middle of a packet header")
                        : ctf_damaged(c, "the file ends in the middle of a packet");
    return give_up(c, r, c->in.ended, n);
}

/* The stream has been read, up to TIME. Whether it was the last of its CPU, and other CPUs go on, as far as is known. */
static bool is_last_of_cpu(struct ctf *c, int64_t time)
{
    struct ctf_cpu *of = c->of_cpu;
    bool goes_on;

    c->of_cpu = NULL;
    if (!of || --of->n_streams > 0)
        return false;
    goes_on = --c->trace->n_cpus > 0 || time < c->trace->end;
    c->trace->end = MAX(c->trace->end, time);
    return goes_on;
}

/* Nothing follows the last of N items: the CPU of an event may not be recorded from here on. */
static void note_end(struct ctf *c, unsigned n)
{
    bool is_last =
        is_last_of_cpu(c, n > 0 ? c->items[n - 1].time : TIME_UNKNOWN) || ctf_is_exported(c->trace);

    if (n > 0 && c->items[n - 1].kind == ITEM_EVENT)
        c->items[n - 1].before_loss = is_last && !origin_is_recorded_to_end(ctf_origin_of(c));
}

/* Holds the last one of N items, which is returned with the items of the next run. */
static int hold_last(struct ctf *c, unsigned *n)
{
    const struct item *item = &c->items[*n - 1];

    c->held = *item;
    if (item->kind == ITEM_EVENT) {
        uint8_t *payload = realloc(c->held_payloads[c->next_held], MAX(item->size, 1u));

        if (!payload)
            return ctf_out_of_memory(c);
        memcpy(payload, item->payload, item->size);
        c->held_payloads[c->next_held] = payload;
        c->next_held ^= 1;
        c->held.payload = payload;
    }
    c->has_held = true;
    (*n)--;
    return 0;
}

static int ctf_next(struct source *source, const struct item **ret_items)
{
    struct ctf *c = container_of(source, struct ctf, source);
    unsigned n = 0, n_held;
    int r;

    if (c->failed)
        return c->failed;
    *ret_items = c->items;
    c->made_len = 0;
    for (;;) {
        size_t before;

        if (c->has_held)
            c->items[n++] = c->held;
        n_held = n;
        c->has_held = false;
        for (r = c->damaged ? -EBADMSG : 1; r > 0 && n < RUN_MAX - LOSSES_MAX;)
            r = step(c, &n);
        /* The last event of a packet is lent with what the packet has lost. */
        if (r >= 0 && c->in_packet && c->position >= c->content)
            ctf_end_events(c, &n);
        if (r < 0) {
            /* What was read is lent first: going on moves the buffer. */
            c->damaged = r == -EBADMSG && c->keep_going && n;
            if (!c->damaged)
                r = give_up(c, r, false, &n);
            if (c->damaged) {
                error_clear(&c->source.error);
                if (c->items[n - 1].cpu == c->cpu)
                    c->items[n - 1].before_loss = true;
                return (int)n;
            }
            if (r < 0)
                return r;
            if (n == 0)
                continue;
            return (int)n;
        }
        /* Before the buffer moves. */
        if (n > n_held) {
            bool has_ended = !c->in_packet || c->position >= c->content;
            bool is_last =
                c->in.ended && input_buffered(&c->in) == 0 && c->files.next == c->files.n;

            if (has_ended && is_last)
                note_end(c, n);
            else if (has_ended) {
                r = hold_last(c, &n);
                if (r < 0)
                    return c->failed = r;
            }
            if (n > 0)
                return (int)n;
            continue;
        }
        before = input_buffered(&c->in);
        r = input_refill(&c->in, &c->source.error);
        if (r < 0) {
            c->failed = r;
            return n ? (int)n : r;
        }
        if (input_buffered(&c->in) > before)
            continue;
        r = at_end(c, &n);
        if (r < 0 || n > n_held)
            return r < 0 ? r : (int)n;
        /* A loss at the begin of the next file may follow what was held. */
        r = ctf_next_file(c);
        if (r == 0 && n > 0) {
            note_end(c, n);
            return (int)n;
        }
        if (r <= 0)
            return c->failed = r;
    }
}

static void ctf_free(struct source *source)
{
    struct ctf *c = container_of(source, struct ctf, source);

    input_done(&c->in);
    ctf_files_done(&c->files);
    text_done(&c->scratch);
    free(c->held_payloads[0]);
    free(c->held_payloads[1]);
    free(c->made);
    free(c->slots);
    free(c);
}

static void ctf_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct ctf *c = container_of(source, struct ctf, source);

    *ret_done = c->files.before + input_offset(&c->in);
    *ret_total = c->in.size == UINT64_MAX ? 0 : c->files.before + c->in.size + c->files.after;
}

static const char *ctf_hint(const struct source *source)
{
    const struct ctf *c = container_of(source, struct ctf, source);

    if (!c->foreign || c->trace->first_foreign != c)
        return NULL;
    return c->trace->n_foreign > 1
               ? "packets of several streams have another UUID than the metadata"
               : "packets of a stream have another UUID than the metadata";
}

static const struct source_ops ctf_ops = {
    .next = ctf_next,
    .free = ctf_free,
    .facts = ctf_facts,
    .progress = ctf_progress,
    .seek = ctf_seek,
    .hint = ctf_hint,
};

int ctf_stream_open(struct ctf_trace *trace, struct input *in, const struct reader_options *options,
                    struct source **ret_source, struct error *error)
{
    struct ctf *c = malloc(sizeof *c);

    if (c) {
        memset(c, 0, offsetof(struct ctf, items));
        c->slots = calloc((size_t)trace->metadata.n_slots + 1, sizeof *c->slots);
        c->made_room = MADE_ROOM;
        c->scratch = TEXT_IN_MEMORY;
        c->made = malloc(c->made_room);
    }
    if (!c || !c->slots || !c->made) {
        if (c) {
            free(c->slots);
            free(c->made);
        }
        free(c);
        input_done(in);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    c->source.ops = &ctf_ops;
    c->source.ordered = trace->strata; /* others may step back, and are put in order */
    c->source.may_restart = !trace->strata;
    c->in = *in;
    c->source.skips = in->seekable && in->size != UINT64_MAX;
    *in = (struct input){.fd = -1};
    c->is_cut = options->is_cut && options->is_cut(options->is_cut_arg, c->in.path);
    c->trace = trace;
    c->keep_going = options->keep_going;
    c->tid = PID_UNKNOWN;
    c->cpu = CPU_UNKNOWN;
    c->last = c->since = TIME_UNKNOWN;
    c->seek_time = INT64_MIN;
    *ret_source = &c->source;
    return 0;
}
