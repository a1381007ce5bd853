/* SPDX-License-Identifier: MIT */
/* What events become on a timeline: slices, flows, what losses cut; and the numbers of fields that are written by
 * hand, against their description. */

#include "cmocka_all.h"

#include <protobuf-c/protobuf-c.h>
#include <stdio.h>
#include <string.h>

#include "event/kernel.h"
#include "event/value.h"
#include "export/export.h"
#include "export/timeline/perfetto.pb-c.h"
#include "export/timeline/perfetto_wire.h"
#include "tracks/slices.h"

/* A recorder of marks: a line each. */
struct record {
    struct slices slices;
    char text[4096];
    size_t len;
};

static int note_track(struct slices *slices, const struct track *track)
{
    (void)slices;
    assert_true(!track->parent || track->parent->number < track->number);
    return 0;
}

static void note_mark(struct slices *slices, const struct slice *slice)
{
    static const char kinds[] = {
        [SLICE_INSTANT] = 'i', [SLICE_BEGIN] = 'B', [SLICE_END] = 'E', [SLICE_COUNTER] = 'C'};
    struct record *record = container_of(slices, struct record, slices);
    char *p = record->text + record->len;
    size_t left = sizeof record->text - record->len;
    int n = snprintf(p, left, "%c %s %d", kinds[slice->kind], slice->track->name, (int)slice->ns);

    if (slice->name)
        n += snprintf(p + n, left - (size_t)n, " %.*s", (int)slice->name_len, slice->name);
    if (slice->cut)
        n += snprintf(p + n, left - (size_t)n, " (%s)", slice->cut);
    if (slice->flow)
        n += snprintf(p + n, left - (size_t)n, " %s%d", slice->flow_joins ? "<-" : "->",
                      (int)slice->flow);
    n += snprintf(p + n, left - (size_t)n, "\n");
    record->len += (size_t)n;
    assert_true(record->len < sizeof record->text);
}

static const struct slices_ops ops = {.track = note_track, .slice = note_mark};

#define NUMBER(n, at)                                                                   \
    {                                                                                   \
        .name = (n), .c_type = "u64", .type = FIELD_UINT, .size = 8, .offset = 8 * (at) \
    }

static const struct field request_fields[] = {
    NUMBER("dev", 0),
    NUMBER("sector", 1),
    NUMBER("nr_sector", 2),
    {.name = "rwbs",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .size = 8,
     .offset = 24},
};
static const struct field vmm_fields[] = {
    NUMBER("vdev", 0),
    NUMBER("req", 1),
    NUMBER("sector", 2),
    NUMBER("nsectors", 3),
};
static const struct field switch_fields[] = {
    NUMBER("next_pid", 0),
    {.name = "next_comm",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .size = 16,
     .offset = 8},
    NUMBER("prev_pid", 3),
};
/* Of a tracer that does not say what ran before. */
#define SWITCH_FIELDS_ALONE 2
static const struct field number_fields[] = {NUMBER("state", 0), NUMBER("cpu_id", 1)};
static const struct field xen_fields[] = {NUMBER("dom", 0), NUMBER("unit", 1)};
static const struct field leave_fields[] = {NUMBER("prev_pid", 0), NUMBER("prev_state", 1)};
static const struct field vector_fields[] = {NUMBER("vector", 0)};
static const struct field syscall_fields[] = {NUMBER("__syscall_nr", 0)};
static const struct field raw_fields[] = {NUMBER("id", 0)};
static const struct field walk_fields[] = {
    {.name = "what", .c_type = "void *", .type = FIELD_POINTER, .size = 8},
};

struct world {
    struct catalogue catalogue;
    struct record record;
    struct origin *guest, *vmm, *xen;
    struct event_class *issue, *complete, *write, *done, *begin, *end, *next, *irq, *irq_end;
    struct event_class *full, *enter, *leave, *raw_enter, *raw_leave, *gone, *left, *frequency;
    struct event_class *walk, *walk_done, *walk_end, *vmexit, *vmentry;
    struct event_class *xen_switch;
    struct event_class *work, *work_begin, *work_end;
    struct event_class *io_start, *io_done, *command, *command_done;
    struct slices_options options;
    struct error error;
};

static struct event_class *add(struct world *world, struct origin *origin, const char *group,
                               const char *name, const struct field *fields, unsigned n)
{
    struct event_class class = {
        .name = name, .group = group, .origin = origin, .fields = fields, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&world->catalogue, &class, &added), 0);
    return added;
}

static unsigned number(void *arg, const struct origin *origin)
{
    const struct world *world = arg;

    return origin == world->vmm;
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct origin guest = {
        .layer = LAYER_GUEST, .format = "made", .path = "g", .clock = {"monotonic", NANOSECONDS}};
    struct origin vmm = guest;
    struct origin xen = guest;

    vmm.layer = LAYER_VMM;
    w->guest = catalogue_add_origin(&w->catalogue, &guest);
    xen.layer = LAYER_HYPERVISOR;
    w->vmm = catalogue_add_origin(&w->catalogue, &vmm);
    w->xen = catalogue_add_origin(&w->catalogue, &xen);
#define ADD(member, origin, group, name, fields) \
    w->member = add(w, w->origin, group, name, fields, ARRAY_SIZE(fields))
    ADD(issue, guest, "block", "block_rq_issue", request_fields);
    ADD(complete, guest, "block", "block_rq_complete", request_fields);
    ADD(write, vmm, NULL, "virtio_blk_handle_write", vmm_fields);
    ADD(done, vmm, NULL, "virtio_blk_rw_complete", vmm_fields);
    ADD(begin, guest, "x", "job_begin", number_fields);
    ADD(end, guest, "x", "job_end", number_fields);
    ADD(full, guest, "sched", "sched_switch", switch_fields);
    w->next = add(w, w->guest, "sched", "sched_switch", switch_fields, SWITCH_FIELDS_ALONE);
    ADD(irq, guest, "irq_vectors", "timer_entry", vector_fields);
    ADD(irq_end, guest, "irq_vectors", "timer_exit", vector_fields);
    ADD(enter, guest, "syscalls", "sys_enter_read", syscall_fields);
    ADD(raw_enter, guest, "raw_syscalls", "sys_enter", raw_fields);
    ADD(raw_leave, guest, "raw_syscalls", "sys_exit", raw_fields);
    ADD(walk, vmm, NULL, "walk_start", walk_fields);
    ADD(walk_done, vmm, NULL, "walk_done", walk_fields);
    ADD(walk_end, vmm, NULL, "walk_end", walk_fields);
    ADD(work, vmm, NULL, "work_start", number_fields);
    ADD(work_begin, vmm, NULL, "work_begin", number_fields);
    ADD(work_end, vmm, NULL, "work_end", number_fields);
    ADD(vmexit, xen, NULL, "vmexit", number_fields);
    ADD(vmentry, xen, NULL, "vmentry", number_fields);
    ADD(xen_switch, xen, NULL, "switch_infnext", xen_fields);
    ADD(leave, guest, "syscalls", "sys_exit_read", syscall_fields);
    ADD(gone, guest, "sched", "sched_process_exit", number_fields);
    ADD(left, guest, "sched", "sched_switch", leave_fields);
    ADD(io_start, guest, "block", "block_io_start", request_fields);
    ADD(io_done, guest, "block", "block_io_done", request_fields);
    ADD(command, guest, "scsi", "scsi_dispatch_cmd_start", number_fields);
    ADD(command_done, guest, "scsi", "scsi_dispatch_cmd_done", number_fields);
    ADD(frequency, guest, "power", "cpu_frequency", number_fields);
    w->options = (struct slices_options){
        .catalogue = &w->catalogue, .origin_number = number, .origin_arg = w};
    slices_init(&w->record.slices, &w->options, &ops);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    slices_done(&w->record.slices);
    catalogue_done(&w->catalogue);
    free(w);
    return 0;
}

/* An event of CLASS with these payload words, whose time may be wrong by ERROR. */
static void emit_about(struct world *w, const struct event_class *class, int64_t time, int cpu,
                       int pid, const uint64_t words[4], uint32_t error)
{
    struct item item = {.time = time,
                        .origin = class->origin,
                        .class = class,
                        .payload = (const uint8_t *)words,
                        .size = 32,
                        .cpu = cpu,
                        .pid = pid,
                        .vcpu = VCPU_UNKNOWN,
                        .error_ns = error};

    assert_int_equal(slices_put(&w->record.slices, &item, 1), 0);
}

static void emit(struct world *w, const struct event_class *class, int64_t time, int cpu, int pid,
                 const uint64_t words[4])
{
    emit_about(w, class, time, cpu, pid, words, 0);
}
#define WORDS(...) ((uint64_t[4]){__VA_ARGS__})

static uint64_t letters(const char *s)
{
    uint64_t v = 0;

    memcpy(&v, s, strlen(s));
    return v;
}

static void lose(struct world *w, int64_t since, int64_t time, int cpu)
{
    struct item item = {.kind = ITEM_LOSS,
                        .time = time,
                        .since = since,
                        .origin = w->guest,
                        .lost = 5,
                        .cpu = cpu,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    assert_int_equal(slices_put(&w->record.slices, &item, 1), 0);
}

/* Nothing of CPU follows, from TIME on. */
static void cut(struct world *w, int64_t time, int cpu)
{
    struct item item = {.kind = ITEM_LOSS,
                        .is_open = true,
                        .time = time,
                        .since = TIME_UNKNOWN,
                        .origin = w->guest,
                        .lost = LOST_UNKNOWN,
                        .cpu = cpu,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    assert_int_equal(slices_put(&w->record.slices, &item, 1), 0);
}

static void expect(struct world *w, const char *expected)
{
    w->record.text[w->record.len] = '\0';
    assert_string_equal(w->record.text, expected);
}

/* A guest's request is the VMM's of the same sectors, whichever is seen first, where there is but one. */
static void test_flows(void **state)
{
    struct world *w = *state;
    uint64_t writes = letters("WS");

    emit(w, w->issue, 1, 0, 5, WORDS(8, 100, 16, writes));
    emit(w, w->write, 2, CPU_UNKNOWN, 9, WORDS(1, 0xa, 100, 16));
    emit(w, w->done, 3, CPU_UNKNOWN, 9, WORDS(1, 0xa));
    emit(w, w->complete, 4, 1, 0, WORDS(8, 100, 16, writes));
    /* Clocks have an error: the effect may be seen first. */
    emit(w, w->write, 5, CPU_UNKNOWN, 9, WORDS(1, 0xa, 200, 16));
    emit(w, w->issue, 6, 0, 5, WORDS(8, 200, 16, writes));
    emit(w, w->complete, 7, 1, 0, WORDS(8, 200, 16, writes));
    emit(w, w->done, 8, CPU_UNKNOWN, 9, WORDS(1, 0xa));
    /* A read is none of a write; of two disks' one cannot know. */
    emit(w, w->issue, 10, 0, 5, WORDS(8, 300, 16, letters("RA")));
    emit(w, w->issue, 11, 0, 5, WORDS(8, 400, 16, writes));
    emit(w, w->issue, 12, 0, 5, WORDS(9, 400, 16, writes));
    emit(w, w->write, 13, CPU_UNKNOWN, 9, WORDS(1, 0xb, 300, 16));
    emit(w, w->write, 14, CPU_UNKNOWN, 9, WORDS(1, 0xc, 400, 16));
    expect(w, "B block 1 1 block WS ->1\n"
              "B virtio_blk 1 2 write <-1\n"
              "E virtio_blk 1 3\n"
              "E block 1 4\n"
              "B virtio_blk 1 5 write ->2\n"
              "B block 1 6 block WS <-2\n"
              "E block 1 7\n"
              "E virtio_blk 1 8\n"
              "B block 1 10 block RA ->3\n"
              "B block 2 11 block WS ->4\n"
              "B block 3 12 block WS ->5\n"
              "B virtio_blk 1 13 write ->6\n"
              "B virtio_blk 2 14 write ->7\n");
}

/* A request that has ended may be open still, within the error of its time. */
static void test_flows_within_errors(void **state)
{
    struct world *w = *state;
    uint64_t writes = letters("WS");

    emit_about(w, w->issue, 100, 0, 5, WORDS(8, 1, 16, writes), 20);
    emit_about(w, w->complete, 110, 0, 5, WORDS(8, 1, 16, writes), 20);
    emit_about(w, w->write, 135, CPU_UNKNOWN, 9, WORDS(1, 0xa, 1, 16), 5);
    emit_about(w, w->done, 136, CPU_UNKNOWN, 9, WORDS(1, 0xa), 5);
    /* Too late to be that one's. */
    emit_about(w, w->issue, 200, 0, 5, WORDS(8, 2, 16, writes), 20);
    emit_about(w, w->complete, 210, 0, 5, WORDS(8, 2, 16, writes), 20);
    emit_about(w, w->write, 236, CPU_UNKNOWN, 9, WORDS(1, 0xa, 2, 16), 5);
    emit_about(w, w->done, 237, CPU_UNKNOWN, 9, WORDS(1, 0xa), 5);
    /* One of two. */
    emit_about(w, w->issue, 300, 0, 5, WORDS(8, 3, 16, writes), 20);
    emit_about(w, w->complete, 301, 0, 5, WORDS(8, 3, 16, writes), 20);
    emit_about(w, w->issue, 302, 0, 5, WORDS(8, 3, 16, writes), 20);
    emit_about(w, w->write, 303, CPU_UNKNOWN, 9, WORDS(1, 0xa, 3, 16), 5);
    expect(w, "B block 1 100 block WS ->1\n"
              "E block 1 110\n"
              "B virtio_blk 1 135 write <-1\n"
              "E virtio_blk 1 136\n"
              "B block 1 200 block WS ->2\n"
              "E block 1 210\n"
              "B virtio_blk 1 236 write ->3\n"
              "E virtio_blk 1 237\n"
              "B block 1 300 block WS ->4\n"
              "E block 1 301\n"
              "B block 1 302 block WS ->5\n"
              "B virtio_blk 1 303 write ->6\n");
}

/* However many are under way, each has its partner; and those that ended without one are not kept. */
static void test_many_flows(void **state)
{
    enum { N = 20000 };
    struct world *w = *state;
    uint64_t writes = letters("WS");
    char expected[64];

    for (uint64_t i = 0; i < N; i++) {
        w->record.len = 0;
        emit(w, w->issue, 1, 0, 5, WORDS(8, i, 16, writes));
    }
    for (uint64_t i = N; i-- > 0;) {
        w->record.len = 0;
        emit(w, w->write, 2, CPU_UNKNOWN, 9, WORDS(1, i, i, 16));
        snprintf(expected, sizeof expected, "B virtio_blk %d 2 write <-%d\n", (int)(N - i),
                 (int)i + 1);
        expect(w, expected);
    }
    assert_int_equal(w->record.slices.flows.n, 2 * N);
    for (uint64_t i = 0; i < N; i++) {
        w->record.len = 0;
        emit(w, w->complete, 3, 0, 5, WORDS(8, i, 16, writes));
        emit(w, w->done, 3, CPU_UNKNOWN, 9, WORDS(1, i));
    }
    assert_int_equal(w->record.slices.flows.n, 0);
    for (uint64_t i = 0; i < N; i++) {
        w->record.len = 0;
        emit(w, w->issue, 4 + (int64_t)i, 0, 5, WORDS(8, i, 16, writes));
        emit(w, w->complete, 4 + (int64_t)i, 0, 5, WORDS(8, i, 16, writes));
    }
    assert_in_range(w->record.slices.flows.n, 1, 2);
}

/* A CPU whose switches do not follow from one another ran something unknown in between, and was not idle. */
static void test_broken_switches(void **state)
{
    struct world *w = *state;

    emit(w, w->full, 1, 0, 0, WORDS(7, letters("a"), 0, 0));
    emit(w, w->full, 2, 0, 7, WORDS(0, 0, 0, 7));
    emit(w, w->full, 3, 0, 0, WORDS(8, letters("b"), 0, 0));
    emit(w, w->full, 4, 0, 8, WORDS(0, 0, 0, 8));
    /* From idle to 9 is missing, then from 10 to 11, and, on another CPU, before the first. */
    emit(w, w->full, 9, 0, 9, WORDS(10, letters("c"), 0, 9));
    emit(w, w->full, 15, 0, 11, WORDS(0, 0, 0, 11));
    emit(w, w->full, 16, 1, 12, WORDS(0, 0, 0, 12));
    /* And what a loss took is not known, either, but for another reason. */
    lose(w, 17, 18, 1);
    emit(w, w->full, 20, 1, 13, WORDS(0, 0, 0, 13));
    expect(w, "B CPU 0 1 a\n"
              "E CPU 0 2\n"
              "B CPU 0 3 b\n"
              "E CPU 0 4\n"
              "B CPU 0 4 unknown\n"
              "E CPU 0 9\n"
              "B CPU 0 9 c\n"
              "E CPU 0 9 (the switch to what ran next is not in the trace)\n"
              "B CPU 0 9 unknown\n"
              "E CPU 0 15\n"
              "i CPU 0 events 15\n"
              "i CPU 1 events 16\n"
              "B CPU 1 lost 17 lost\n"
              "E CPU 1 lost 18\n"
              "B CPU 1 18 unknown\n"
              "E CPU 1 20\n"
              "i CPU 1 events 20\n");
}

/* What runs instead is drawn from the first event that tells it, and what ran up to the last that does. */
static void test_missing_switch(void **state)
{
    static const struct origin_kernel kernel = {.long_size = 8};
    struct world *w = *state;

    w->guest->kernel = &kernel;
    emit(w, w->full, 1, 0, 0, WORDS(7, letters("a"), 0, 0));
    emit(w, w->full, 2, 0, 7, WORDS(0, 0, 0, 7));
    emit(w, w->complete, 5, 0, 0, WORDS(0, 0, 0));
    emit(w, w->complete, 9, 0, 8, WORDS(0, 0, 0)); /* from idle to 8 is missing */
    emit(w, w->complete, 10, 0, 8, WORDS(0, 0, 0));
    emit(w, w->full, 12, 0, 8, WORDS(0, 0, 0, 8));
    expect(w, "B CPU 0 1 a\n"
              "E CPU 0 2\n"
              "i CPU 0 events 5\n"
              "B CPU 0 5 unknown\n"
              "E CPU 0 9\n"
              "B CPU 0 9 8\n"
              "i CPU 0 events 9\n"
              "i CPU 0 events 10\n"
              "E CPU 0 12\n");
}

/* A loss cuts what may have ended in it: what runs on its CPU, and what threads do. */
static void test_losses(void **state)
{
    struct world *w = *state;

    emit(w, w->next, 1, 0, 0, WORDS(7, letters("a")));
    emit(w, w->next, 2, 1, 0, WORDS(8, letters("b\xff")));
    emit(w, w->enter, 3, 0, 7, WORDS(0));
    emit(w, w->irq, 4, 1, 8, WORDS(0));
    lose(w, 5, 9, 0);
    emit(w, w->leave, 10, 0, 7, WORDS(0));
    emit(w, w->irq_end, 11, 1, 8, WORDS(0));
    emit(w, w->next, 12, 1, 8, WORDS(0));
    emit(w, w->next, 13, 0, 7, WORDS(9, letters("c")));
    lose(w, TIME_UNKNOWN, 20, CPU_UNKNOWN);
    expect(w, "B CPU 0 1 a\n"
              "B CPU 1 2 b\xef\xbf\xbd\n"
              "B a 7 3 read\n"
              "B CPU 1 interrupts 4 timer\n"
              "E a 7 5 (events were lost)\n"
              "E CPU 0 5 (events were lost)\n"
              "B CPU 0 lost 5 lost\n"
              "E CPU 0 lost 9\n"
              "i a 7 10\n"
              "E CPU 1 interrupts 11\n"
              "E CPU 1 12\n"
              "B CPU 0 13 c\n"
              "E CPU 0 20 (events were lost)\n"
              "i lost 20\n");
}

/* Of a CPU that has no data, or whose data end early, the loss lasts to the end of the trace. */
static void test_cut(void **state)
{
    struct world *w = *state;

    cut(w, 1, 1);
    emit(w, w->next, 1, 0, 0, WORDS(7, letters("a")));
    cut(w, 5, 0);
    expect(w, "B CPU 1 lost 1 lost\n"
              "B CPU 0 1 a\n"
              "E CPU 0 5 (events were lost)\n"
              "B CPU 0 lost 5 lost\n");
}

/* What a CPU does after the last event of its source is unknown, also of one that is idle, if another source goes on. */
static void test_source_ends_first(void **state)
{
    struct world *w = *state;

    emit(w, w->full, 1, 0, 0, WORDS(7, letters("a"), 0, 0));
    emit(w, w->full, 2, 1, 8, WORDS(0, 0, 0, 8));
    emit(w, w->full, 3, 0, 7, WORDS(9, letters("c"), 0, 7));
    emit(w, w->walk, 9, CPU_UNKNOWN, PID_UNKNOWN, WORDS(0));
    assert_int_equal(slices_finish(&w->record.slices), 0);
    expect(w, "B CPU 0 1 a\n"
              "i CPU 1 events 2\n"
              "E CPU 0 3\n"
              "B CPU 0 3 c\n"
              "B walk 1 9 walk\n"
              "E CPU 0 3 (what came then is not in the trace)\n"
              "B CPU 0 3 unknown\n"
              "B CPU 1 3 unknown\n");
}

/* Of a source that is being recorded, it is unknown after the last event of the CPU. */
static void test_source_is_live(void **state)
{
    struct world *w = *state;

    w->guest->is_live = true;
    emit(w, w->full, 1, 0, 0, WORDS(7, letters("a"), 0, 0));
    emit(w, w->full, 2, 1, 0, WORDS(8, letters("b"), 0, 0));
    assert_int_equal(slices_finish(&w->record.slices), 0);
    expect(w, "B CPU 0 1 a\n"
              "B CPU 1 2 b\n"
              "E CPU 0 1 (what came then is not in the trace)\n"
              "B CPU 0 1 unknown\n");
}

/* What is open when its source's data end is unknown from then on; what has ended is not. */
static void test_source_ends_within(void **state)
{
    struct world *w = *state;

    emit(w, w->enter, 1, 0, 7, WORDS(0));
    emit(w, w->irq, 2, 0, 7, WORDS(0));
    emit(w, w->issue, 3, 0, 7, WORDS(8, 100, 16, letters("W")));
    emit(w, w->vmexit, 4, CPU_UNKNOWN, PID_UNKNOWN, WORDS(0));
    emit(w, w->walk, 9, CPU_UNKNOWN, PID_UNKNOWN, WORDS(0));
    assert_int_equal(slices_finish(&w->record.slices), 0);
    expect(w, "B thread 7 1 read\n"
              "B CPU 0 interrupts 2 timer\n"
              "B block 1 3 block W ->1\n"
              "i events 4\n"
              "B walk 1 9 walk\n"
              "E thread 7 3 (what came then is not in the trace)\n"
              "B thread 7 3 unknown\n"
              "E CPU 0 interrupts 3 (what came then is not in the trace)\n"
              "B CPU 0 interrupts 3 unknown\n"
              "E block 1 3 (what came then is not in the trace)\n"
              "B block 1 3 unknown\n");
}

/* Of a source that is being recorded, its own CPU's data end an interrupt, and a thread may have gone to any CPU. */
static void test_live_source_within(void **state)
{
    struct world *w = *state;

    w->guest->is_live = true;
    emit(w, w->enter, 1, 0, 7, WORDS(0));
    emit(w, w->irq, 2, 0, 7, WORDS(0));
    emit(w, w->irq, 3, 1, 8, WORDS(0));
    emit(w, w->frequency, 4, 0, 0, WORDS(2400000, 1));
    emit(w, w->frequency, 9, 1, 0, WORDS(2400000, 1));
    w->record.len = 0;
    assert_int_equal(slices_finish(&w->record.slices), 0);
    expect(w, "E thread 7 4 (what came then is not in the trace)\n"
              "B thread 7 4 unknown\n"
              "E CPU 0 interrupts 4 (what came then is not in the trace)\n"
              "B CPU 0 interrupts 4 unknown\n");
}

/* CPUs of Xen: after a loss, and where the data end, it is unknown what they run, also if they were idle. */
static void test_xen(void **state)
{
    struct item loss = {.kind = ITEM_LOSS,
                        .time = 6,
                        .since = 5,
                        .lost = 5,
                        .cpu = 0,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};
    struct world *w = *state;

    w->xen->known_until = 8;
    loss.origin = w->xen;
    emit(w, w->xen_switch, 1, 0, PID_UNKNOWN, WORDS(1, 0));
    emit(w, w->xen_switch, 2, 1, PID_UNKNOWN, WORDS(32767, 1));
    assert_int_equal(slices_put(&w->record.slices, &loss, 1), 0);
    emit(w, w->xen_switch, 7, 0, PID_UNKNOWN, WORDS(32767, 0));
    loss.cpu = 1;
    loss.time = loss.since = 7;
    loss.is_open = true;
    assert_int_equal(slices_put(&w->record.slices, &loss, 1), 0);
    emit(w, w->xen_switch, 8, 0, PID_UNKNOWN, WORDS(1, 0));
    emit(w, w->walk, 9, CPU_UNKNOWN, PID_UNKNOWN, WORDS(0));
    assert_int_equal(slices_finish(&w->record.slices), 0);
    expect(w, "B CPU 0 1 d1v0\n"
              "i CPU 1 events 2\n"
              "E CPU 0 5 (events were lost)\n"
              "B CPU 0 6 unknown\n"
              "B CPU 0 lost 5 lost\n"
              "E CPU 0 lost 6\n"
              "E CPU 0 7\n"
              "B CPU 1 7 unknown\n"
              "B CPU 1 lost 7 lost\n"
              "B CPU 0 8 d1v0\n"
              "B walk 1 9 walk\n"
              "E CPU 0 8 (what came then is not in the trace)\n"
              "B CPU 0 8 unknown\n");
}

static void test_threads(void **state)
{
    struct world *w = *state;

    /* Within each other; what is around something ends it. */
    emit(w, w->begin, 1, 0, 7, WORDS(0));
    emit(w, w->begin, 2, 0, 7, WORDS(0));
    emit(w, w->end, 3, 0, 7, WORDS(0));
    emit(w, w->enter, 4, 0, 7, WORDS(0));
    emit(w, w->end, 5, 0, 7, WORDS(0));
    /* An end without a begin. */
    emit(w, w->end, 6, 0, 7, WORDS(0));
    /* Idle threads are one for each CPU. */
    emit(w, w->begin, 7, 0, 0, WORDS(0));
    emit(w, w->begin, 8, 1, 0, WORDS(0));
    emit(w, w->end, 9, 0, 0, WORDS(0));
    /* A time that steps back does not take a slice with it. */
    emit(w, w->begin, 20, 0, 9, WORDS(0));
    emit(w, w->end, 15, 0, 9, WORDS(0));
    emit(w, w->enter, 30, 0, 9, WORDS(0));
    emit(w, w->gone, 31, 0, 9, WORDS(0));
    emit(w, w->frequency, 40, 1, 0, WORDS(2400000, 1));
    expect(w, "B thread 7 1 job\n"
              "B thread 7 2 job\n"
              "E thread 7 3\n"
              "B thread 7 4 read\n"
              "E thread 7 5 (what is around it ends)\n"
              "E thread 7 5\n"
              "i thread 7 6\n"
              "B idle thread of CPU 0 7 job\n"
              "B idle thread of CPU 1 8 job\n"
              "E idle thread of CPU 0 9\n"
              "B thread 9 20 job\n"
              "E thread 9 20\n"
              "B thread 9 30 read\n"
              "i CPU 0 events 31\n"
              "E thread 9 31 (the thread ends)\n"
              "i CPU 1 events 40\n"
              "C frequency of CPU 1 40\n");
}

/* A switch from a thread that is a zombie, or dead, is its last one. */
static void test_last_switch(void **state)
{
    struct world *w = *state;

    emit(w, w->enter, 1, 0, 7, WORDS(0));
    emit(w, w->left, 2, 0, 7, WORDS(7, 1));
    emit(w, w->left, 3, 0, 7, WORDS(7, 0x20));
    emit(w, w->enter, 4, 0, 8, WORDS(0));
    emit(w, w->left, 5, 0, 8, WORDS(8, 0x10));
    /* A thread without events of its own gets no track. */
    emit(w, w->left, 6, 0, 9, WORDS(9, 0x10));
    expect(w, "B thread 7 1 read\n"
              "i CPU 0 events 2\n"
              "i CPU 0 events 3\n"
              "E thread 7 3 (the thread ends)\n"
              "B thread 8 4 read\n"
              "i CPU 0 events 5\n"
              "E thread 8 5 (the thread ends)\n"
              "i CPU 0 events 6\n");
}

/* What a kernel starts in one thread and is done with in an interrupt: it is found by what the request is, or not drawn. */
static void test_done_elsewhere(void **state)
{
    struct world *w = *state;
    uint64_t reads = letters("R");

    emit(w, w->io_start, 1, 0, 7, WORDS(1, 8, 8, reads));
    emit(w, w->io_start, 2, 0, 7, WORDS(1, 16, 8, reads));
    emit(w, w->command, 3, 0, 7, WORDS(0));
    emit(w, w->command_done, 4, 0, 0, WORDS(0));
    emit(w, w->io_done, 5, 0, 0, WORDS(1, 8, 0, reads));
    emit(w, w->io_done, 6, 1, 9, WORDS(1, 16, 0, reads));
    expect(w, "B block io 1 1 block io R\n"
              "B block io 2 2 block io R\n"
              "i CPU 0 events 3\n"
              "i CPU 0 events 4\n"
              "E block io 1 5\n"
              "E block io 2 6\n");
}

/* System calls that two tracers tell of: both are called in the same order at both ends. */
static void test_two_tracers(void **state)
{
    struct world *w = *state;

    emit(w, w->raw_enter, 1, 0, 7, WORDS(0));
    emit(w, w->enter, 2, 0, 7, WORDS(0));
    emit(w, w->raw_leave, 3, 0, 7, WORDS(0));
    emit(w, w->leave, 4, 0, 7, WORDS(0));
    /* One without an end, as rt_sigreturn; and what one of them did not see the begin of. */
    emit(w, w->raw_enter, 5, 0, 7, WORDS(15));
    emit(w, w->raw_enter, 6, 0, 7, WORDS(1));
    emit(w, w->raw_leave, 7, 0, 7, WORDS(1));
    emit(w, w->enter, 8, 0, 7, WORDS(0));
    emit(w, w->raw_leave, 9, 0, 7, WORDS(0));
    emit(w, w->leave, 10, 0, 7, WORDS(0));
    expect(w, "B thread 7 1 syscall 0\n"
              "B thread 7 2 read\n"
              "E thread 7 3\n"
              "E thread 7 4\n"
              "B thread 7 5 syscall 15\n"
              "E thread 7 5 (no end was seen)\n"
              "B thread 7 6 syscall 1\n"
              "E thread 7 7\n"
              "B thread 7 8 read\n"
              "i thread 7 9\n"
              "E thread 7 10\n");
}

/* What names alone tell: each of the ends that there are ends what has the same address, wherever. */
static void test_names(void **state)
{
    struct world *w = *state;

    emit(w, w->walk, 1, CPU_UNKNOWN, 7, WORDS(0xa));
    emit(w, w->walk, 2, CPU_UNKNOWN, 7, WORDS(0xb));
    emit(w, w->walk_done, 3, CPU_UNKNOWN, 8, WORDS(0xa));
    emit(w, w->walk_end, 4, CPU_UNKNOWN, 8, WORDS(0xb));
    emit(w, w->walk_done, 5, CPU_UNKNOWN, 8, WORDS(0xb));
    expect(w, "B walk 1 1 walk\n"
              "B walk 2 2 walk\n"
              "E walk 1 3\n"
              "E walk 2 4\n"
              "i thread 8 5\n");
}

/* An event that ends two slices is in one of them. */
static void test_two_ends(void **state)
{
    struct world *w = *state;

    emit(w, w->work_begin, 1, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work, 2, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work_end, 3, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work, 4, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work_begin, 5, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work_end, 6, CPU_UNKNOWN, 7, WORDS(0));
    emit(w, w->work_end, 7, CPU_UNKNOWN, 7, WORDS(0));
    expect(w, "B thread 7 1 work\n"
              "B thread 7 2 work\n"
              "E thread 7 3 (what is around it ends)\n"
              "E thread 7 3\n"
              "B thread 7 4 work\n"
              "B thread 7 5 work\n"
              "E thread 7 6\n"
              "E thread 7 6\n"
              "i thread 7 7\n");
}

/* A vCPU that leaves its guest twice entered it in between: nothing tells how long it was where. */
static void test_missing_entry(void **state)
{
    struct world *w = *state;
    struct item item = {.origin = w->xen,
                        .payload = (const uint8_t *)WORDS(0),
                        .size = 32,
                        .cpu = 0,
                        .pid = PID_UNKNOWN,
                        .vcpu = 3};
    const struct event_class *classes[] = {w->vmentry, w->vmexit, w->vmexit, w->vmentry};

    for (unsigned i = 0; i < ARRAY_SIZE(classes); i++) {
        item.class = classes[i];
        item.time = i;
        assert_int_equal(slices_put(&w->record.slices, &item, 1), 0);
    }
    expect(w, "B vCPU 3 0 guest\n"
              "E vCPU 3 1\n"
              "B vCPU 3 1 hypervisor: unknown\n"
              "E vCPU 3 1 (no end was seen)\n"
              "B vCPU 3 2 hypervisor: unknown\n"
              "E vCPU 3 3\n"
              "B vCPU 3 3 guest\n");
}

/* Where no end is ever seen, only the first begin is taken for one. */
static void test_no_ends(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 3; i++)
        emit(w, w->enter, i, 0, 7, WORDS(0));
    emit(w, w->leave, 5, 0, 7, WORDS(0));
    emit(w, w->enter, 6, 0, 7, WORDS(0));
    expect(w, "B thread 7 0 read\n"
              "E thread 7 0 (no end was seen)\n"
              "i thread 7 1\n"
              "i thread 7 2\n"
              "i thread 7 5\n"
              "B thread 7 6 read\n");
}

static char put_one(struct world *w, const struct event_class *class, int64_t time, uint64_t sector)
{
    w->record.len = 0;
    emit(w, class, time, 0, 7, WORDS(8, sector, 8, letters("W")));
    return w->record.text[0];
}

/* What is beyond the room for it is shown as events. */
static void test_depth(void **state)
{
    struct world *w = *state;
    unsigned begins = 0;
    unsigned ends = 0;

    for (int i = 0; i < 2 * OPEN_MAX; i++)
        begins += put_one(w, w->begin, i, 0) == 'B';
    assert_int_equal(begins, OPEN_MAX);
    for (int i = 0; i < 2 * OPEN_MAX; i++)
        ends += put_one(w, w->end, 3000 + i, 0) == 'E';
    assert_int_equal(ends, OPEN_MAX);
}

/* Requests that are open all at once, and of which most end in another order, are slices on lanes of their own. */
static void test_100000_requests(void **state)
{
    enum { N = 100000 };
    struct world *w = *state;
    unsigned begins = 0;
    unsigned ends = 0;

    for (uint64_t i = 0; i < N; i++)
        begins += put_one(w, w->issue, (int64_t)i, i) == 'B';
    assert_int_equal(begins, TRACKS_MAX);
    /* Lanes that are free again are used before others, the first one first. */
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(put_one(w, w->complete, N, 100 * i), 'E');
    w->record.len = 0;
    for (uint64_t i = 0; i < 4; i++)
        emit(w, w->issue, N + 1, 0, 7, WORDS(8, N + i, 8, letters("W")));
    expect(w, "B block 101 100001 block W ->65537\n"
              "B block 201 100001 block W ->65538\n"
              "B block 301 100001 block W ->65539\n"
              "i CPU 0 events 100001\n");
    for (uint64_t i = N + 4; i-- > 0;)
        ends += put_one(w, w->complete, N + 2, i) == 'E';
    assert_int_equal(ends, TRACKS_MAX);
    assert_int_equal(put_one(w, w->issue, N + 3, 1), 'B');
}

/* A counter that has a curve of its own keeps it when there are too many for others. */
static void test_many_counters(void **state)
{
    struct world *w = *state;
    struct tracks *tracks = &w->record.slices.tracks;
    struct group *group = tracks_group(tracks, w->guest);
    const struct track *own = tracks_named_counter(tracks, group, "a", 1, 7), *other;

    group->n_counters = TRACKS_MAX;
    assert_ptr_equal(tracks_named_counter(tracks, group, "a", 1, 7), own);
    other = tracks_named_counter(tracks, group, "b", 1, 7);
    assert_ptr_not_equal(other, own);
    assert_ptr_equal(tracks_named_counter(tracks, group, "c", 1, 7), other);
}

/* An event whose fields are the same memory again and again is not written as it is, but as far as it goes. */
static void test_too_long_for_a_packet(void **state)
{
    static struct field same[FIELDS_MAX];
    struct world *w = *state;
    struct text out = TEXT_IN_MEMORY;
    struct item item = {.time = 1, .cpu = 0, .pid = PID_UNKNOWN, .vcpu = VCPU_UNKNOWN};
    const struct event_class *class;
    Perfetto__Protos__Trace *trace;
    struct export_options options = {
        .catalogue = &w->catalogue, .origin_number = number, .origin_arg = w, .out = &out};
    struct sink *sink;
    unsigned n_events = 0;

    for (unsigned i = 0; i < FIELDS_MAX; i++)
        same[i] = (struct field){.name = "raw",
                                 .c_type = "u8[]",
                                 .type = i ? FIELD_BYTES : FIELD_UINT,
                                 .storage = i ? STORE_TO_END : STORE_SCALAR,
                                 .size = 1};
    class = add(w, w->guest, "x", "long", same, FIELDS_MAX);
    item.origin = w->guest;
    item.class = class;
    item.size = 300000;
    item.payload = calloc(1, item.size);
    assert_int_equal(export_perfetto_open(&options, &sink, &w->error), 0);
    assert_int_equal(sink_put(sink, &item, 1), 0);
    assert_int_equal(sink_finish(sink), 0);
    sink_free(sink);
    assert_in_range(text_len(&out), 1, 20000);
    trace =
        perfetto__protos__trace__unpack(NULL, text_len(&out), (const uint8_t *)(void *)out.start);
    assert_non_null(trace);
    for (size_t i = 0; i < trace->n_packet; i++)
        if (trace->packet[i]->track_event) {
            n_events++;
            /* The number, and that it was cut. */
            assert_int_equal(trace->packet[i]->track_event->n_debug_annotations, 2);
        }
    assert_int_equal(n_events, 1);
    perfetto__protos__trace__free_unpacked(trace, NULL);
    free((void *)(uintptr_t)item.payload);
    text_done(&out);
}

static void check_field(const ProtobufCMessageDescriptor *message, const char *name,
                        unsigned wanted, enum wire_type wire)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message, name);
    enum wire_type type = WIRE_VARINT;

    assert_non_null(field);
    assert_int_equal(field->id, wanted);
    if (field->type == PROTOBUF_C_TYPE_FIXED64 || field->type == PROTOBUF_C_TYPE_DOUBLE)
        type = WIRE_FIXED64;
    else if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
        type = WIRE_BYTES;
    assert_int_equal(type, wire);
}

static void test_numbers_of_fields(void **state)
{
    const ProtobufCMessageDescriptor *packet = &perfetto__protos__trace_packet__descriptor;
    const ProtobufCMessageDescriptor *event = &perfetto__protos__track_event__descriptor;
    const ProtobufCMessageDescriptor *note = &perfetto__protos__debug_annotation__descriptor;

    (void)state;
    check_field(&perfetto__protos__trace__descriptor, "packet", TRACE_PACKET, WIRE_BYTES);
    check_field(packet, "timestamp", PACKET_TIMESTAMP, WIRE_VARINT);
    check_field(packet, "trusted_packet_sequence_id", PACKET_SEQUENCE_ID, WIRE_VARINT);
    check_field(packet, "track_event", PACKET_TRACK_EVENT, WIRE_BYTES);
    check_field(packet, "sequence_flags", PACKET_SEQUENCE_FLAGS, WIRE_VARINT);
    check_field(event, "category_iids", EVENT_CATEGORY_IIDS, WIRE_VARINT);
    check_field(event, "debug_annotations", EVENT_DEBUG_ANNOTATIONS, WIRE_BYTES);
    check_field(event, "type", EVENT_TYPE, WIRE_VARINT);
    check_field(event, "name_iid", EVENT_NAME_IID, WIRE_VARINT);
    check_field(event, "track_uuid", EVENT_TRACK_UUID, WIRE_VARINT);
    check_field(event, "name", EVENT_NAME, WIRE_BYTES);
    check_field(event, "counter_value", EVENT_COUNTER_VALUE, WIRE_VARINT);
    check_field(event, "flow_ids", EVENT_FLOW_IDS, WIRE_FIXED64);
    check_field(event, "terminating_flow_ids", EVENT_TERMINATING_FLOW_IDS, WIRE_FIXED64);
    check_field(note, "name_iid", ANNOTATION_NAME_IID, WIRE_VARINT);
    check_field(note, "bool_value", ANNOTATION_BOOL, WIRE_VARINT);
    check_field(note, "uint_value", ANNOTATION_UINT, WIRE_VARINT);
    check_field(note, "int_value", ANNOTATION_INT, WIRE_VARINT);
    check_field(note, "double_value", ANNOTATION_DOUBLE, WIRE_FIXED64);
    check_field(note, "string_value", ANNOTATION_STRING, WIRE_BYTES);
    check_field(note, "pointer_value", ANNOTATION_POINTER, WIRE_VARINT);
    check_field(note, "array_values", ANNOTATION_ARRAY, WIRE_BYTES);
    check_field(note, "string_value_iid", ANNOTATION_STRING_IID, WIRE_VARINT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_flows),
        TEST(test_flows_within_errors),
        TEST(test_many_flows),
        TEST(test_losses),
        TEST(test_cut),
        TEST(test_source_ends_first),
        TEST(test_source_is_live),
        TEST(test_source_ends_within),
        TEST(test_live_source_within),
        TEST(test_xen),
        TEST(test_broken_switches),
        TEST(test_missing_switch),
        TEST(test_threads),
        TEST(test_last_switch),
        TEST(test_done_elsewhere),
        TEST(test_two_tracers),
        TEST(test_names),
        TEST(test_two_ends),
        TEST(test_missing_entry),
        TEST(test_no_ends),
        TEST(test_depth),
        TEST(test_100000_requests),
        TEST(test_many_counters),
        TEST(test_too_long_for_a_packet),
        cmocka_unit_test(test_numbers_of_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
