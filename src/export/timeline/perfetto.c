/* SPDX-License-Identifier: MIT */
/* Writes a Perfetto trace for ui.perfetto.dev and trace_processor. It is a file of packets, which are messages of
 * protocol buffers (export/timeline/perfetto.proto). Source: protos/perfetto/trace/ of Perfetto.
 *
 *   start         the clock, where it is one that Perfetto knows; all times are of it, in ns
 *   track         when something first happens on it: its number, name, parent and rank
 *   names         when they first occur: each then is a number, in one of four lists
 *   event         time, track, and
 *                 an instant: the class's name, its group as category
 *                 begin, end of a slice: the slice's name, and the class's as the annotation "strata.begin" or
 *                 "strata.end"; or "strata.cut", why it ends
 *                 a value of a counter
 *                 flows: what it has in common with a slice of another layer
 *                 annotations: the event's fields by their names, typed; what a value of FIELD is called, as
 *                 "strata.name.FIELD"; and, all with "strata."
 *                 before, "cpu", "pid", "comm", "vcpu" where the track does not tell, "error_ns" where the time
 *                 may be wrong
 *
 * A loss is a slice called "lost" from when it began, with how many as "lost" and why as "cause".
 *
 * The packet of an event is assembled in place, because its class and the length of its text limit its size. If an
 * event could be larger than 256 MiB, text and arrays are left out, and "strata.cut" says so. */

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "event/program.h"
#include "event/value.h"
#include "export/export.h"
#include "export/timeline/perfetto_fields.h"
#include "export/timeline/perfetto_wire.h"
#include "tracks/slices.h"

/* TrackEvent.type */
enum {
    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,
};

/* Size of a packet without the fields. */
#define EVENT_MAX 384
/* Later names of slices are written in full, because threads may choose any number of names. */
#define SLICE_NAMES_MAX 65536

/* Strata's own annotations. */
enum own {
    OWN_BEGIN,
    OWN_END,
    OWN_CUT,
    OWN_CPU,
    OWN_PID,
    OWN_COMM,
    OWN_VCPU,
    OWN_ERROR_NS,
    OWN_LOST,
    OWN_CAUSE,
    OWN_SKIPPED_BYTES,
    N_OWN,
};

static const char *const own_names[] = {
    SLICE_OWN "begin", SLICE_OWN "end",  SLICE_OWN "cut",      SLICE_OWN "cpu", SLICE_OWN "pid",
    SLICE_OWN "comm",  SLICE_OWN "vcpu", SLICE_OWN "error_ns", "lost",          "cause",
    "skipped_bytes",
};

/* The number of a task's name, as last looked up. */
struct task {
    const struct origin *origin;
    const char *name;
    int32_t pid;
    unsigned number;
};
#define TASKS 256

struct perfetto {
    struct sink sink;
    struct slices slices;
    struct text *out;
    const struct export_options *options;
    struct text scratch; /* for what does not fit into OUT at once */
    struct perfetto_strings strings;
    struct perfetto_fields fields;
    unsigned own[N_OWN];
    unsigned lost_name;
    struct task tasks[TASKS];
    bool started;
};

static struct perfetto *perfetto_of(struct slices *slices)
{
    return container_of(slices, struct perfetto, slices);
}

/* ---- annotations ---- */

/* Puts an annotation of Strata's with the value V, a number or a string's number. */
static char *put_own(const struct perfetto *perfetto, char *p, enum own own, unsigned value,
                     uint64_t v)
{
    char *start = p + 2;

    *p = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    p = wire_number(start, ANNOTATION_NAME_IID, perfetto->own[own]);
    p = wire_number(p, value, v);
    start[-1] = (char)(p - start);
    return p;
}

static unsigned task_number(struct perfetto *perfetto, const struct item *item)
{
    struct task *task = &perfetto->tasks[(uint32_t)item->pid % TASKS];
    const struct origin *origin = item->origin;
    const char *name = item_task_name(item);

    if (!name || !*name)
        return 0;
    if (task->origin != origin || task->pid != item->pid || task->name != name)
        *task = (struct task){.origin = origin,
                              .name = name,
                              .pid = item->pid,
                              .number =
                                  perfetto_text_number(&perfetto->strings, PERFETTO_STRINGS, name)};
    return task->number;
}

static unsigned vcpu_number(struct perfetto *perfetto, const struct item *item)
{
    struct text name = TEXT_IN_MEMORY;
    unsigned number;

    item->origin->put_vcpu(item->origin, item->vcpu, &name);
    text_put_char(&name, '\0');
    number =
        name.error ? 0 : perfetto_text_number(&perfetto->strings, PERFETTO_STRINGS, name.start);
    text_done(&name);
    return number;
}

/* Numbers of SLICE's strings besides its fields. They are looked up before the packet begins, because new strings are
 * packets of their own. */
struct beside {
    unsigned name; /* of the slice */
    unsigned task;
    unsigned vcpu;
    unsigned cut;
    unsigned error; /* says that the error of its time is unknown */
};

static void look_up(struct perfetto *perfetto, const struct slice *slice, struct beside *ret)
{
    struct beside beside = {0};

    if (slice->kind == SLICE_BEGIN)
        beside.name = perfetto_number(&perfetto->strings, PERFETTO_EVENT_NAMES, slice->name,
                                      slice->name_len, SLICE_NAMES_MAX);
    if (unlikely(slice->cut != NULL))
        beside.cut = perfetto_text_number(&perfetto->strings, PERFETTO_STRINGS, slice->cut);
    if (unlikely(slice->item && !item_error_is_known(slice->item)))
        beside.error = perfetto_text_number(&perfetto->strings, PERFETTO_STRINGS, "unknown");
    if (slice->item && slice->item->kind == ITEM_EVENT) {
        if (slice_tells_pid(slice))
            beside.task = task_number(perfetto, slice->item);
        if (unlikely(slice_tells_vcpu(slice) && slice->item->origin->put_vcpu))
            beside.vcpu = vcpu_number(perfetto, slice->item);
    }
    *ret = beside;
}

static char *put_loss(const struct perfetto *perfetto, char *p, const struct item *item)
{
    static const char dropped[] = "dropped";
    static const char unreadable[] = "unreadable";
    bool is_damage = item->cause == LOSS_UNREADABLE;
    const char *cause = is_damage ? unreadable : dropped;
    size_t len = strlen(cause);
    char *start;

    if (item->lost != LOST_UNKNOWN)
        p = put_own(perfetto, p, OWN_LOST, ANNOTATION_UINT, item->lost);
    start = p = wire_open(p, EVENT_DEBUG_ANNOTATIONS);
    p = wire_number(p, ANNOTATION_NAME_IID, perfetto->own[OWN_CAUSE]);
    p = wire_varint(wire_tag(p, ANNOTATION_STRING, WIRE_BYTES), len);
    memcpy(p, cause, len);
    p += len;
    wire_close(start, p);
    return is_damage ? put_own(perfetto, p, OWN_SKIPPED_BYTES, ANNOTATION_UINT, item->skipped) : p;
}

static char *put_beside(const struct perfetto *perfetto, char *p, const struct slice *slice,
                        const struct class_plan *plan, const struct beside *beside)
{
    const struct item *item = slice->item;

    if (slice->kind != SLICE_INSTANT && plan)
        p = put_own(perfetto, p, slice->kind == SLICE_BEGIN ? OWN_BEGIN : OWN_END,
                    ANNOTATION_STRING_IID, plan->name_value);
    if (slice_tells_cpu(slice))
        p = put_own(perfetto, p, OWN_CPU, ANNOTATION_INT, (uint64_t)item->cpu);
    if (slice_tells_pid(slice)) {
        p = put_own(perfetto, p, OWN_PID, ANNOTATION_INT, (uint64_t)item->pid);
        if (beside->task)
            p = put_own(perfetto, p, OWN_COMM, ANNOTATION_STRING_IID, beside->task);
    }
    if (slice_tells_vcpu(slice)) {
        if (beside->vcpu)
            p = put_own(perfetto, p, OWN_VCPU, ANNOTATION_STRING_IID, beside->vcpu);
        else
            p = put_own(perfetto, p, OWN_VCPU, ANNOTATION_INT, (uint64_t)item->vcpu);
    }
    if (unlikely(beside->error != 0))
        p = put_own(perfetto, p, OWN_ERROR_NS, ANNOTATION_STRING_IID, beside->error);
    else if (item->error_ns)
        p = put_own(perfetto, p, OWN_ERROR_NS, ANNOTATION_UINT, item->error_ns);
    if (unlikely(beside->cut != 0))
        p = put_own(perfetto, p, OWN_CUT, ANNOTATION_STRING_IID, beside->cut);
    return p;
}

/* ---- packets ---- */

/* Writes a packet up to the name and the annotations of its event. Packet and event stay open. */
static inline char *begin_event(char *p, int64_t ns, unsigned type, const struct track *track,
                                char **ret_packet, char **ret_event)
{
    *ret_packet = p = wire_open(p, TRACE_PACKET);
    p = wire_number(p, PACKET_TIMESTAMP, (uint64_t)ns);
    p = wire_number(p, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
    p = wire_number(p, PACKET_SEQUENCE_FLAGS, PERFETTO_NEEDS_STATE);
    *ret_event = p = wire_open(p, PACKET_TRACK_EVENT);
    p = wire_number(p, EVENT_TYPE, type);
    return wire_number(p, EVENT_TRACK_UUID, track->number);
}

/* Returns an upper limit of the bytes that SLICE needs with VALUES. */
static size_t bound(const struct slice *slice, const struct class_plan *plan,
                    const struct value *values)
{
    size_t size = EVENT_MAX + slice->name_len;

    return plan ? size + perfetto_fields_size(plan, slice->item->class, values) : size;
}

static char *put_event(struct perfetto *perfetto, char *p, const struct slice *slice,
                       const struct class_plan *plan, const struct value *values,
                       const struct beside *beside)
{
    static const uint8_t types[] = {[SLICE_INSTANT] = TYPE_INSTANT,
                                    [SLICE_BEGIN] = TYPE_SLICE_BEGIN,
                                    [SLICE_END] = TYPE_SLICE_END};
    char *packet;
    char *event;

    p = begin_event(p, slice->ns, types[slice->kind], slice->track, &packet, &event);
    if (plan && slice->kind != SLICE_END)
        p = wire_number(p, EVENT_CATEGORY_IIDS, plan->category);
    if (slice->kind == SLICE_BEGIN && !beside->name) {
        p = wire_varint(wire_tag(p, EVENT_NAME, WIRE_BYTES), slice->name_len);
        memcpy(p, slice->name, slice->name_len);
        p += slice->name_len;
    } else if (slice->kind != SLICE_END) {
        unsigned name =
            slice->kind == SLICE_BEGIN ? beside->name : (plan ? plan->name : perfetto->lost_name);

        p = wire_number(p, EVENT_NAME_IID, name);
    }
    if (unlikely(slice->flow != 0))
        p = wire_fixed64(p, slice->flow_joins ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS,
                         slice->flow);
    if (plan) {
        p = perfetto_fields_put(&perfetto->fields, p, plan, slice->item->class, values);
    } else if (slice->item) {
        p = put_loss(perfetto, p, slice->item);
    }
    if (slice->item)
        p = put_beside(perfetto, p, slice, plan, beside);
    else if (beside->cut)
        p = put_own(perfetto, p, OWN_CUT, ANNOTATION_STRING_IID, beside->cut);
    wire_close(event, p);
    wire_close(packet, p);
    return p;
}

static void put_counter(struct perfetto *perfetto, const struct slice *slice)
{
    char *packet;
    char *event;
    char *p = begin_event(text_room(perfetto->out, EVENT_MAX), slice->ns, TYPE_COUNTER,
                          slice->track, &packet, &event);

    p = wire_number(p, EVENT_COUNTER_VALUE, (uint64_t)slice->value);
    wire_close(event, p);
    wire_close(packet, p);
    perfetto->out->next = p;
}

static void perfetto_slice(struct slices *slices, const struct slice *slice)
{
    struct perfetto *perfetto = perfetto_of(slices);
    const struct class_plan *plan = NULL;
    struct value values[FIELDS_MAX];
    struct beside beside;
    size_t size;
    struct text *to = perfetto->out;
    char *p;

    if (slice->kind == SLICE_COUNTER) {
        put_counter(perfetto, slice);
        return;
    }
    if (slice->item && slice->item->kind == ITEM_EVENT) {
        plan = perfetto_class(&perfetto->fields, slice->item->class);
        if (unlikely(!plan)) {
            perfetto->strings.error = -ENOMEM;
            return;
        }
        item_values(slice->item, values);
    }
    look_up(perfetto, slice, &beside);
    size = bound(slice, plan, values);
    if (unlikely(plan && size > WIRE_LENGTH_MAX)) {
        perfetto_fields_leave_out_texts(slice->item->class, values);
        beside.cut =
            perfetto_text_number(&perfetto->strings, PERFETTO_STRINGS, "its text is too long");
        size = bound(slice, plan, values);
    }
    if (unlikely(plan && plan->named)) {
        perfetto_fields_name(&perfetto->fields, plan, slice->item, values);
        size += text_len(&perfetto->fields.named);
    }
    if (unlikely(size > TEXT_ROOM_MAX)) {
        to = &perfetto->scratch;
        to->next = to->start;
    }
    p = text_room(to, size);
    /* Without memory there is less room than that. */
    if (unlikely(to != perfetto->out && to->error)) {
        perfetto->strings.error = to->error;
        return;
    }
    to->next = put_event(perfetto, p, slice, plan, values, &beside);
    if (unlikely(to != perfetto->out))
        text_put(perfetto->out, to->start, text_len(to));
}

static int perfetto_track(struct slices *slices, const struct track *track)
{
    return perfetto_put_track(perfetto_of(slices)->out, track);
}

/* ---- the sink ---- */

static int start(struct perfetto *perfetto, const struct clock *clock, int64_t ns)
{
    int r = perfetto_put_start(perfetto->out, clock, ns, &perfetto->options->calendar);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < N_OWN; i++)
        perfetto->own[i] =
            perfetto_text_number(&perfetto->strings, PERFETTO_ANNOTATION_NAMES, own_names[i]);
    perfetto->lost_name = perfetto_text_number(&perfetto->strings, PERFETTO_EVENT_NAMES, "lost");
    perfetto->started = true;
    return perfetto->strings.error;
}

static int perfetto_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);
    int r = 0;

    if (unlikely(!perfetto->started && n > 0)) {
        int64_t time = items[0].time == TIME_UNKNOWN ? 0 : items[0].time;

        r = start(perfetto, &items[0].origin->clock, export_ns(&items[0], time));
    }
    if (r >= 0)
        r = slices_put(&perfetto->slices, items, n);
    if (r >= 0)
        r = perfetto->strings.error;
    return r < 0 ? export_no_memory(&sink->error) : 0;
}

static int perfetto_begin_loss(struct sink *sink, const struct item *item)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);

    return slices_begin_loss(&perfetto->slices, item);
}

static int perfetto_finish(struct sink *sink)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);
    static const struct clock none = {.name = "none", .hz = NANOSECONDS};

    /* A trace without events is one all the same. */
    if (!perfetto->started && start(perfetto, &none, 0) < 0)
        return export_no_memory(&sink->error);
    if (slices_finish(&perfetto->slices) < 0 || perfetto->strings.error < 0)
        return export_no_memory(&sink->error);
    return 0;
}

static void perfetto_free(struct sink *sink)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);

    slices_done(&perfetto->slices);
    perfetto_fields_done(&perfetto->fields);
    perfetto_strings_done(&perfetto->strings);
    text_done(&perfetto->scratch);
    free(perfetto);
}

int export_perfetto_open(const struct export_options *options, struct sink **ret_sink,
                         struct error *error)
{
    static const struct sink_ops ops = {.put = perfetto_put,
                                        .begin_loss = perfetto_begin_loss,
                                        .finish = perfetto_finish,
                                        .free = perfetto_free};
    static const struct slices_ops slices_ops = {.track = perfetto_track, .slice = perfetto_slice};
    const struct slices_options slices_options = {
        .catalogue = options->catalogue,
        .origin_number = options->origin_number,
        .origin_arg = options->origin_arg,
        .rules = options->rules,
        .n_rules = options->n_rules,
    };
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);

    if (!perfetto)
        return export_no_memory(error);
    perfetto->sink.ops = &ops;
    perfetto->out = options->out;
    perfetto->options = options;
    perfetto->scratch = TEXT_IN_MEMORY;
    perfetto->strings = (struct perfetto_strings){.out = options->out, .clean = TEXT_IN_MEMORY};
    perfetto->fields =
        (struct perfetto_fields){.strings = &perfetto->strings, .named = TEXT_IN_MEMORY};
    if (slices_init(&perfetto->slices, &slices_options, &slices_ops) < 0) {
        sink_free(&perfetto->sink);
        return export_no_memory(error);
    }
    *ret_sink = &perfetto->sink;
    return 0;
}
