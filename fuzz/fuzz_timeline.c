/* SPDX-License-Identifier: MIT */
/* Timelines of any events: what is written must be a Perfetto trace, by libprotobuf-c, with
 * slices that nest and every event once.
 *
 * An item is: a byte that chooses its class (or a loss), a byte each for a step in time (signed), CPU, thread and
 * vCPU, a byte for the error of its time, a byte for how much payload follows; then the payload, of which a class
 * may repeat what there is to become long. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/timeline/perfetto.pb-c.h"

#define TRACKS 4096
#define ITEM_BYTES 7

static const char *const words[] = {"zero", NULL, "two \xff", "t\"hree"};
static const struct value_names some = {.names = words, .n = 4};
static const struct value_names bits = {.names = words, .n = 4, .bits = true};

#define SCALAR(n, t, at, s)                                                  \
    {                                                                        \
        .name = (n), .c_type = "x", .type = (t), .offset = (at), .size = (s) \
    }
static const struct field fields[] = {
    SCALAR("next_pid", FIELD_INT, 0, 2),
    SCALAR("sector", FIELD_UINT, 2, 1),
    SCALAR("nr_sector", FIELD_UINT, 3, 1),
    SCALAR("nsectors", FIELD_UINT, 3, 1),
    SCALAR("dev", FIELD_UINT, 1, 1),
    SCALAR("vdev", FIELD_POINTER, 1, 1),
    SCALAR("req", FIELD_POINTER, 2, 1),
    SCALAR("irq", FIELD_INT, 2, 1),
    SCALAR("id", FIELD_INT, 2, 1),
    SCALAR("__syscall_nr", FIELD_INT, 2, 1),
    SCALAR("state", FIELD_INT, 0, 8),
    SCALAR("cpu_id", FIELD_UINT, 3, 1),
    SCALAR("pointer \"", FIELD_POINTER, 0, 8),
    SCALAR("bool", FIELD_BOOL, 1, 1),
    SCALAR("float", FIELD_FLOAT, 0, 8),
    {.name = "named", .c_type = "x", .size = 1, .names = &some},
    {.name = "bits", .c_type = "x", .size = 1, .names = &bits},
    {.name = "rwbs", .c_type = "x", .type = FIELD_STRING, .storage = STORE_ARRAY, .size = 4},
    {.name = "next_comm",
     .c_type = "x",
     .type = FIELD_STRING,
     .storage = STORE_NUL_ENDED,
     .offset = 1},
    {.name = "raw", .c_type = "x", .type = FIELD_BYTES, .storage = STORE_TO_END, .offset = 2},
    {.name = "shorts",
     .c_type = "x",
     .type = FIELD_BYTES,
     .storage = STORE_TO_END,
     .element = 2,
     .element_signed = true},
    {.name = "longs", .c_type = "x", .type = FIELD_BYTES, .storage = STORE_TO_END, .element = 8},
    {.name = "anywhere",
     .c_type = "x",
     .type = FIELD_STRING,
     .place = PLACE_DATA_LOC,
     .size = 4,
     .storage = STORE_NUL_ENDED},
};

static const struct {
    const char *group, *name;
    enum layer layer;
    unsigned repeat; /* of the payload */
} kinds[] = {
    {"sched", "sched_switch", LAYER_GUEST, 1},
    {"sched", "sched_process_exit", LAYER_GUEST, 1},
    {"syscalls", "sys_enter_read", LAYER_GUEST, 1},
    {"syscalls", "sys_exit_read", LAYER_GUEST, 1},
    {"raw_syscalls", "sys_enter", LAYER_GUEST, 1},
    {"raw_syscalls", "sys_exit", LAYER_GUEST, 1},
    {"block", "block_rq_issue", LAYER_GUEST, 1},
    {"block", "block_rq_complete", LAYER_GUEST, 1},
    {"irq", "irq_handler_entry", LAYER_GUEST, 1},
    {"irq", "irq_handler_exit", LAYER_GUEST, 1},
    {"power", "cpu_frequency", LAYER_GUEST, 1},
    {NULL, "plain \xfe\"", LAYER_GUEST, 30},
    {NULL, "virtio_blk_handle_write", LAYER_VMM, 1},
    {NULL, "virtio_blk_rw_complete", LAYER_VMM, 1},
    {NULL, "job_begin", LAYER_VMM, 1},
    {NULL, "job_end", LAYER_VMM, 1},
    {NULL, "job_start", LAYER_VMM, 1},
    {NULL, "vmentry", LAYER_HYPERVISOR, 1},
    {NULL, "vmexit", LAYER_HYPERVISOR, 1},
    {NULL, "note", LAYER_PROGRAM, 5},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static unsigned number_of(void *arg, const struct origin *origin)
{
    (void)arg;
    return (unsigned)origin->layer;
}

static const char *task_name(const struct origin *origin, int32_t pid)
{
    (void)origin;
    return pid % 3 ? NULL : "t\xc3sk";
}

static void put_vcpu(const struct origin *origin, int32_t vcpu, struct text *text)
{
    (void)origin;
    text_put_literal(text, "d0v");
    text_put_i64(text, vcpu);
}

static void make_classes(struct catalogue *catalogue, struct event_class **classes)
{
    struct origin *origins[LAYER_PROGRAM + 1];

    for (int i = 0; i <= LAYER_PROGRAM; i++) {
        struct origin origin = {.layer = (enum layer)i,
                                .format = "f",
                                .path = "p\xff",
                                .clock = {"monotonic", NANOSECONDS},
                                .task_name = task_name,
                                .put_vcpu = i == LAYER_HYPERVISOR ? put_vcpu : NULL};

        origins[i] = catalogue_add_origin(catalogue, &origin);
        if (!origins[i])
            abort();
    }
    for (unsigned i = 0; i < KINDS; i++) {
        struct event_class class = {.name = kinds[i].name,
                                    .group = kinds[i].group,
                                    .origin = origins[kinds[i].layer],
                                    .fields = fields,
                                    .n_fields = sizeof fields / sizeof fields[0]};

        if (catalogue_add(catalogue, &class, &classes[i]) < 0)
            abort();
    }
}

/* Shows EXPORT all items; returns how many. */
static size_t feed(struct sink *sink, const struct catalogue *catalogue,
                   struct event_class **classes, const uint8_t *data, size_t size)
{
    int64_t time = 1000;
    size_t n = 0;

    while (size >= ITEM_BYTES) {
        unsigned kind = data[0] % (KINDS + 1);
        size_t len = MIN((size_t)data[6], size - ITEM_BYTES);
        struct item item = {.cpu = (data[2] & 15) - 1,
                            .pid = (data[3] & 7) - 1,
                            .vcpu = (data[4] & 7) - 1,
                            .error_ns = data[5]};
        uint8_t *payload = NULL;

        time += (int8_t)data[1];
        item.time = time;
        if (kind == KINDS) {
            item.kind = ITEM_LOSS;
            item.origin = catalogue->origins[data[5] % catalogue->n_origins];
            item.lost = data[6] ? data[6] : LOST_UNKNOWN;
            item.since = data[4] ? time - data[4] : TIME_UNKNOWN;
            item.cause = data[3] & 1 ? LOSS_UNREADABLE : LOSS_DROPPED;
        } else {
            size_t repeat = kinds[kind].repeat;

            payload = malloc(repeat * len + 1);
            if (!payload)
                abort();
            for (size_t i = 0; i < repeat; i++)
                memcpy(payload + i * len, data + ITEM_BYTES, len);
            item.class = classes[kind];
            item.origin = item.class->origin;
            item.payload = payload;
            item.size = (uint32_t)(repeat * len);
        }
        if (sink_put(sink, &item, 1) < 0)
            abort();
        free(payload);
        data += ITEM_BYTES + len;
        size -= ITEM_BYTES + len;
        n++;
    }
    if (sink_finish(sink) < 0)
        abort();
    return n;
}

static bool is_own(const Perfetto__Protos__DebugAnnotation *annotation, uint64_t iid)
{
    return annotation->name_iid == iid;
}

/* Every item is there: an instant, a begin that an event or a loss is told with, or an end that one is. */
static void check_perfetto(const struct text *out, size_t n_items)
{
    static int open[TRACKS];
    Perfetto__Protos__Trace *trace =
        perfetto__protos__trace__unpack(NULL, text_len(out), (const uint8_t *)out->start);
    size_t n = 0;

    if (!trace)
        abort();
    memset(open, 0, sizeof open);
    for (size_t i = 0; i < trace->n_packet; i++) {
        const Perfetto__Protos__TrackEvent *event = trace->packet[i]->track_event;

        if (!event)
            continue;
        if (!event->has_track_uuid || event->track_uuid == 0 || event->track_uuid >= TRACKS)
            abort();
        if (event->type == 1) {
            open[event->track_uuid]++;
            for (size_t k = 0; k < event->n_debug_annotations; k++)
                if (is_own(event->debug_annotations[k], 1) || /* "strata.begin" */
                    is_own(event->debug_annotations[k], 10))  /* "cause" */
                    n++;
        } else if (event->type == 2) {
            if (open[event->track_uuid]-- == 0)
                abort();
            for (size_t k = 0; k < event->n_debug_annotations; k++)
                if (is_own(event->debug_annotations[k], 2)) /* "strata.end" */
                    n++;
        } else if (event->type == 3) {
            n++;
        } else if (event->type != 4) {
            abort();
        }
    }
    perfetto__protos__trace__free_unpacked(trace, NULL);
    if (n != n_items)
        abort();
}

/* What a user may give. */
static const char rules[] = "note: program:note -> program:note by cpu\n"
                            "disk: guest:block_rq_issue(sector) -> vmm:*(sector) again=queue\n"
                            "job: vmm:job_begin -> vmm:job_end by thread again=first\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct catalogue catalogue = {0};
    struct event_class *classes[KINDS];
    struct text out = TEXT_IN_MEMORY;
    struct export_options options = {
        .out = &out, .catalogue = &catalogue, .origin_number = number_of, .errors = true};
    struct span_rule_list list = {0};
    struct arena arena = {0};
    struct sink *sink;
    size_t n;

    if (size > 4000)
        return 0;
    if (span_rules_read(rules, sizeof rules - 1, "rules", &arena, &list, NULL) < 0)
        abort();
    /* By the first byte, which is of no other use than to choose a class. */
    if (size > 0 && data[0] & 1) {
        options.rules = list.rules;
        options.n_rules = list.n;
    }
    make_classes(&catalogue, classes);
    if (export_perfetto_open(&options, &sink, NULL) < 0)
        abort();
    n = feed(sink, &catalogue, classes, data, size);
    sink_free(sink);
    check_perfetto(&out, n);
    text_done(&out);
    catalogue_done(&catalogue);
    span_rule_list_done(&list);
    arena_done(&arena);
    return 0;
}
