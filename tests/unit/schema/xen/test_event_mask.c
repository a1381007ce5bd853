/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>

#include "schema/xen/event_mask.h"

static struct xen_table table;

static int setup(void **state)
{
    return xen_table_built_in(&table, NULL);
}

static int teardown(void **state)
{
    xen_table_done(&table);
    return 0;
}

/* The mask that TEXT needs, and whether it is exact. */
static uint32_t mask_of(const char *text, bool *ret_exact)
{
    struct xen_event_mask choice;
    struct error error = {0};
    uint32_t mask;

    assert_int_equal(xen_event_mask_init(&choice), 0);
    if (xen_event_mask_add(&choice, &table, text, &error) < 0)
        fail_msg("%s: %s", text, error.what);
    mask = choice.mask;
    *ret_exact = xen_event_mask_is_exact(&choice);
    xen_event_mask_done(&choice);
    return mask;
}

static void check(const char *text, uint32_t mask, bool exact)
{
    bool is_exact;

    assert_int_equal(mask_of(text, &is_exact), mask);
    if (is_exact != exact)
        fail_msg("%s: exact %d", text, is_exact);
}

/* The mask for what TEXT says that has times; all that is chosen passes it. */
static uint32_t stamped(const char *text)
{
    struct xen_event_mask choice;
    uint32_t mask;
    size_t iter = 0;
    uint64_t id;
    void *event;

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(xen_event_mask_add(&choice, &table, text, NULL), 0);
    mask = xen_event_mask_stamped_mask(&choice);
    while (map_next(&table.events, &iter, &id, &event))
        if (xen_event_mask_has(&choice, (uint32_t)id))
            assert_true(xen_mask_passes(mask, (uint32_t)id));
    xen_event_mask_done(&choice);
    return mask;
}

static void test_stamped(void **state)
{
    assert_int_equal(stamped("all"), 0x0ffff000);
    assert_int_equal(stamped("sched"), 0x0002f000);
    assert_int_equal(stamped("guest,sched_min"), 0x0802f000);
    assert_int_equal(stamped("hvm"), 0x0008f000);
    assert_int_equal(stamped("vmexit"), 0x00081000);
    /* Exits come before what handles them. */
    assert_int_equal(stamped("cpuid"), 0x00083000);
    assert_int_equal(stamped("cpuid,guest"), 0x0808f000);
    /* Run states, which are stamped. */
    assert_int_equal(stamped("guest"), 0x08021000);
    assert_int_equal(stamped("0x800f123"), 0x08021000);
    assert_int_equal(stamped("set_p2m_entry"), 0x00121000);
    assert_int_equal(stamped("shadow,guest"), 0x08421000);
    assert_int_equal(stamped("0x8001000"), 0x08021000);
    assert_int_equal(stamped("0x8002000"), 0x08023000);
}

static void test_masks(void **state)
{
    check("all", 0x0ffff000, true);
    check("sched", 0x0002f000, true);
    check("sched,hvm", 0x000af000, true);
    check("guest", 0x0800f000, true);
    check("shadow", 0x0040f000, true);
    check("hvm_entryexit", 0x00081000, true);
    check("sched_min,hvm_entryexit", 0x000a1000, true);
    /* 0x22000 and 0x81000 come with these. */
    check("sched_min,hvm_handler", 0x000a3000, false);
    check("sched,hvm_entryexit", 0x000af000, false);
    check("sched_min,sched_class,sched_verbose", 0x0002b000, true);
    check("0x8f000", 0x0008f000, true);
    check("0x81000,sched_min", 0x000a1000, true);
    check("0x0ffff000", 0x0ffff000, true);
    /* What lies beyond the classes is kept as it was said. */
    check("0xfffff000", 0xfffff000, true);
    /* Single events. */
    check("vmexit", 0x00081000, false);
    check("0x82010", 0x00082000, false);
    check("0x800f123", 0x0800f000, false);
    check("csched2_*", 0x00022000, false);
    check("vmexit,csched2_*", 0x000a3000, false);
    check("sched:switch*", 0x00028000, false);
    check("vmexit,hvm", 0x0008f000, true);
}

static void test_has(void **state)
{
    struct xen_event_mask choice;
    struct error error = {0};

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_false(xen_event_mask_has(&choice, 0x81002));
    assert_int_equal(
        xen_event_mask_add(&choice, &table, "vmexit,csched2_schedule,0x800f123", &error), 0);
    /* Every number that goes by that name. */
    assert_true(xen_event_mask_has(&choice, 0x81002));
    assert_true(xen_event_mask_has(&choice, 0x81102));
    assert_true(xen_event_mask_has(&choice, 0x81003));
    assert_false(xen_event_mask_has(&choice, 0x81001));
    assert_true(xen_event_mask_has(&choice, 0x22215));
    assert_false(xen_event_mask_has(&choice, 0x22216));
    assert_true(xen_event_mask_has(&choice, 0x800f123));
    assert_false(xen_event_mask_has(&choice, 0x800f124));
    /* Of no class that can be: for whoever reads. */
    assert_true(xen_event_mask_has(&choice, 0x31001));
    assert_int_equal(xen_event_mask_add_mask(&choice, 0x0800f000, &error), 0);
    assert_true(xen_event_mask_has(&choice, 0x800f124));
    xen_event_mask_done(&choice);
}

/* Xen's test, and the set made by a mask, are the same. */
static void test_mask_and_set_agree(void **state)
{
    static const uint32_t masks[] = {0x0ffff000, 0x00081000, 0x000a3000, 0x0802c000, 0x00011000};

    for (size_t m = 0; m < ARRAY_SIZE(masks); m++) {
        struct xen_event_mask choice;

        assert_int_equal(xen_event_mask_init(&choice), 0);
        assert_int_equal(xen_event_mask_add_mask(&choice, masks[m], NULL), 0);
        for (uint32_t class = 0; class < 12; class ++)
            for (uint32_t low = 0; low < 0x10000; low += 0x7ff) {
                uint32_t event = UINT32_C(1) << (16 + class) | low;

                assert_int_equal(xen_event_mask_has(&choice, event),
                                 xen_mask_passes(masks[m], event));
            }
        xen_event_mask_done(&choice);
    }
}

static void refuse(const char *text, const char *why)
{
    struct xen_event_mask choice;
    struct error error = {0};

    assert_int_equal(xen_event_mask_init(&choice), 0);
    assert_int_equal(xen_event_mask_add(&choice, &table, text, &error), -EINVAL);
    if (!strstr(error.what, why))
        fail_msg("%s: %s", text, error.what);
    xen_event_mask_done(&choice);
}

static void test_wrong(void **state)
{
    char lengthy[400];

    refuse("", "an event is missing");
    refuse("sched,", "an event is missing");
    refuse(",sched", "an event is missing");
    refuse("shed", "did you mean 'sched'?");
    refuse("vmexot", "did you mean 'vmexit'?");
    refuse("nothing_like_that", "not a class");
    refuse("zz*", "no event of Xen matches");
    refuse("0x80000", "selects nothing");
    refuse("0", "selects nothing");
    refuse("0x1000000000", "a number of 32 bits");
    refuse("12monkeys", "a number of 32 bits");
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = 0;
    refuse(lengthy, "is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks), cmocka_unit_test(test_stamped),
        cmocka_unit_test(test_has),   cmocka_unit_test(test_mask_and_set_agree),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
