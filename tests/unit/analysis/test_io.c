/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "analysis/io.h"
#include "base/macro.h"
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
    return 0;
}

static const struct io_tracker_ops ops = {.request = count};

static void put(struct world *w, const struct event_class *class, uint64_t sector)
{
    struct payload payload = {.sector = sector, .dev = 8 << 20, .nr_sector = 8, .rwbs = "R"};
    struct item item = {.kind = ITEM_EVENT,
                        .time = ++w->now,
                        .origin = class->origin,
                        .class = class,
                        .payload = (const uint8_t *)&payload,
                        .size = sizeof payload,
                        .pid = 1,
                        .vcpu = VCPU_UNKNOWN};

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
        assert_int_equal(w.n, REQUESTS);
        assert_in_range(w.n_queued, REQUESTS / 2, REQUESTS - 1);
        if (i == 0)
            n_queued = w.n_queued;
        assert_int_equal(w.n_queued, n_queued);
    }
    catalogue_done(&w.catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forgets_the_same)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
