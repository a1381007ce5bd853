/* SPDX-License-Identifier: MIT */
/* The headers of a stream's packets. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "format/ctf/reader.h"

/* ---- Headers ---- */

/* What the functions of the visitor work with. */
struct hearing {
    struct ctf_header_values *heard;
    const struct ctf_cursor *cursor;
};

static void hear_time(const struct hearing *hearing, const struct ctf_type *type, uint64_t value)
{
    unsigned bits = type->is_variable ? hearing->cursor->variable_bits : type->size;
    struct ctf_header_values *heard = hearing->heard;
    uint64_t mask;

    if (bits >= 64) {
        heard->ticks = value;
    } else {
        mask = ~UINT64_C(0) >> (64 - bits);
        heard->ticks += (value - heard->ticks) & mask;
    }
}

static int hear_number(void *arg, const struct ctf_member *member, uint64_t value)
{
    const struct hearing *hearing = arg;
    struct ctf_header_values *heard = hearing->heard;

    heard->values[member->role] = value;
    heard->has |= 1U << member->role;
    if (member->role == CTF_ROLE_TIMESTAMP)
        hear_time(hearing, member->type, value);
    else if (member->role == CTF_ROLE_DISCARDED)
        heard->discarded_bits = member->type->size;
    else if (member->role == CTF_ROLE_SEQUENCE)
        heard->number_bits = member->type->is_variable ? 64 : member->type->size;
    return 0;
}

static int hear_text(void *arg, const struct ctf_member *member, const char *text, uint64_t len)
{
    struct ctf_header_values *heard = ((const struct hearing *)arg)->heard;

    if (member->role == CTF_ROLE_TASK_NAME) {
        heard->name = text;
        heard->name_len = len;
    }
    return 0;
}

static int hear_array(void *arg, const struct ctf_member *member, uint64_t n)
{
    struct ctf_header_values *heard = ((const struct hearing *)arg)->heard;

    if (member->role == CTF_ROLE_UUID && n == sizeof heard->uuid)
        heard->uuid_len = 0;
    return 0;
}

static int hear_element(void *arg, const struct ctf_member *member, uint64_t value)
{
    struct ctf_header_values *heard = ((const struct hearing *)arg)->heard;

    if (member->role == CTF_ROLE_UUID && heard->uuid_len < sizeof heard->uuid)
        heard->uuid[heard->uuid_len++] = (uint8_t)value;
    return 0;
}

static int pass_whole(void *arg, struct ctf_cursor *cursor, const struct ctf_member *member)
{
    (void)arg;
    return ctf_pass(cursor, member);
}

int ctf_walk_header(struct ctf *c, struct ctf_cursor *cursor, const struct ctf_type *type)
{
    struct hearing hearing = {&c->heard, cursor};
    struct ctf_visitor visitor = {.number = hear_number,
                                  .text = hear_text,
                                  .array = hear_array,
                                  .element = hear_element,
                                  .whole = pass_whole,
                                  .arg = &hearing};

    return type ? ctf_walk(cursor, type, &visitor) : 0;
}

/* ---- Packets ---- */

void ctf_put_loss(struct ctf *c, unsigned *n, enum loss_cause cause, uint64_t lost, int64_t since,
                  int64_t until)
{
    struct item *item = &c->items[*n];

    if (*n > 0 && item[-1].cpu == c->cpu)
        item[-1].before_loss = true;
    (*n)++;
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = cause,
        .origin = ctf_origin_of(c),
        .time = until,
        .since = since,
        .lost = lost,
        .cpu = c->cpu,
        .vcpu = VCPU_UNKNOWN,
        .pid = c->tid,
    };
    c->last = until;
}

void ctf_end_gap(struct ctf *c, unsigned *n, int64_t until)
{
    ctf_put_loss(c, n, LOSS_UNREADABLE, LOST_UNKNOWN, c->gap_since, until);
    c->items[*n - 1].skipped = (uint32_t)MIN(c->gap_bytes, (uint64_t)UINT32_MAX);
    c->has_gap = false;
    c->gap_bytes = 0;
}

struct ctf_cursor ctf_cursor_of(const struct ctf *c)
{
    uint64_t there = c->origin + 8 * (uint64_t)input_buffered(&c->in);

    return (struct ctf_cursor){.base = input_at(&c->in),
                               .origin = c->origin,
                               .position = c->position,
                               .end = MIN(there, c->content),
                               .slots = c->slots};
}

/* Moves on to POSITION, or as far as the buffer goes. */
void ctf_move_to(struct ctf *c, uint64_t position)
{
    uint64_t bytes = (position - c->origin) / 8;

    bytes = MIN(bytes, (uint64_t)input_buffered(&c->in));
    input_skip(&c->in, (size_t)bytes);
    c->origin += 8 * bytes;
    c->position = position;
}

static int choose_stream(struct ctf *c)
{
    const struct ctf_layout *layout = &c->trace->layout;
    uint64_t id = ctf_has(&c->heard, CTF_ROLE_STREAM_ID) ? c->heard.values[CTF_ROLE_STREAM_ID] : 0;

    c->class = layout->n_streams == 1 && !ctf_has(&c->heard, CTF_ROLE_STREAM_ID)
                   ? &layout->streams[0]
                   : ctf_layout_find(layout, id);
    if (c->class)
        return 0;
    return ctf_damaged(c, "unknown stream id %" PRIu64 ": the metadata does not declare it", id);
}

/* Other tools leave packets with another UUID than the metadata. If the first packet has one, all of the stream have: they are
 * read, and a note says it. */
static int check_uuid(struct ctf *c)
{
    const struct ctf_header_values *heard = &c->heard;
    struct ctf_trace *trace = c->trace;

    if (heard->uuid_len != sizeof heard->uuid || !trace->metadata.has_uuid ||
        memcmp(heard->uuid, c->foreign ? c->uuid : trace->metadata.uuid, sizeof c->uuid) == 0)
        return 0;
    if (input_offset(&c->in) != 0)
        return ctf_damaged(c, "packet of another trace: its UUID differs");
    memcpy(c->uuid, heard->uuid, sizeof c->uuid);
    c->foreign = true;
    if (trace->n_foreign++ == 0)
        trace->first_foreign = c;
    return 0;
}

/* The sizes that the packet's header gives; POSITION is after the header. */
static int check_sizes(struct ctf *c, uint64_t position)
{
    const struct ctf_header_values *heard = &c->heard;
    bool has_size = ctf_has(heard, CTF_ROLE_PACKET_SIZE);
    bool has_content = ctf_has(heard, CTF_ROLE_CONTENT_SIZE);

    c->size = has_size ? heard->values[CTF_ROLE_PACKET_SIZE] : UINT64_MAX;
    c->content = has_content ? heard->values[CTF_ROLE_CONTENT_SIZE] : c->size;
    if (!has_size && has_content)
        c->size = c->content;
    if ((c->size != UINT64_MAX && c->size % 8) || c->content > c->size || c->content < position)
        return ctf_damaged(c, "invalid packet: size %" PRIu64 " bits, content %" PRIu64 " bits",
                           c->size, c->content);
    return 0;
}

/* Whether the packet is the last one of a CPU that has no events at all: nothing follows the loss, which need not wait for its
 * end. */
static bool is_all_lost(const struct ctf *c)
{
    return !c->has_events && c->cpu != CPU_UNKNOWN && c->size != UINT64_MAX &&
           c->files.next == c->files.n &&
           input_offset(&c->in) + (c->size - c->origin) / 8 >= c->in.size;
}

/* LOST events of the CPU are missing since the packet before, up to END. */
static void put_dropped(struct ctf *c, unsigned *n, uint64_t lost, int64_t end)
{
    bool is_open = is_all_lost(c);

    ctf_put_loss(c, n, LOSS_DROPPED, lost, c->since, is_open ? c->since : end);
    c->items[*n - 1].is_open = is_open;
}

/* Whether a count of BITS bits that is COUNT after BEFORE has begun again, rather than passed its largest value. */
static bool counter_goes_back(uint64_t count, uint64_t before, unsigned bits)
{
    uint64_t mask = ~UINT64_C(0) >> (64 - bits);

    return bits > 16 && ((count - before) & mask) > mask / 2;
}

/* Compares the counts of the packet with the counts of the previous packet. Adds a loss if packets are missing, or if
 * the tracer has begun again, because it is unknown what it lost until then. */
static int check_counts(struct ctf *c, uint64_t begin, unsigned *n)
{
    const struct ctf_header_values *heard = &c->heard;
    uint64_t number = heard->values[CTF_ROLE_SEQUENCE];
    uint64_t discarded = heard->values[CTF_ROLE_DISCARDED];

    bool has_restarted = ctf_has_restarted(c);

    if (ctf_has(heard, CTF_ROLE_DISCARDED) && c->any && discarded < c->discarded &&
        counter_goes_back(discarded, c->discarded, heard->discarded_bits))
        has_restarted = true;
    if (ctf_has(heard, CTF_ROLE_SEQUENCE)) {
        /* Numbers of up to 16 bits wrap, so any step but 0 leads forward. Wider ones that go back are damage. */
        uint64_t mask = ~UINT64_C(0) >> (64 - heard->number_bits);
        uint64_t distance = (number - c->number) & mask;

        /* Some tracers do not number their packets: all have the number 0. */
        bool is_numbered = c->trace->strata || number || c->number;

        if (c->any && is_numbered && !ctf_has_restarted(c) &&
            (distance == 0 || (heard->number_bits > 16 && distance > mask / 2)))
            return ctf_damaged(c, "packet number %" PRIu64 " follows packet number %" PRIu64,
                               number, c->number);
        if (c->any && is_numbered && distance != 1 && !has_restarted)
            put_dropped(c, n, LOST_UNKNOWN, MAX(ctf_to_ns(c->trace, begin), c->last));
        c->number = number;
    }
    if (has_restarted) {
        put_dropped(c, n, LOST_UNKNOWN, MAX(ctf_to_ns(c->trace, begin), c->last));
        c->discarded = 0;
    }
    if (ctf_has(heard, CTF_ROLE_DISCARDED)) {
        uint64_t mask = ~UINT64_C(0) >> (64 - heard->discarded_bits);

        /* Where earlier packets are not kept, this may count losses before what is here: their number as of the packet
         * before is not known, and no loss is hidden. */
        c->pending = (discarded - c->discarded) & mask;
        c->discarded = discarded;
    }
    c->any = true;
    return 0;
}

/* 1: a packet's header was read; 0: not all of it is in the buffer. */
int ctf_open_packet(struct ctf *c, unsigned *n)
{
    struct ctf_header_values *heard = &c->heard;
    struct ctf_cursor cursor;
    uint64_t begin;
    int r;

    c->origin = c->position = 0;
    c->content = UINT64_MAX;
    c->pending = 0;
    heard->has = 0;
    heard->name_len = 0;
    heard->uuid_len = sizeof heard->uuid + 1; /* none */
    cursor = ctf_cursor_of(c);
    r = ctf_walk_header(c, &cursor, c->trace->metadata.packet_header);
    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return ctf_damaged(c, "the packet header does not match the metadata");
    if (ctf_has(heard, CTF_ROLE_MAGIC) && heard->values[CTF_ROLE_MAGIC] != PACKET_MAGIC)
        return ctf_damaged(c, "not a packet: its magic number is missing");
    r = check_uuid(c);
    if (r >= 0)
        r = choose_stream(c);
    if (r < 0)
        return r;
    r = ctf_walk_header(c, &cursor, c->class->decl->packet_context);
    if (r == -EAGAIN)
        return 0;
    if (r < 0)
        return ctf_damaged(c, "the packet context does not match the metadata");
    r = check_sizes(c, cursor.position);
    if (r < 0)
        return r;

    begin = ctf_has(heard, CTF_ROLE_BEGIN) ? heard->values[CTF_ROLE_BEGIN] : heard->ticks;
    c->end = heard->values[CTF_ROLE_END];
    /* The packet that a tracer was writing when it ended has an end of 0: the end is unknown. */
    c->has_end = ctf_has(heard, CTF_ROLE_END) && (c->end != 0 || begin == 0);
    if (!ctf_has_time(c->trace, begin))
        return ctf_time_is_damaged(c, begin);
    if (c->has_end && !ctf_has_time(c->trace, c->end))
        return ctf_time_is_damaged(c, c->end);
    if (c->has_end && c->end < begin)
        return ctf_damaged(c, "the packet ends before it begins");
    c->tid = ctf_has(heard, CTF_ROLE_TID) ? (int32_t)heard->values[CTF_ROLE_TID] : PID_UNKNOWN;
    c->cpu = ctf_has(heard, CTF_ROLE_CPU) ? (int32_t)heard->values[CTF_ROLE_CPU] : CPU_UNKNOWN;
    heard->ticks = begin;
    c->is_repeated = ctf_is_repeated(c);
    if (unlikely(c->has_gap))
        ctf_end_gap(c, n, MAX(ctf_to_ns(c->trace, begin), c->last));
    c->has_events |= c->content > cursor.position;
    r = c->is_repeated ? 0 : check_counts(c, begin, n);
    c->comm = 0;
    if (r >= 0 && heard->name_len)
        r = ctf_note_thread(c, c->tid, heard->name, heard->name_len, &c->comm);
    if (r < 0)
        return r;
    ctf_move_to(c, cursor.position);
    if (c->is_repeated)
        c->content = cursor.position; /* no event of it */
    c->in_packet = true;
    return 1;
}

/* All records of the packet are read: reports dropped events. */
void ctf_end_events(struct ctf *c, unsigned *n)
{
    int64_t end = c->has_end ? MAX(ctf_to_ns(c->trace, c->end), c->last) : c->last;

    if (c->pending)
        put_dropped(c, n, c->pending > INT64_MAX ? LOST_UNKNOWN : c->pending, end);
    c->pending = 0;
    c->since = end;
}
