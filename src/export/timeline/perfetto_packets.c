/* SPDX-License-Identifier: MIT */
#include "export/timeline/perfetto_packets.h"

#include <string.h>

#include "export/timeline/perfetto.pb-c.h"
#include "export/timeline/perfetto_wire.h"

/* Shorter names for the generated types. */
typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackDescriptor TrackDescriptor;
typedef Perfetto__Protos__ClockSnapshot ClockSnapshot;
typedef Perfetto__Protos__ClockSnapshot__Clock Clock;
typedef Perfetto__Protos__InternedData InternedData;

/* TrackDescriptor.child_ordering and .sibling_merge_behavior: by rank; never. */
#define ORDERING_EXPLICIT 3
#define MERGE_NONE 2

#define REALTIME 1

/* The numbers of Perfetto's clocks by their names here. */
static const struct {
    const char *name;
    uint32_t id;
} clocks[] = {
    {"realtime", REALTIME},
    {"monotonic", 3},
    {"mono_raw", 5},
    {"boot", 6},
};

static int put_packet(struct text *out, Packet *packet)
{
    size_t size;
    _cleanup_free_ uint8_t *bytes = NULL;
    char *p;

    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = PERFETTO_SEQUENCE;
    packet->has_sequence_flags = true;
    packet->sequence_flags |= PERFETTO_NEEDS_STATE;
    size = perfetto__protos__trace_packet__get_packed_size(packet);
    bytes = malloc(size);
    if (!bytes)
        return -ENOMEM;
    perfetto__protos__trace_packet__pack(packet, bytes);
    p = wire_tag(text_room(out, 2 * VARINT_MAX), TRACE_PACKET, WIRE_BYTES);
    out->next = wire_varint(p, size);
    text_put(out, (const char *)bytes, size);
    return 0;
}

/* Returns the number of CLOCK, or 0 if Perfetto does not have it. */
static uint32_t clock_id(const struct clock *clock)
{
    for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
        if (strcmp(clocks[i].name, clock->name) == 0)
            return clocks[i].id;
    return 0;
}

/* Puts that the clock ID shows NS when the time of day is REALTIME_NS (0: unknown). */
static int put_snapshot(struct text *out, uint32_t id, int64_t ns, int64_t realtime_ns)
{
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
    Clock one = PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT;
    Clock other = one;
    Clock *all[] = {&one, &other};

    one.has_clock_id = other.has_clock_id = true;
    one.has_timestamp = other.has_timestamp = true;
    one.clock_id = id;
    one.timestamp = (uint64_t)ns;
    other.clock_id = REALTIME;
    other.timestamp = (uint64_t)realtime_ns;
    snapshot.clocks = all;
    snapshot.n_clocks = realtime_ns && id != REALTIME ? 2 : 1;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = id;
    packet.clock_snapshot = &snapshot;
    return put_packet(out, &packet);
}

int perfetto_put_start(struct text *out, const struct clock *clock, int64_t ns,
                       const struct calendar *calendar)
{
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    Perfetto__Protos__TracePacketDefaults defaults = PERFETTO__PROTOS__TRACE_PACKET_DEFAULTS__INIT;
    uint32_t id = clock_id(clock);
    int r;

    if (id) {
        defaults.has_timestamp_clock_id = true;
        defaults.timestamp_clock_id = id;
    }
    packet.sequence_flags = PERFETTO_STATE_CLEARED;
    packet.has_first_packet_on_sequence = true;
    packet.first_packet_on_sequence = true;
    packet.trace_packet_defaults = &defaults;
    r = put_packet(out, &packet);
    if (id && calendar->n_moments == 0 && r >= 0)
        r = put_snapshot(out, id, ns, 0);
    for (unsigned i = 0; id && i < calendar->n_moments && r >= 0; i++)
        r = put_snapshot(out, id, calendar->moments[i].ns, calendar->moments[i].unix_ns);
    return r;
}

int perfetto_put_track(struct text *out, const struct track *track)
{
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    TrackDescriptor descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
    Perfetto__Protos__CounterDescriptor counter = PERFETTO__PROTOS__COUNTER_DESCRIPTOR__INIT;

    descriptor.has_uuid = true;
    descriptor.uuid = track->number;
    descriptor.name = (char *)(uintptr_t)track->name;
    if (track->parent) {
        descriptor.has_parent_uuid = true;
        descriptor.parent_uuid = track->parent->number;
    }
    descriptor.has_child_ordering = true;
    descriptor.child_ordering = ORDERING_EXPLICIT;
    descriptor.has_sibling_order_rank = true;
    descriptor.sibling_order_rank = track->rank;
    descriptor.has_sibling_merge_behavior = true;
    descriptor.sibling_merge_behavior = MERGE_NONE;
    if (track->kind == TRACK_COUNTER) {
        counter.unit_name = (char *)(uintptr_t)track->unit;
        descriptor.counter = &counter;
    }
    packet.track_descriptor = &descriptor;
    return put_packet(out, &packet);
}

int perfetto_put_name(struct text *out, enum perfetto_names names, unsigned number, const char *s,
                      size_t len)
{
    Packet packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;
    InternedData data = PERFETTO__PROTOS__INTERNED_DATA__INIT;
    Perfetto__Protos__InternedName name = PERFETTO__PROTOS__INTERNED_NAME__INIT;
    Perfetto__Protos__InternedString string = PERFETTO__PROTOS__INTERNED_STRING__INIT;
    Perfetto__Protos__InternedName *all_names[] = {&name};
    Perfetto__Protos__InternedString *all_strings[] = {&string};
    _cleanup_free_ char *copy = malloc(len + 1);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, s, len);
    copy[len] = '\0';
    name.has_iid = string.has_iid = true;
    name.iid = string.iid = number;
    name.name = copy;
    string.has_str = true;
    string.str = (ProtobufCBinaryData){.data = (uint8_t *)copy, .len = len};
    switch (names) {
    case PERFETTO_CATEGORIES:
        data.event_categories = all_names;
        data.n_event_categories = 1;
        break;
    case PERFETTO_EVENT_NAMES:
        data.event_names = all_names;
        data.n_event_names = 1;
        break;
    case PERFETTO_ANNOTATION_NAMES:
        data.debug_annotation_names = all_names;
        data.n_debug_annotation_names = 1;
        break;
    default:
        data.debug_annotation_string_values = all_strings;
        data.n_debug_annotation_string_values = 1;
        break;
    }
    packet.interned_data = &data;
    return put_packet(out, &packet);
}
