/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "base/macro.h"
#include "event/item.h"
#include "random.h"
#include "timeline/causal.h"

#define ERROR_NS 1000
#define HOST_START INT64_C(1000000000000)

enum { GUEST, OTHERS, SOURCES };

#define NUMBER(field, at)                                                                         \
    {                                                                                             \
        .name = (field), .c_type = "uint64_t", .type = FIELD_UINT, .offset = 8 * (at), .size = 8, \
    }

static const struct field block_fields[] = {
    NUMBER("sector", 0),
    NUMBER("nr_sector", 1),
    {.name = "rwbs",
     .c_type = "char[]",
     .type = FIELD_STRING,
     .storage = STORE_ARRAY,
     .size = 8,
     .offset = 16},
};
static const struct field handle_fields[] = {NUMBER("sector", 0), NUMBER("nsectors", 1),
                                             NUMBER("vdev", 2), NUMBER("req", 3)};
static const struct field complete_fields[] = {NUMBER("vdev", 0), NUMBER("req", 1)};

struct world {
    struct catalogue catalogue;
    struct origin *guest, *other_guest, *vmm, *host;
    struct event_class *issue, *complete, *handle_read, *handle_write, *returned, *entry, *exit;
    struct event_class *other_issue;
    struct clock_map map;
    struct causal causal;
    uint64_t request; /* the last one's number */
};

static unsigned source_of(void *arg, const struct origin *origin)
{
    return origin->layer == LAYER_GUEST ? GUEST : OTHERS;
}

static struct event_class *add(struct world *world, struct origin *origin, const char *name,
                               const struct field *fields, unsigned n)
{
    struct event_class class = {.name = name, .origin = origin, .fields = fields, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&world->catalogue, &class, &added), 0);
    return added;
}

static struct origin *add_origin(struct world *world, enum layer layer)
{
    struct origin *origin =
        catalogue_add_origin(&world->catalogue, &(struct origin){.layer = layer});

    assert_non_null(origin);
    return origin;
}

static void begin(struct world *world)
{
    const struct clock_map_pair pairs[] = {{HOST_START, 0, ERROR_NS, 0},
                                           {2 * HOST_START, HOST_START, ERROR_NS, 0}};
    struct error error;

    *world = (struct world){0};
    error_clear(&error);
    world->guest = add_origin(world, LAYER_GUEST);
    world->other_guest = add_origin(world, LAYER_GUEST);
    world->vmm = add_origin(world, LAYER_VMM);
    world->host = add_origin(world, LAYER_HOST);
    world->issue = add(world, world->guest, "block_rq_issue", block_fields, 3);
    world->complete = add(world, world->guest, "block_rq_complete", block_fields, 3);
    world->other_issue = add(world, world->other_guest, "block_rq_issue", block_fields, 3);
    world->handle_read = add(world, world->vmm, "virtio_blk_handle_read", handle_fields, 4);
    world->handle_write = add(world, world->vmm, "virtio_blk_handle_write", handle_fields, 4);
    world->returned = add(world, world->vmm, "virtio_blk_req_complete", complete_fields, 2);
    world->entry = add(world, world->host, "kvm_entry", NULL, 0);
    world->exit = add(world, world->host, "kvm_exit", NULL, 0);
    assert_int_equal(clock_map_of_pairs(pairs, 2, "test", NANOSECONDS, &world->map, &error), 0);
    assert_int_equal(causal_init(&world->causal, SOURCES, source_of, world), 0);
    assert_int_equal(causal_set_map(&world->causal, GUEST, &world->map), 0);
}

/* Ends the trace, which had PAIRS of causes and effects, of which VIOLATIONS contradict the clocks. */
static void end(struct world *world, uint64_t pairs, uint64_t violations)
{
    causal_finish(&world->causal);
    assert_int_equal(world->causal.clocks[GUEST].pairs, pairs);
    assert_int_equal(world->causal.clocks[GUEST].violations, violations);
    causal_done(&world->causal);
    clock_map_done(&world->map);
    catalogue_done(&world->catalogue);
}

static void put(struct world *world, struct event_class *class, int64_t time, int32_t vcpu,
                const void *payload, uint32_t size)
{
    const struct item item = {.time = HOST_START + time,
                              .origin = class->origin,
                              .class = class,
                              .payload = payload,
                              .size = size,
                              .cpu = 0,
                              .pid = 7,
                              .vcpu = vcpu,
                              .kind = ITEM_EVENT,
                              .error_ns = class->origin->layer == LAYER_GUEST ? ERROR_NS : 0};

    assert_int_equal(causal_put(&world->causal, &item, 1), 0);
}

static void put_block(struct world *world, struct event_class *class, int64_t time, uint64_t sector,
                      uint64_t sectors, const char *kind)
{
    struct {
        uint64_t sector, sectors;
        char kind[8];
    } payload = {sector, sectors, ""};

    memcpy(payload.kind, kind, strlen(kind));
    put(world, class, time, VCPU_UNKNOWN, &payload, sizeof payload);
}

static void put_handled(struct world *world, int64_t time, uint64_t sector, uint64_t sectors,
                        bool writes)
{
    const uint64_t payload[] = {sector, sectors, 1, ++world->request};

    put(world, writes ? world->handle_write : world->handle_read, time, VCPU_UNKNOWN, payload,
        sizeof payload);
}

static void put_returned(struct world *world, int64_t time, uint64_t request)
{
    const uint64_t payload[] = {1, request};

    put(world, world->returned, time, VCPU_UNKNOWN, payload, sizeof payload);
}

/* A whole request: two pairs. */
static void put_request(struct world *world, int64_t time, uint64_t sector, uint64_t sectors,
                        const char *kind)
{
    put_block(world, world->issue, time, sector, sectors, kind);
    put_handled(world, time + 1000, sector, sectors, kind[0] == 'W');
    put_returned(world, time + 2000, world->request);
    put_block(world, world->complete, time + 3000, sector, sectors, kind);
}

static void put_loss_of(struct world *world, int64_t time, bool is_open)
{
    const struct item item = {.time = time,
                              .origin = world->guest,
                              .kind = ITEM_LOSS,
                              .is_open = is_open,
                              .lost = 1,
                              .since = TIME_UNKNOWN,
                              .cpu = 0,
                              .pid = PID_UNKNOWN,
                              .vcpu = VCPU_UNKNOWN};

    assert_int_equal(causal_put(&world->causal, &item, 1), 0);
}

static void put_loss(struct world *world, int64_t time)
{
    put_loss_of(world, time, false);
}

/* ---- requests ---- */

static void test_unique(void **state)
{
    struct world world;

    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    end(&world, 2, 0);

    /* Others of the same sector that are of another size or direction, and a flush, which has no sector. */
    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    put_request(&world, 10000, 8, 32, "R");
    put_request(&world, 20000, 8, 16, "WS");
    put_block(&world, world.issue, 30000, 0, 0, "FF");
    put_block(&world, world.complete, 31000, 0, 0, "FF");
    end(&world, 6, 0);
}

/* Which of two requests an effect is of is not known, unless they are further apart than the window. */
static void test_not_unique(void **state)
{
    struct world world;

    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    put_request(&world, CAUSAL_WINDOW_NS, 8, 16, "R");
    end(&world, 0, 0);

    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    put_request(&world, 2 * CAUSAL_WINDOW_NS, 8, 16, "R");
    end(&world, 4, 0);
}

/* A number that the VMM uses again is of its new request; one that is not known is of none. */
static void test_returned(void **state)
{
    struct world world;

    begin(&world);
    put_block(&world, world.issue, 0, 8, 16, "R");
    put_handled(&world, 1000, 8, 16, false);
    put_returned(&world, 2000, world.request + 1);
    put_block(&world, world.complete, 3000, 8, 16, "R");
    end(&world, 1, 0);

    begin(&world);
    put_block(&world, world.issue, 0, 8, 16, "R");
    put_handled(&world, 1000, 8, 16, false);
    put_block(&world, world.issue, 2000, 24, 16, "R");
    world.request--;
    put_handled(&world, 3000, 24, 16, false);
    put_returned(&world, 4000, world.request);
    put_block(&world, world.complete, 5000, 8, 16, "R");
    end(&world, 2, 0);
}

static void test_loss(void **state)
{
    struct world world;

    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    put_loss(&world, HOST_START + 10000);
    put_request(&world, CAUSAL_WINDOW_NS / 2, 24, 16, "R");
    end(&world, 0, 0);

    begin(&world);
    put_loss(&world, HOST_START);
    put_request(&world, 2 * CAUSAL_WINDOW_NS, 8, 16, "R");
    end(&world, 2, 0);

    /* Nothing follows of a CPU: no later request is used. */
    begin(&world);
    put_loss_of(&world, HOST_START, true);
    put_loss(&world, HOST_START + 1);
    put_request(&world, 2 * CAUSAL_WINDOW_NS, 8, 16, "R");
    end(&world, 0, 0);

    /* The time of a loss is what the trace says. */
    begin(&world);
    put_loss(&world, INT64_MAX);
    put_request(&world, 0, 8, 16, "R");
    end(&world, 0, 0);
}

static void test_violation(void **state)
{
    struct world world;

    /* Within the stated error, and beyond. */
    begin(&world);
    put_handled(&world, 0, 8, 16, false);
    put_block(&world, world.issue, ERROR_NS, 8, 16, "R");
    end(&world, 1, 0);

    begin(&world);
    put_handled(&world, 0, 8, 16, false);
    put_block(&world, world.issue, ERROR_NS + 50, 8, 16, "R");
    causal_finish(&world.causal);
    assert_int_equal(world.causal.clocks[GUEST].worst_ns, 50);
    end(&world, 1, 1);
}

static void test_several_guests(void **state)
{
    struct world world;

    begin(&world);
    put_request(&world, 0, 8, 16, "R");
    put_block(&world, world.other_issue, 10000, 24, 16, "R");
    end(&world, 0, 0);
}

/* Of many requests, as a search through all of them finds those that are alone; collisions of the table may leave some
 * of them out, and never add one. */
static void test_many(void **state)
{
    enum { N = 3000, SECTORS = 700 };
    static int64_t times[N];
    static uint64_t sectors[N];
    uint64_t alone = 0, used;
    struct world world;

    begin(&world);
    for (unsigned i = 0; i < N; i++) {
        times[i] = (i ? times[i - 1] : 0) + 10000 + (int64_t)(random_part() * 2e7);
        sectors[i] = (uint64_t)(random_part() * SECTORS);
        put_request(&world, times[i], sectors[i], 8, "R");
    }
    for (unsigned i = 0; i < N; i++) {
        bool is_alone = true;

        for (unsigned j = 0; j < N; j++)
            is_alone &= j == i || sectors[j] != sectors[i] ||
                        times[MAX(i, j)] - (times[MIN(i, j)] + 3000) > CAUSAL_WINDOW_NS;
        alone += is_alone;
    }
    causal_finish(&world.causal);
    used = world.causal.clocks[GUEST].pairs;
    assert_true(alone > N / 2);
    assert_true(used <= 2 * alone);
    assert_true(used >= alone * 2 * 9 / 10);
    end(&world, used, 0);
}

/* More sectors than the table has room for: what it forgets of a request does not make another one of its sector alone. */
static void test_forgotten(void **state)
{
    enum { SECTORS = 20000 };
    struct world world;

    begin(&world);
    for (unsigned i = 0; i < 2 * SECTORS; i++)
        put_request(&world, i * INT64_C(10000), i % SECTORS, 8, "R");
    end(&world, 0, 0);
}

/* ---- a vCPU that does not run ---- */

static void test_gap(void **state)
{
    struct world world;

    /* On each side of the interval, as the errors allow no other. */
    begin(&world);
    put(&world, world.entry, 1000, 0, NULL, 0); /* the thread of the vCPU */
    put(&world, world.issue, 8000, 0, &(uint64_t[3]){0}, 24);
    put(&world, world.exit, 10000, 0, NULL, 0);
    put(&world, world.entry, 20000, 0, NULL, 0);
    put(&world, world.issue, 25000, 0, &(uint64_t[3]){0}, 24);
    end(&world, 2, 0);

    /* Within it, by more than its error from both ends. */
    begin(&world);
    put(&world, world.exit, 10000, 0, NULL, 0);
    put(&world, world.issue, 14000, 0, &(uint64_t[3]){0}, 24);
    put(&world, world.entry, 20000, 0, NULL, 0);
    causal_finish(&world.causal);
    assert_int_equal(world.causal.clocks[GUEST].worst_ns, 4000 - ERROR_NS);
    end(&world, 1, 1);

    /* On either side of an interval that is shorter than its error. */
    begin(&world);
    put(&world, world.exit, 10000, 0, NULL, 0);
    put(&world, world.issue, 10400, 0, &(uint64_t[3]){0}, 24);
    put(&world, world.entry, 10800, 0, NULL, 0);
    end(&world, 0, 0);

    /* Of another vCPU. */
    begin(&world);
    put(&world, world.exit, 10000, 0, NULL, 0);
    put(&world, world.issue, 14000, 1, &(uint64_t[3]){0}, 24);
    put(&world, world.entry, 20000, 0, NULL, 0);
    end(&world, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unique),    cmocka_unit_test(test_not_unique),
        cmocka_unit_test(test_returned),  cmocka_unit_test(test_loss),
        cmocka_unit_test(test_violation), cmocka_unit_test(test_several_guests),
        cmocka_unit_test(test_many),      cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_gap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
