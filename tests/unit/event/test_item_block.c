/* SPDX-License-Identifier: MIT */
/* Items in blocks: what they hold when the source has gone on. */
#include "event/item_block.h"

#include <string.h>

#include "cmocka_all.h"

static const char *name_now = "old";

static const char *task_name(const struct origin *origin, int32_t pid)
{
    (void)origin;
    return pid == 7 ? name_now : NULL;
}

static const char *comm_name(const struct origin *origin, uint32_t comm)
{
    (void)origin;
    return comm == 5 ? name_now : NULL;
}

static unsigned number(void *arg, const struct origin *origin)
{
    return origin == arg ? 3 : 4;
}

static void test_as_lent(void **state)
{
    struct origin origin = {.task_name = task_name, .clock = {"tsc", 0}};
    struct origin with_comm = {.task_name = task_name, .comm = comm_name};
    uint8_t payload[] = {1, 2, 3};
    struct item items[] = {
        {.origin = &origin, .pid = 7, .payload = payload, .size = 3},
        {.origin = &origin, .pid = 8, .payload = payload, .size = 0},
        {.origin = &with_comm, .pid = 8, .comm = 5, .payload = payload, .size = 1},
        {.origin = &with_comm, .pid = 7, .comm = 6, .payload = payload, .size = 1},
        {.origin = &origin, .kind = ITEM_LOSS, .pid = 7, .lost = 9, .skipped = 11},
        {.origin = &with_comm, .kind = ITEM_LOSS, .pid = 7},
    };
    const char *expected[6];
    struct item_copier copier;
    struct item_block block;

    (void)state;
    assert_int_equal(item_copier_init(&copier, number, &origin), 0);
    assert_int_equal(item_block_init(&block), 0);
    for (unsigned i = 0; i < 6; i++)
        expected[i] = item_task_name(&items[i]);
    assert_int_equal(item_block_put(&block, &copier, items, 6), 6);
    /* The source goes on. */
    name_now = "new";
    memset(payload, 0xa5, sizeof payload);
    origin.clock.hz = 1000;
    assert_int_equal(item_block_put(&block, &copier, items, 1), 1);
    memset(items, 0xa5, sizeof items);
    for (unsigned i = 0; i < 6; i++) {
        const struct item *item = &block.items[i];
        const char *name = item_task_name(item);

        assert_ptr_equal(name, expected[i]);
        assert_int_equal(item_block_origin_number(NULL, item->origin),
                         i == 2 || i == 3 || i == 5 ? 4 : 3);
    }
    assert_memory_equal(block.items[0].payload, ((uint8_t[]){1, 2, 3}), 3);
    assert_int_equal(block.items[0].origin->clock.hz, 0);
    assert_int_equal(block.items[6].origin->clock.hz, 1000);
    assert_string_equal(item_task_name(&block.items[6]), "new");
    assert_int_equal(block.items[4].lost, 9);
    assert_int_equal(block.items[4].skipped, 11);
    item_block_done(&block);
    item_copier_done(&copier);
    name_now = "old";
}

static void test_full(void **state)
{
    struct origin origin = {.layer = LAYER_HOST};
    static uint8_t payload[ITEM_BLOCK_PAYLOAD_BYTES + 1];
    struct item item = {.origin = &origin, .payload = payload, .size = 1};
    struct item large = item;
    struct item_copier copier;
    struct item_block block;

    (void)state;
    assert_int_equal(item_copier_init(&copier, NULL, NULL), 0);
    assert_int_equal(item_block_init(&block), 0);
    for (unsigned i = 0; i < ITEM_BLOCK_ITEMS; i++)
        assert_int_equal(item_block_put(&block, &copier, &item, 1), 1);
    assert_int_equal(item_block_put(&block, &copier, &item, 1), 0);
    item_block_clear(&block);
    large.size = ITEM_BLOCK_PAYLOAD_BYTES + 1;
    assert_int_equal(item_block_put(&block, &copier, &large, 1), 0);
    large.size--;
    assert_int_equal(item_block_put(&block, &copier, &large, 1), 1);
    assert_int_equal(item_block_put(&block, &copier, &item, 1), 0);
    item_block_done(&block);
    item_copier_done(&copier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_lent),
        cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
