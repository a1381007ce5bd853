/* SPDX-License-Identifier: MIT */
/* A Perfetto trace: a file of packets, protocol buffers' messages (export/timeline/perfetto.proto), which ui.perfetto.dev
 * and trace_processor open. Source: protos/perfetto/trace/ of Perfetto.
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
 * A packet of an event is put together in place, for its size is bounded before by its class and by the length
 * of its text. Of an event that could be larger than 256 MiB, text and arrays are left out, and "strata.cut" says
 * so. */

#include <limits.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"
#include "event/program.h"
#include "event/value.h"
#include "export/timeline/interned.h"
#include "export/timeline/perfetto_packets.h"
#include "export/timeline/perfetto_wire.h"
#include "export/timeline/slices.h"

/* TrackEvent.type */
enum {
    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,
};

/* Tag, length, tag and number of the name, tag of the value. */
#define HEAD_MAX 10
/* A field that is a number or the head of one that is more. */
#define FIELD_MAX (2 + HEAD_MAX + 2 * VARINT_MAX)
/* What is there beside the fields. */
#define EVENT_MAX 384
/* Bytes that one byte of text or raw memory may become: a message for an element of one byte that is negative,
 * whose number alone takes ten. */
#define GROWTH 16

/* A field: what stands before its value in an annotation. */
struct field_plan {
    uint8_t head[HEAD_MAX - 1];
    uint8_t head_len;
    unsigned called; /* number of "strata.name.FIELD", where values have names */
};

struct class_plan {
    struct field_plan *fields; /* NULL: not made yet */
    unsigned name;             /* numbers of its strings */
    unsigned category;
    unsigned name_value; /* as the value of an annotation */
    bool scalars;        /* has no field that is text or an array */
    bool named;          /* has a field whose values have names */
};

/* Names of slices beyond these are written as they are: what threads call themselves is without end. */
#define SLICE_NAMES_MAX 65536

/* Annotations of our own. */
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

/* The number of a task's name, as it was last asked for. */
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
    struct text scratch; /* what is longer than OUT has room for at once */
    struct text clean;
    struct text named; /* annotations: what values are called */
    struct interned names[PERFETTO_NAMES];
    struct class_plan *classes; /* by class->index */
    unsigned n_classes;
    unsigned own[N_OWN];
    unsigned lost_name;
    struct task tasks[TASKS];
    struct arena arena;
    bool started;
    int error;
};

static struct perfetto *perfetto_of(struct slices *slices)
{
    return container_of(slices, struct perfetto, slices);
}

/* The number of a name, 0: it has none. */
static unsigned number_of(struct perfetto *perfetto, enum perfetto_names names, const char *s,
                          size_t len, unsigned max)
{
    bool is_new = false;
    int number = interned_get(&perfetto->names[names], s, len, max, &is_new);

    if (unlikely(is_new)) {
        int r = perfetto_put_name(perfetto->out, names, (unsigned)number, s, len);

        if (r < 0)
            number = r;
    }
    if (unlikely(number < 0)) {
        perfetto->error = number;
        return 0;
    }
    return (unsigned)number;
}

/* The same of a text that may not be UTF-8. */
static unsigned number_of_text(struct perfetto *perfetto, enum perfetto_names names, const char *s)
{
    struct text *clean = &perfetto->clean;

    clean->next = clean->start;
    utf8_put(clean, s, strnlen(s, INTERNED_LEN_MAX / 3));
    return number_of(perfetto, names, clean->start ? clean->start : "", text_len(clean), UINT_MAX);
}

/* ---- classes ---- */

static unsigned value_tag(const struct field *field)
{
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_CHAR: return WIRE_TAG(ANNOTATION_UINT, WIRE_VARINT);
    case FIELD_INT: return WIRE_TAG(ANNOTATION_INT, WIRE_VARINT);
    case FIELD_BOOL: return WIRE_TAG(ANNOTATION_BOOL, WIRE_VARINT);
    case FIELD_POINTER: return WIRE_TAG(ANNOTATION_POINTER, WIRE_VARINT);
    case FIELD_FLOAT: return WIRE_TAG(ANNOTATION_DOUBLE, WIRE_FIXED64);
    case FIELD_BYTES:
        if (field_is_array(field))
            return WIRE_TAG(ANNOTATION_ARRAY, WIRE_BYTES);
        break;
    default: break;
    }
    return WIRE_TAG(ANNOTATION_STRING, WIRE_BYTES);
}

static bool is_scalar(const struct field *field)
{
    return field->type != FIELD_STRING && field->type != FIELD_BYTES;
}

/* The number of the annotation that tells what a field's value is called. */
static unsigned called_number(struct perfetto *perfetto, const char *field)
{
    struct text *named = &perfetto->named;

    named->next = named->start;
    text_put_literal(named, SLICE_OWN "name.");
    text_put_str(named, field);
    text_put_char(named, '\0');
    return named->error ? 0 : number_of_text(perfetto, PERFETTO_ANNOTATION_NAMES, named->start);
}

static _cold_ struct class_plan *make_class(struct perfetto *perfetto,
                                            const struct event_class *class)
{
    const char *category =
        class->group && *class->group ? class->group : layer_name(class->origin->layer);
    struct class_plan plan = {.scalars = true};

    if (class->index >= perfetto->n_classes) {
        unsigned n = MAX(class->index + 1, perfetto->n_classes * 2);
        struct class_plan *bigger = realloc(perfetto->classes, n * sizeof *bigger);

        if (!bigger)
            return NULL;
        memset(bigger + perfetto->n_classes, 0, (n - perfetto->n_classes) * sizeof *bigger);
        perfetto->classes = bigger;
        perfetto->n_classes = n;
    }
    plan.fields = arena_alloc(&perfetto->arena, (class->n_fields + 1) * sizeof *plan.fields);
    if (!plan.fields)
        return NULL;
    plan.name = number_of_text(perfetto, PERFETTO_EVENT_NAMES, class->name);
    plan.category = number_of_text(perfetto, PERFETTO_CATEGORIES, category);
    plan.name_value = number_of_text(perfetto, PERFETTO_STRINGS, class->name);
    for (unsigned i = 0; i < class->n_fields; i++) {
        struct field_plan *field = &plan.fields[i];
        unsigned number =
            number_of_text(perfetto, PERFETTO_ANNOTATION_NAMES, class->fields[i].name);
        char *p = wire_number((char *)field->head, ANNOTATION_NAME_IID, number);

        p = wire_varint(p, value_tag(&class->fields[i]));
        field->head_len = (uint8_t)(p - (char *)field->head);
        plan.scalars = plan.scalars && is_scalar(&class->fields[i]);
        if (class_may_name(class, i) && is_scalar(&class->fields[i])) {
            plan.named = true;
            field->called = called_number(perfetto, class->fields[i].name);
        }
    }
    perfetto->classes[class->index] = plan;
    return perfetto->error ? NULL : &perfetto->classes[class->index];
}

static inline const struct class_plan *get_class(struct perfetto *perfetto,
                                                 const struct event_class *class)
{
    if (likely(class->index < perfetto->n_classes && perfetto->classes[class->index].fields))
        return &perfetto->classes[class->index];
    return make_class(perfetto, class);
}

/* ---- annotations ---- */

/* An annotation whose value is a varint V behind HEAD. */
static inline char *put_scalar(char *p, const struct field_plan *plan, uint64_t v)
{
    *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    *p++ = (char)(plan->head_len + wire_varint_size(v));
    memcpy(p, plan->head, sizeof plan->head);
    return wire_varint(p + plan->head_len, v);
}

/* The head of an annotation whose value is LEN bytes. */
static char *put_bytes_head(char *p, const struct field_plan *plan, size_t len)
{
    *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    p = wire_varint(p, plan->head_len + wire_varint_size(len) + len);
    memcpy(p, plan->head, plan->head_len);
    return wire_varint(p + plan->head_len, len);
}

static inline bool is_ascii(const char *s, size_t len)
{
    uint64_t all = 0;

    for (; len >= 8; s += 8, len -= 8)
        all |= load_u64(s);
    for (; len > 0; s++, len--)
        all |= (uint8_t)*s;
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

static char *put_string(struct perfetto *perfetto, char *p, const struct field_plan *plan,
                        const char *s, size_t len)
{
    if (unlikely(!is_ascii(s, len))) {
        perfetto->clean.next = perfetto->clean.start;
        utf8_put(&perfetto->clean, s, len);
        if (!perfetto->clean.error) {
            s = perfetto->clean.start;
            len = text_len(&perfetto->clean);
        } else {
            perfetto->error = perfetto->clean.error;
            len = 0;
        }
    }
    p = put_bytes_head(p, plan, len);
    memcpy(p, s, len);
    return p + len;
}

/* Plain bytes, as hexadecimal digits. */
static char *put_hex(char *p, const struct field_plan *plan, const struct value *value)
{
    p = put_bytes_head(p, plan, 2 * (size_t)value->len);
    for (uint32_t i = 0; i < value->len; i++)
        p = number_hex_byte(p, (uint8_t)value->s[i]);
    return p;
}

/* Elements, each a message with a number: the head names the array, then there is one of these for each. */
static char *put_array(char *p, const struct field_plan *plan, const struct field *field,
                       const struct value *value)
{
    unsigned size = field->element;
    char *start;
    unsigned tag_len = wire_varint_size(WIRE_TAG(ANNOTATION_ARRAY, WIRE_BYTES));

    start = p = wire_open(p, EVENT_DEBUG_ANNOTATIONS);
    memcpy(p, plan->head, plan->head_len - tag_len);
    p += plan->head_len - tag_len;
    for (uint32_t at = 0; value->len - at >= size; at += size) {
        uint64_t v = load_uint(value->s + at, size, field->swap);

        if (field->element_signed)
            v = (uint64_t)sign_extend(v, size);
        p = wire_tag(p, ANNOTATION_ARRAY, WIRE_BYTES);
        *p++ = (char)(1 + wire_varint_size(v));
        p = wire_number(p, field->element_signed ? ANNOTATION_INT : ANNOTATION_UINT, v);
    }
    wire_close(start, p);
    return p;
}

static char *put_field(struct perfetto *perfetto, char *p, const struct field_plan *plan,
                       const struct field *field, const struct value *value)
{
    switch (field->type) {
    case FIELD_STRING: return put_string(perfetto, p, plan, value->s, value->len);
    case FIELD_BYTES:
        return field_is_array(field) ? put_array(p, plan, field, value) : put_hex(p, plan, value);
    case FIELD_FLOAT:
        *p++ = (char)WIRE_TAG(EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
        *p++ = (char)(plan->head_len + 8);
        memcpy(p, plan->head, plan->head_len);
        store_le64(p + plan->head_len, value->u);
        return p + plan->head_len + 8;
    case FIELD_BOOL: return put_scalar(p, plan, value->u != 0);
    default: return put_scalar(p, plan, value->u);
    }
}

/* One of our own whose value is the number V, or a string's number. */
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

/* Makes the annotations of what values are called. */
static void name_values(struct perfetto *perfetto, const struct class_plan *plan,
                        const struct item *item, const struct value *values)
{
    struct text *named = &perfetto->named;
    struct text *name = &perfetto->clean;

    named->next = named->start;
    for (unsigned i = 0; i < item->class->n_fields; i++) {
        size_t len;
        char *p;

        if (!plan->fields[i].called)
            continue;
        name->next = name->start;
        if (!item_put_name(item, i, &values[i], name))
            continue;
        len = text_len(name);
        for (char *c = name->start; c < name->next; c++)
            if ((uint8_t)*c >= 0x80) /* from declarations: not worth more */
                *c = '?';
        p = text_room(named, 64);
        p = wire_varint(wire_tag(p, EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES),
                        2 + wire_varint_size(plan->fields[i].called) + wire_varint_size(len) + len);
        p = wire_number(p, ANNOTATION_NAME_IID, plan->fields[i].called);
        named->next = wire_varint(wire_tag(p, ANNOTATION_STRING, WIRE_BYTES), len);
        text_put(named, name->start, len);
    }
    if (named->error || name->error)
        perfetto->error = -ENOMEM;
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
                              .number = number_of_text(perfetto, PERFETTO_STRINGS, name)};
    return task->number;
}

static unsigned vcpu_number(struct perfetto *perfetto, const struct item *item)
{
    struct text name = TEXT_IN_MEMORY;
    unsigned number;

    item->origin->put_vcpu(item->origin, item->vcpu, &name);
    text_put_char(&name, '\0');
    number = name.error ? 0 : number_of_text(perfetto, PERFETTO_STRINGS, name.start);
    text_done(&name);
    return number;
}

/* Numbers of what MARK tells beside its fields, which are looked up before the packet is begun, as new ones are
 * packets of their own. */
struct beside {
    unsigned name; /* of the slice */
    unsigned task;
    unsigned vcpu;
    unsigned cut;
};

static void look_up(struct perfetto *perfetto, const struct slice *slice, struct beside *ret)
{
    struct beside beside = {0};

    if (slice->kind == SLICE_BEGIN)
        beside.name = number_of(perfetto, PERFETTO_EVENT_NAMES, slice->name, slice->name_len,
                                SLICE_NAMES_MAX);
    if (unlikely(slice->cut != NULL))
        beside.cut = number_of_text(perfetto, PERFETTO_STRINGS, slice->cut);
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
    if (item->error_ns)
        p = put_own(perfetto, p, OWN_ERROR_NS, ANNOTATION_UINT, item->error_ns);
    if (unlikely(beside->cut != 0))
        p = put_own(perfetto, p, OWN_CUT, ANNOTATION_STRING_IID, beside->cut);
    return p;
}

/* ---- packets ---- */

/* What stands before a name and annotations. Behind the packet's tag and length, and the event's. */
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

/* How many bytes MARK may need at most, with VALUES. */
static size_t bound(const struct slice *slice, const struct class_plan *plan,
                    const struct value *values)
{
    size_t size = EVENT_MAX + slice->name_len;
    const struct event_class *class;

    if (!plan)
        return size;
    class = slice->item->class;
    size += class->n_fields * (size_t)FIELD_MAX;
    if (!plan->scalars)
        for (unsigned i = 0; i < class->n_fields; i++)
            if (!is_scalar(&class->fields[i]))
                size += GROWTH * (size_t)values[i].len;
    return size;
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
        const struct event_class *class = slice->item->class;

        for (unsigned i = 0; i < class->n_fields; i++)
            if (likely(values[i].present))
                p = put_field(perfetto, p, &plan->fields[i], &class->fields[i], &values[i]);
        if (unlikely(plan->named)) {
            memcpy(p, perfetto->named.start, text_len(&perfetto->named));
            p += text_len(&perfetto->named);
        }
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

/* For an event that no packet could hold: in a damaged or hostile capture, fields may be the same memory again and
 * again. */
static _cold_ void leave_out_texts(const struct event_class *class, struct value *values)
{
    for (unsigned i = 0; i < class->n_fields; i++)
        if (!is_scalar(&class->fields[i]))
            values[i] = (struct value){.s = ""};
}

static void perfetto_mark(struct slices *slices, const struct slice *slice)
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
        plan = get_class(perfetto, slice->item->class);
        if (unlikely(!plan)) {
            perfetto->error = -ENOMEM;
            return;
        }
        item_values(slice->item, values);
    }
    look_up(perfetto, slice, &beside);
    size = bound(slice, plan, values);
    if (unlikely(plan && size > WIRE_LENGTH_MAX)) {
        leave_out_texts(slice->item->class, values);
        beside.cut = number_of_text(perfetto, PERFETTO_STRINGS, "its text is too long");
        size = bound(slice, plan, values);
    }
    if (unlikely(plan && plan->named)) {
        name_values(perfetto, plan, slice->item, values);
        size += text_len(&perfetto->named);
    }
    if (unlikely(size > TEXT_ROOM_MAX)) {
        to = &perfetto->scratch;
        to->next = to->start;
    }
    p = text_room(to, size);
    /* Without memory there is less room than that. */
    if (unlikely(to != perfetto->out && to->error)) {
        perfetto->error = to->error;
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
    int r = perfetto_put_start(perfetto->out, clock, ns, perfetto->slices.options->moments,
                               perfetto->slices.options->n_moments);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < N_OWN; i++)
        perfetto->own[i] = number_of_text(perfetto, PERFETTO_ANNOTATION_NAMES, own_names[i]);
    perfetto->lost_name = number_of_text(perfetto, PERFETTO_EVENT_NAMES, "lost");
    perfetto->started = true;
    return perfetto->error;
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
        r = perfetto->error;
    return r < 0 ? export_no_memory(&sink->error) : 0;
}

static int perfetto_finish(struct sink *sink)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);
    static const struct clock none = {.name = "none", .hz = NANOSECONDS};

    /* A trace without events is one all the same. */
    if (!perfetto->started && start(perfetto, &none, 0) < 0)
        return export_no_memory(&sink->error);
    return 0;
}

static void perfetto_free(struct sink *sink)
{
    struct perfetto *perfetto = container_of(sink, struct perfetto, sink);

    slices_done(&perfetto->slices);
    for (unsigned i = 0; i < PERFETTO_NAMES; i++)
        interned_done(&perfetto->names[i]);
    text_done(&perfetto->scratch);
    text_done(&perfetto->clean);
    text_done(&perfetto->named);
    arena_done(&perfetto->arena);
    free(perfetto->classes);
    free(perfetto);
}

int export_perfetto_open(const struct export_options *options, struct sink **ret_sink,
                         struct error *error)
{
    static const struct sink_ops ops = {
        .put = perfetto_put, .finish = perfetto_finish, .free = perfetto_free};
    static const struct slices_ops slices_ops = {.track = perfetto_track, .slice = perfetto_mark};
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);

    if (!perfetto)
        return export_no_memory(error);
    perfetto->sink.ops = &ops;
    perfetto->out = options->out;
    perfetto->scratch = TEXT_IN_MEMORY;
    perfetto->clean = TEXT_IN_MEMORY;
    perfetto->named = TEXT_IN_MEMORY;
    if (slices_init(&perfetto->slices, options, &slices_ops) < 0) {
        sink_free(&perfetto->sink);
        return export_no_memory(error);
    }
    *ret_sink = &perfetto->sink;
    return 0;
}
