/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "analysis/io.h"
#include "base/macro.h"
#include "event/clock_error.h"
#include "event/kernel.h"

#define SOURCES 6
/* More than the tracker remembers at a time. */
#define REQUESTS 20000

#define NUMBER(field, at, bytes)                                                            \
    {                                                                                       \
        .name = (field), .c_type = "u", .type = FIELD_UINT, .offset = (at), .size = (bytes) \
    }

struct payload {
    uint64_t sector;
    uint32_t dev, nr_sector;
    char rwbs[8];
};

static const struct field fields[] = {
    NUMBER("sector", offsetof(struct payload, sector), 8),
    NUMBER("dev", offsetof(struct payload, dev), 4),
    NUMBER("nr_sector", offsetof(struct payload, nr_sector), 4),
    {.name = "rwbs",
     .c_type = "char[8]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .offset = offsetof(struct payload, rwbs),
     .size = 8},
};
static const struct origin_kernel a_kernel = {.long_size = 8};

struct world {
    struct catalogue catalogue;
    struct io_tracker tracker;
    unsigned n, n_queued;
    int64_t now;
    const char *rwbs;    /* of the events; NULL: they read */
    int32_t pid;         /* of the events */
    int32_t request_pid; /* of the last request */
    int32_t group_pid;   /* of what begin() was given */
    bool unsteady;       /* of the events, too */
    bool begins_loss;    /* the events are before a loss */
    uint32_t own_error;  /* of the last request */
};

static const struct event_class *add(struct world *w, const struct origin *origin, const char *name)
{
    struct event_class class = {.name = name,
                                .group = "block",
                                .origin = origin,
                                .fields = fields,
                                .n_fields = ARRAY_SIZE(fields)};
    struct event_class *added;

    assert_int_equal(catalogue_add(&w->catalogue, &class, &added), 0);
    return added;
}

static int count(void *arg, const struct io_request *request)
{
    struct world *w = arg;

    w->n++;
    w->n_queued += request->at[IO_QUEUED] != TIME_UNKNOWN;
    w->request_pid = request->pid;
    w->own_error = io_request_error(request, IO_ISSUED, IO_COMPLETED);
    assert_int_equal(request->vmm_error_ns, 0);
    return 0;
}

static uint32_t note_begin(void *arg, const struct item *item)
{
    struct world *w = arg;

    w->group_pid = item->pid;
    return 0;
}

static const struct io_tracker_ops ops = {.request = count, .begin = note_begin};

static void put(struct world *w, const struct event_class *class, uint64_t sector)
{
    struct payload payload = {.sector = sector, .dev = 8 << 20, .nr_sector = 8};
    struct item item = {.kind = ITEM_EVENT,
                        .time = ++w->now,
                        .origin = class->origin,
                        .class = class,
                        .payload = (const uint8_t *)&payload,
                        .size = sizeof payload,
                        .pid = w->pid,
                        .vcpu = VCPU_UNKNOWN,
                        .before_loss = w->begins_loss,
                        .error_ns = 7,
                        .clock_part = w->unsteady ? CLOCK_UNSTEADY : 0};

    memcpy(payload.rwbs, w->rwbs ? w->rwbs : "R", strlen(w->rwbs ? w->rwbs : "R"));
    assert_int_equal(io_tracker_put(&w->tracker, &item, 1), 0);
}

/* What of too many requests is remembered does not depend on where a source is in memory. */
static void test_forgets_the_same(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = clock, .kernel = &a_kernel};
    unsigned n_queued = 0;
    struct world w = {0};

    (void)state;
    for (unsigned i = 0; i < SOURCES; i++) {
        const struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
        const struct event_class *queue = add(&w, source, "block_bio_queue");
        const struct event_class *issue = add(&w, source, "block_rq_issue");
        const struct event_class *complete = add(&w, source, "block_rq_complete");

        assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
        w.n = w.n_queued = 0;
        for (uint64_t j = 0; j < REQUESTS; j++)
            put(&w, queue, 8 * j);
        for (uint64_t j = 0; j < REQUESTS; j++) {
            put(&w, issue, 8 * j);
            put(&w, complete, 8 * j);
        }
        assert_int_equal(io_tracker_finish(&w.tracker), 0);
        io_tracker_done(&w.tracker);
        /* Of those that it forgot, the begin is not known. */
        assert_int_equal(w.n, w.n_queued);
        assert_in_range(w.n_queued, REQUESTS / 2, REQUESTS - 1);
        if (i == 0)
            n_queued = w.n_queued;
        assert_int_equal(w.n_queued, n_queued);
    }
    catalogue_done(&w.catalogue);
}

/* Durations within a layer have an error where its clock was not steady at a point. */
static void test_unsteady(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_GUEST, .format = "made", .path = "g", .clock = clock, .kernel = &a_kernel};
    struct world w = {0};
    const struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
    const struct event_class *queue = add(&w, source, "block_bio_queue");
    const struct event_class *issue = add(&w, source, "block_rq_issue");
    const struct event_class *complete = add(&w, source, "block_rq_complete");

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
        w.unsteady = i == 1;
        put(&w, queue, 8);
        w.unsteady = i == 2;
        put(&w, issue, 8);
        w.unsteady = i == 3;
        put(&w, complete, 8);
        assert_int_equal(io_tracker_finish(&w.tracker), 0);
        io_tracker_done(&w.tracker);
        assert_int_equal(w.n, i + 1);
        assert_int_equal(w.own_error, i ? 14 : 0);
    }
    catalogue_done(&w.catalogue);
}

/* An I/O scheduler has a thread of the kernel issue what a task has queued. */
static void test_whose(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_GUEST, .format = "made", .path = "g", .clock = clock, .kernel = &a_kernel};
    static const struct {
        int32_t queued, issued, expected;
    } cases[] = {{7, 37, 7}, {PID_UNKNOWN, 37, 37}, {0, 37, 37}};
    struct world w = {0};
    const struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
    const struct event_class *queue = add(&w, source, "block_bio_queue");
    const struct event_class *issue = add(&w, source, "block_rq_issue");
    const struct event_class *complete = add(&w, source, "block_rq_complete");

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
        w.pid = cases[i].queued;
        if (w.pid != 0) /* else it was not traced */
            put(&w, queue, 8);
        w.pid = cases[i].issued;
        put(&w, issue, 8);
        w.pid = 0;
        put(&w, complete, 8);
        assert_int_equal(io_tracker_finish(&w.tracker), 0);
        io_tracker_done(&w.tracker);
        assert_int_equal(w.n, i + 1);
        assert_int_equal(w.request_pid, cases[i].expected);
        assert_int_equal(w.group_pid, cases[i].expected);
    }
    catalogue_done(&w.catalogue);
}

static void lose(struct world *w, const struct origin *origin, bool is_open)
{
    struct item item = {.kind = ITEM_LOSS,
                        .time = ++w->now,
                        .origin = origin,
                        .lost = 1,
                        .since = w->now - 1,
                        .cpu = 0,
                        .is_open = is_open,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    assert_int_equal(io_tracker_put(&w->tracker, &item, 1), 0);
}

static void do_request(struct world *w, const struct event_class *const *classes, uint64_t sector,
                       bool is_queued)
{
    if (is_queued)
        put(w, classes[0], sector);
    put(w, classes[1], sector);
    put(w, classes[2], sector);
}

/* R6: a request without block_bio_queue, where others have it, began at its issue only long after what is missing. */
static void test_begins(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = clock, .kernel = &a_kernel};
    struct world w = {0};
    const struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
    const struct event_class *classes[] = {add(&w, source, "block_bio_queue"),
                                           add(&w, source, "block_rq_issue"),
                                           add(&w, source, "block_rq_complete")};

    (void)state;
    assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
    do_request(&w, classes, 8, false); /* it may have been queued before the trace begins */
    assert_int_equal(w.n, 0);
    do_request(&w, classes, 16, true);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.tracker.counts.fates[SPAN_NO_BEGIN], 1);
    w.now += 2 * (int64_t)NANOSECONDS;
    do_request(&w, classes, 24, false);
    assert_int_equal(w.n, 2);
    put(&w, classes[0], 32);
    lose(&w, source, false);
    put(&w, classes[1], 32);
    put(&w, classes[2], 32);
    do_request(&w, classes, 40, false);
    do_request(&w, classes, 48, true);
    assert_int_equal(w.n, 3);
    assert_int_equal(w.tracker.counts.fates[SPAN_NO_BEGIN], 3);
    assert_int_equal(io_tracker_finish(&w.tracker), 0);
    io_tracker_done(&w.tracker);
    /* No request of the device has it: all begin at their issue. */
    assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
    w.n = 0;
    for (unsigned i = 0; i < 100; i++) {
        do_request(&w, classes, 8, false);
        lose(&w, source, false);
    }
    assert_int_equal(w.n, 100);
    do_request(&w, classes, 8, false);
    assert_int_equal(io_tracker_finish(&w.tracker), 0);
    io_tracker_done(&w.tracker);
    assert_int_equal(w.n, 101);
    /* Writes begin as reads do, flushes by themselves. */
    assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
    w.n = 0;
    w.rwbs = "FF";
    do_request(&w, classes, 0, false);
    w.rwbs = "WS";
    do_request(&w, classes, 8, false);
    w.rwbs = "R";
    do_request(&w, classes, 16, true);
    assert_int_equal(io_tracker_finish(&w.tracker), 0);
    assert_int_equal(w.n, 2);
    assert_int_equal(w.tracker.counts.fates[SPAN_NO_BEGIN], 1);
    io_tracker_done(&w.tracker);
    catalogue_done(&w.catalogue);
}

/* R5: a request that completes while a CPU has no data may have ended there, and its sectors may have been requested again. */
static void test_missing_cpu(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = clock, .kernel = &a_kernel};
    struct world w = {0};
    struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
    const struct event_class *classes[] = {add(&w, source, "block_bio_queue"),
                                           add(&w, source, "block_rq_issue"),
                                           add(&w, source, "block_rq_complete")};

    (void)state;
    assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
    source->complete_from = 6;
    do_request(&w, classes, 8, true);
    assert_int_equal(w.tracker.counts.fates[SPAN_EARLY], 1);
    put(&w, classes[0], 16);
    put(&w, classes[1], 16);
    assert_int_equal(w.n, 0);
    do_request(&w, classes, 24, true);
    assert_int_equal(w.tracker.counts.fates[SPAN_EARLY], 2);
    assert_int_equal(w.n, 1);
    w.begins_loss = true;
    put(&w, classes[0], 32);
    w.begins_loss = false;
    put(&w, classes[1], 32);
    put(&w, classes[2], 32);
    do_request(&w, classes, 40, true);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.tracker.counts.fates[SPAN_LOST], 2);
    lose(&w, source, false);
    do_request(&w, classes, 48, true);
    assert_int_equal(w.n, 2);
    lose(&w, source, true);
    do_request(&w, classes, 56, true);
    assert_int_equal(w.n, 2);
    assert_int_equal(w.tracker.counts.fates[SPAN_LOST], 3);
    assert_int_equal(io_tracker_finish(&w.tracker), 0);
    io_tracker_done(&w.tracker);
    catalogue_done(&w.catalogue);
}

/* What was queued is remembered until it is issued, wherever it is remembered. */
static void test_remembers(void **state)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = clock, .kernel = &a_kernel};
    struct world w = {0};
    const struct origin *source = catalogue_add_origin(&w.catalogue, &origin);
    const struct event_class *classes[] = {add(&w, source, "block_bio_queue"),
                                           add(&w, source, "block_rq_issue"),
                                           add(&w, source, "block_rq_complete")};

    (void)state;
    assert_int_equal(io_tracker_init(&w.tracker, &clock, &ops, &w), 0);
    for (uint64_t i = 0; i < 1000; i++)
        put(&w, classes[0], 8 * i);
    for (uint64_t i = 0; i < 1000; i++)
        do_request(&w, classes, 8 * i, false);
    assert_int_equal(io_tracker_finish(&w.tracker), 0);
    io_tracker_done(&w.tracker);
    assert_int_equal(w.n_queued, 1000);
    catalogue_done(&w.catalogue);
}

/* ---- the slowest, and those of them that have not ended ---- */

struct vmm_payload {
    uint64_t vdev, req, sector, nsectors, pool;
};

static const struct field vmm_fields[] = {
    NUMBER("vdev", offsetof(struct vmm_payload, vdev), 8),
    NUMBER("req", offsetof(struct vmm_payload, req), 8),
    NUMBER("sector", offsetof(struct vmm_payload, sector), 8),
    NUMBER("nsectors", offsetof(struct vmm_payload, nsectors), 8),
    NUMBER("pool", offsetof(struct vmm_payload, pool), 8),
};

struct machine {
    struct catalogue catalogue;
    struct origin *guest, *vmm;
    const struct event_class *queue, *issue, *complete, *irq, *handle, *submit, *returned, *notify;
    struct origin *host;
    const struct event_class *change;
    struct io io;
    struct coverage coverage;
    struct result result;
};

static const struct event_class *add_event(struct machine *m, struct origin *origin,
                                           const char *name)
{
    bool is_vmm = origin == m->vmm;
    struct event_class class = {.name = name,
                                .group = is_vmm                         ? "virtio"
                                         : strncmp(name, "irq", 3) == 0 ? "irq"
                                                                        : "block",
                                .origin = origin,
                                .fields = is_vmm ? vmm_fields : fields,
                                .n_fields = is_vmm ? ARRAY_SIZE(vmm_fields) : ARRAY_SIZE(fields)};
    struct event_class *added;

    assert_int_equal(catalogue_add(&m->catalogue, &class, &added), 0);
    return added;
}

static void start(struct machine *m, unsigned slowest)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    const struct analysis_settings settings = {.clock = clock, .slowest = slowest};
    struct origin origin = {
        .layer = LAYER_GUEST, .format = "made", .path = "g", .clock = clock, .kernel = &a_kernel};

    *m = (struct machine){0};
    m->guest = catalogue_add_origin(&m->catalogue, &origin);
    origin.layer = LAYER_VMM;
    origin.kernel = NULL;
    m->vmm = catalogue_add_origin(&m->catalogue, &origin);
    m->queue = add_event(m, m->guest, "block_bio_queue");
    m->issue = add_event(m, m->guest, "block_rq_issue");
    m->complete = add_event(m, m->guest, "block_rq_complete");
    m->irq = add_event(m, m->guest, "irq_handler_entry");
    m->handle = add_event(m, m->vmm, "virtio_blk_handle_read");
    m->submit = add_event(m, m->vmm, "thread_pool_submit");
    m->returned = add_event(m, m->vmm, "virtio_blk_req_complete");
    m->notify = add_event(m, m->vmm, "virtio_notify");
    coverage_init(&m->coverage);
    assert_int_equal(io_init(&m->io, &settings), 0);
}

static void give(struct machine *m, const struct item *item)
{
    assert_int_equal(coverage_put(&m->coverage, item, 1), 0);
    assert_int_equal(sink_put(&m->io.analysis.sink, item, 1), 0);
}

static void event(struct machine *m, const struct event_class *class, int64_t time, uint64_t sector)
{
    const struct payload payload = {
        .sector = sector, .dev = 254 << 20, .nr_sector = 8, .rwbs = "R"};
    const struct vmm_payload vmm = {.vdev = 1, .req = sector, .sector = sector, .nsectors = 8};
    bool is_vmm = class->origin == m->vmm;
    const struct item item = {.kind = ITEM_EVENT,
                              .time = time,
                              .origin = class->origin,
                              .class = class,
                              .payload = is_vmm ? (const uint8_t *)&vmm : (const uint8_t *)&payload,
                              .size = is_vmm ? sizeof vmm : sizeof payload,
                              .pid = 1,
                              .vcpu = VCPU_UNKNOWN,
                              .error_ns = is_vmm ? 0 : 5};

    give(m, &item);
}

static void finish(struct machine *m)
{
    assert_int_equal(sink_finish(&m->io.analysis.sink), 0);
    assert_int_equal(analysis_result(&m->io.analysis, &m->coverage, &m->result), 0);
    result_sort(&m->result, RESULT_IN_ORDER);
}

static void done(struct machine *m)
{
    result_done(&m->result);
    coverage_done(&m->coverage);
    io_done(&m->io);
    catalogue_done(&m->catalogue);
}

/* "BEGIN-END [open] STAGE DURATION, ..." */
static void expect_slow(const struct machine *m, unsigned i, const char *expected)
{
    const struct result_slow *slow = &m->result.slowest[i];
    char text[300];
    size_t n = (size_t)snprintf(text, sizeof text, "%d-%d%s", (int)slow->begin, (int)slow->end,
                                slow->is_open ? " open" : "");

    assert_true(i < m->result.n_slowest);
    for (unsigned j = 0; j < slow->n_stages; j++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %d", j > 0 ? "," : "",
                              slow->stages[j].name,
                              (int)(slow->stages[j].end - slow->stages[j].begin));
    assert_string_equal(text, expected);
}

/* ---- threads ---- */

struct blk_payload {
    uint64_t offset, bytes;
};

static const struct field blk_fields[] = {
    NUMBER("offset", offsetof(struct blk_payload, offset), 8),
    NUMBER("bytes", offsetof(struct blk_payload, bytes), 8),
};

/* Two requests are handled, and the first is submitted, by thread PID. Returns how many submissions have an unknown thread. */
static uint64_t submit_by(int32_t pid)
{
    const struct vmm_payload requests[] = {{.vdev = 1, .req = 8, .sector = 8, .nsectors = 8},
                                           {.vdev = 1, .req = 64, .sector = 64, .nsectors = 8}};
    const struct blk_payload blk = {.offset = 8 * 512, .bytes = 4096};
    struct machine m;
    struct event_class class = {
        .name = "blk_co_preadv", .fields = blk_fields, .n_fields = ARRAY_SIZE(blk_fields)};
    struct event_class *preadv;
    struct item item = {.kind = ITEM_EVENT, .pid = pid, .vcpu = VCPU_UNKNOWN};
    uint64_t n;

    start(&m, 0);
    class.origin = item.origin = m.vmm;
    assert_int_equal(catalogue_add(&m.catalogue, &class, &preadv), 0);
    for (unsigned i = 0; i < 4; i++) {
        bool is_blk = i == 2;

        item.time = i + 1;
        item.class = is_blk ? preadv : i == 3 ? m.submit : m.handle;
        item.payload = is_blk ? (const uint8_t *)&blk : (const uint8_t *)&requests[i == 1];
        item.size = is_blk ? sizeof blk : sizeof requests[0];
        give(&m, &item);
    }
    n = m.io.tracker.counts.unthreaded;
    assert_int_equal(m.io.tracker.counts.opaque, 0);
    finish(&m);
    done(&m);
    return n;
}

static void test_unknown_threads(void **state)
{
    assert_int_equal(submit_by(1), 0);
    assert_int_equal(submit_by(PID_UNKNOWN), 1);
}

/* ---- why ---- */

#define STATES_MAX (16 * STATES_HELD)
#define SWITCHES (STATES_MAX / 2) /* have more states */
#define HANDLER 100               /* the VMM's thread that handles requests */

struct switch_payload {
    char prev_comm[16];
    int32_t prev_pid;
    int64_t prev_state;
    char next_comm[16];
    int32_t next_pid;
} __attribute__((packed));

#define NAME(field)                                                                         \
    {                                                                                       \
        .name = #field, .c_type = "char[16]", .type = FIELD_STRING, .storage = STORE_ARRAY, \
        .offset = offsetof(struct switch_payload, field), .size = 16                        \
    }
#define SIGNED(field, bytes)                                              \
    {                                                                     \
        .name = #field, .c_type = "int", .type = FIELD_INT,               \
        .offset = offsetof(struct switch_payload, field), .size = (bytes) \
    }

static const struct field switch_fields[] = {
    NAME(prev_comm), SIGNED(prev_pid, 4), SIGNED(prev_state, 8),
    NAME(next_comm), SIGNED(next_pid, 4),
};

static void start_with_host(struct machine *m, unsigned slowest)
{
    const struct clock clock = {"monotonic", NANOSECONDS};
    struct origin origin = {
        .layer = LAYER_HOST, .format = "made", .path = "h", .clock = clock, .kernel = &a_kernel};
    struct event_class class = {.name = "sched_switch",
                                .group = "sched",
                                .fields = switch_fields,
                                .n_fields = ARRAY_SIZE(switch_fields)};
    struct event_class *added;

    start(m, slowest);
    m->host = catalogue_add_origin(&m->catalogue, &origin);
    class.origin = m->host;
    assert_int_equal(catalogue_add(&m->catalogue, &class, &added), 0);
    m->change = added;
    m->io.finder.history.max = m->io.finder.history.limit = STATES_MAX / HISTORY_LATE;
}

/* CPU 0 goes from one thread to another, N times, once every 100 us. */
static int64_t run_host(struct machine *m, int64_t time, unsigned n)
{
    for (unsigned i = 0; i < n; i++, time += 100000) {
        const struct switch_payload payload = {.prev_pid = i % 2 ? HANDLER : HANDLER + 1,
                                               .next_pid = i % 2 ? HANDLER + 1 : HANDLER};
        const struct item item = {.kind = ITEM_EVENT,
                                  .time = time,
                                  .origin = m->host,
                                  .class = m->change,
                                  .payload = (const uint8_t *)&payload,
                                  .size = sizeof payload,
                                  .pid = payload.prev_pid,
                                  .vcpu = VCPU_UNKNOWN};

        give(m, &item);
    }
    return time;
}

/* Request SECTOR, of the VMM alone, during N switches; the VMM's thread is HANDLER. */
static int64_t request(struct machine *m, int64_t time, unsigned n, uint64_t sector, bool ends)
{
    const struct vmm_payload payload = {.vdev = 1, .req = sector, .sector = sector, .nsectors = 8};
    const struct vmm_payload other = {.vdev = 1, .req = 999, .sector = 999, .nsectors = 8};
    struct item item = {.kind = ITEM_EVENT,
                        .time = time,
                        .origin = m->vmm,
                        .class = m->handle,
                        .payload = (const uint8_t *)&payload,
                        .size = sizeof payload,
                        .pid = HANDLER,
                        .vcpu = VCPU_UNKNOWN};

    give(m, &item);
    time = run_host(m, time + 1, n);
    item.time = time;
    if (ends)
        item.class = m->returned;
    else /* it is known to be open until the VMM's next event: of another one */
        item.payload = (const uint8_t *)&other;
    give(m, &item);
    return time + 1;
}

static bool has_why(const struct machine *m, unsigned n)
{
    const struct result_slow *slow = &m->result.slowest[n];

    for (unsigned i = 0; i < slow->n_stages; i++)
        if (slow->stages[i].why && strstr(slow->stages[i].why[0], "ran "))
            return true;
    return false;
}

static bool has_note_of_states(const struct machine *m)
{
    for (unsigned i = 0; i < m->result.n_notes; i++)
        if (strstr(m->result.notes[i], "is not all kept"))
            return true;
    return false;
}

/* However much follows, and precedes, the states of the slowest are there. */
static void test_why_of_long_ago(void **state)
{
    struct machine m;
    int64_t time;

    (void)state;
    start_with_host(&m, 1);
    time = run_host(&m, 1, 2 * SWITCHES);
    time = request(&m, time, 40, 8, true);
    for (unsigned i = 0; i < 4; i++) {
        time = run_host(&m, time, SWITCHES);
        time = request(&m, time, 4, 16 * (i + 1), true);
    }
    assert_true(m.io.finder.history.n_states <= STATES_MAX + STATES_HELD);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 1);
    assert_true(has_why(&m, 0));
    assert_false(has_note_of_states(&m));
    done(&m);
}

/* While one hangs, all is needed, more than is kept: the result says so. */
static void test_why_of_too_long(void **state)
{
    struct machine m;

    (void)state;
    start_with_host(&m, 1);
    request(&m, run_host(&m, 1, 20), 4 * SWITCHES, 8, false);
    assert_true(m.io.finder.history.n_states <= STATES_MAX + STATES_HELD);
    finish(&m);
    assert_true(m.result.slowest[0].is_open);
    assert_true(has_note_of_states(&m));
    done(&m);

    /* Of one that was over before that, all is there. */
    start_with_host(&m, 2);
    request(&m, request(&m, 1, 1000, 16, true), 4 * SWITCHES, 8, false);
    assert_true(m.io.finder.history.n_states <= STATES_MAX + STATES_HELD);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 2);
    assert_true(has_note_of_states(&m) && m.result.slowest[1].is_open);
    assert_true(has_why(&m, 0));
    done(&m);
}

static void test_open(void **state)
{
    struct machine m;

    (void)state;
    start(&m, 3);
    event(&m, m.issue, 1, 8); /* it hangs in QEMU */
    event(&m, m.handle, 3, 8);
    event(&m, m.submit, 7, 8);
    event(&m, m.issue, 10, 100);
    event(&m, m.complete, 14, 100);
    event(&m, m.issue, 20, 200); /* of it, QEMU says nothing */
    event(&m, m.issue, 998, 300);
    event(&m, m.irq, 1000, 0);
    finish(&m);
    /* As many as of those that are over, which come first. */
    assert_int_equal(m.result.n_slowest, 4);
    expect_slow(&m, 0, "10-14 device 4");
    expect_slow(&m, 1, "1-1000 open dispatch 2, vmm 4, backend 993");
    expect_slow(&m, 2, "20-1000 open device 980");
    expect_slow(&m, 3, "998-1000 open device 2");
    assert_int_equal(m.result.slowest[1].error_ns, 5);
    assert_string_equal(m.result.slowest[1].row->keys[1], "254,0");
    assert_string_equal(m.result.slowest[2].row->keys[3], "total");
    /* They are in no row. */
    assert_int_equal(m.result.n_rows, 2);
    assert_string_equal(m.result.rows[1]->keys[3], "device");
    assert_int_equal(result_number(&m.result, m.result.rows[0], 0), 1);
    assert_int_equal(m.result.unpaired[SPAN_OPEN], 4); /* one of them in both layers */
    done(&m);
}

/* The stages that the trace has events for. */
static void test_open_stages(void **state)
{
    struct machine m;

    (void)state;
    start(&m, 1);
    event(&m, m.issue, 1, 8); /* QEMU has no thread pool for these */
    event(&m, m.handle, 3, 8);
    event(&m, m.returned, 5, 8);
    event(&m, m.irq, 6, 0);
    event(&m, m.complete, 7, 8);
    event(&m, m.queue, 10, 16);
    event(&m, m.issue, 11, 16);
    event(&m, m.handle, 13, 16);
    event(&m, m.irq, 50, 0);
    finish(&m);
    expect_slow(&m, 1, "10-50 open queue 1, dispatch 2, done 37");
    done(&m);

    start(&m, 1);
    event(&m, m.issue, 1, 8);
    event(&m, m.handle, 3, 8);
    event(&m, m.returned, 5, 8);
    event(&m, m.irq, 50, 0);
    finish(&m);
    assert_true(m.io.analysis.ops->has_events(&m.io.analysis));
    assert_int_equal(m.result.n_rows, 0);
    expect_slow(&m, 0, "1-50 open dispatch 2, done 2, inject 45");
    done(&m);
}

/* What may have ended where events were lost is not listed, nor anything after the recording of a source ended. */
static void test_open_unknown(void **state)
{
    struct machine m;
    struct item loss = {.kind = ITEM_LOSS,
                        .time = 15,
                        .since = 14,
                        .lost = 1,
                        .cpu = CPU_UNKNOWN,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    (void)state;
    start(&m, 3);
    m.guest->ended = 90;
    event(&m, m.issue, 1, 8);
    event(&m, m.issue, 10, 16);
    loss.origin = m.guest;
    give(&m, &loss);
    event(&m, m.issue, 20, 24);
    event(&m, m.irq, 100, 0);
    event(&m, m.handle, 1000, 32);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 1);
    expect_slow(&m, 0, "20-90 open device 70");
    done(&m);
}

/* What the VMM has completed, and not notified of before a loss, may have been notified of in it: no later notification is of
 * that request. */
static void test_notified_in_loss(void **state)
{
    struct machine m;
    struct item loss = {.kind = ITEM_LOSS,
                        .time = 35,
                        .since = 32,
                        .lost = 1,
                        .cpu = CPU_UNKNOWN,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    (void)state;
    start(&m, 3);
    event(&m, m.handle, 1, 8);
    event(&m, m.returned, 5, 8);
    event(&m, m.notify, 6, 8);
    event(&m, m.handle, 20, 16);
    event(&m, m.returned, 32, 16);
    loss.origin = m.vmm;
    give(&m, &loss);
    event(&m, m.handle, 40, 24);
    event(&m, m.returned, 50, 24);
    event(&m, m.notify, 60, 24);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 2);
    expect_slow(&m, 0, "40-60 done 10, notify 10");
    expect_slow(&m, 1, "1-6 done 4, notify 1");
    assert_int_equal(m.result.unpaired[SPAN_LOST], 1);
    done(&m);
}

static void give_begin_of_loss(struct machine *m, const struct event_class *class, int64_t time,
                               uint64_t sector)
{
    const struct vmm_payload vmm = {.vdev = 1, .req = sector, .sector = sector, .nsectors = 8};
    const struct item item = {.kind = ITEM_EVENT,
                              .before_loss = true,
                              .time = time,
                              .origin = m->vmm,
                              .class = class,
                              .payload = (const uint8_t *)&vmm,
                              .size = sizeof vmm,
                              .cpu = CPU_UNKNOWN,
                              .pid = 1,
                              .vcpu = VCPU_UNKNOWN};

    give(m, &item);
}

/* What the VMM did with a request in a loss is not known, also where the loss is told only long after the request is over. */
static void test_over_in_loss(void **state)
{
    const int64_t long_after = NANOSECONDS;
    struct machine m;
    struct item loss = {.kind = ITEM_LOSS,
                        .time = 2 * long_after,
                        .since = 21,
                        .lost = 3,
                        .cpu = CPU_UNKNOWN,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    (void)state;
    start(&m, 3);
    event(&m, m.queue, 10, 8);
    event(&m, m.issue, 15, 8);
    event(&m, m.handle, 20, 8);
    give_begin_of_loss(&m, m.submit, 21, 8);
    event(&m, m.irq, 40, 8);
    event(&m, m.complete, 45, 8);
    event(&m, m.queue, long_after, 16); /* the first request has no more points */
    loss.origin = m.vmm;
    give(&m, &loss);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 1);
    expect_slow(&m, 0, "10-45 queue 5, device 25, guest 5");
    assert_int_equal(m.result.unpaired[SPAN_LOST], 1);
    done(&m);
}

/* The end of a VMM's part that this VMM has an event of, and that is not in the trace, is missing. */
static void test_over_without_end(void **state)
{
    struct machine m;

    (void)state;
    start(&m, 3);
    event(&m, m.handle, 1, 32);
    event(&m, m.returned, 2, 32);
    event(&m, m.queue, 10, 8);
    event(&m, m.issue, 15, 8);
    event(&m, m.handle, 20, 8);
    event(&m, m.irq, 40, 8);
    event(&m, m.complete, 45, 8);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 2);
    expect_slow(&m, 0, "10-45 queue 5, device 25, guest 5");
    assert_int_equal(m.result.unpaired[SPAN_LOST], 1);
    done(&m);
}

/* A source may have the end of a request in what it has not handed over: however much later others go on, the request lasts
 * until the end of its own source's data, or of the VMM's while that has it. */
static void test_open_late_source(void **state)
{
    struct machine m;

    (void)state;
    start(&m, 3);
    event(&m, m.issue, 1, 8); /* QEMU is done with it */
    event(&m, m.handle, 3, 8);
    event(&m, m.issue, 5, 16); /* of it, QEMU says nothing */
    event(&m, m.issue, 6, 24); /* QEMU has it */
    event(&m, m.returned, 7, 8);
    event(&m, m.handle, 8, 24);
    event(&m, m.irq, 10, 0);
    event(&m, m.handle, 2000, 32);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 3);
    expect_slow(&m, 0, "6-2000 open dispatch 2, done 1992");
    expect_slow(&m, 1, "1-10 open dispatch 2, done 4, inject 3");
    expect_slow(&m, 2, "5-10 open device 5");
    done(&m);

    /* Nothing later of its own: nothing is known. What it has passed is, whatever source has that. */
    start(&m, 3);
    event(&m, m.issue, 1, 8);
    event(&m, m.issue, 5, 16);
    event(&m, m.handle, 13, 8);
    event(&m, m.returned, 17, 8);
    event(&m, m.handle, 2000, 32);
    finish(&m);
    assert_int_equal(m.result.n_slowest, 1);
    expect_slow(&m, 0, "1-17 open dispatch 12, done 4, notify 0");
    done(&m);

    /* Of a kernel that recorded some threads, ends may be missing that came while others ran; of one of which the data of a
     * CPU was cut, those that came there. */
    for (unsigned cut = 0; cut < 2; cut++) {
        start(&m, 3);
        m.guest->pid_filter = !cut;
        m.guest->is_cut = cut;
        event(&m, m.issue, 1, 8);
        event(&m, m.issue, 5, 16);
        event(&m, m.complete, 13, 8);
        event(&m, m.irq, 1000, 0);
        finish(&m);
        assert_int_equal(m.result.n_slowest, 1);
        expect_slow(&m, 0, "1-13 device 12");
        assert_int_equal(m.result.unpaired[SPAN_OPEN], 0);
        assert_int_equal(m.result.unpaired[SPAN_LOST], 1);
        done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forgets_the_same),
        cmocka_unit_test(test_unsteady),
        cmocka_unit_test(test_whose),
        cmocka_unit_test(test_begins),
        cmocka_unit_test(test_missing_cpu),
        cmocka_unit_test(test_remembers),
        cmocka_unit_test(test_why_of_long_ago),
        cmocka_unit_test(test_why_of_too_long),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_stages),
        cmocka_unit_test(test_open_unknown),
        cmocka_unit_test(test_notified_in_loss),
        cmocka_unit_test(test_over_in_loss),
        cmocka_unit_test(test_over_without_end),
        cmocka_unit_test(test_unknown_threads),
        cmocka_unit_test(test_open_late_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
