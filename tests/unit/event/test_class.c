/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include "event/class.h"
#include "event/class_map.h"

static void fields_are_found_by_name(void **state)
{
    static const struct field fields[] = {{.name = "prev_pid"}, {.name = "pid"}, {.name = "p"}};
    static const struct event_class class = {.name = "e", .fields = fields, .n_fields = 3};
    static const struct event_class none = {.name = "none"};

    (void)state;
    assert_int_equal(event_class_field(&class, "prev_pid"), 0);
    assert_int_equal(event_class_field(&class, "pid"), 1);
    assert_int_equal(event_class_field(&class, "p"), 2);
    assert_int_equal(event_class_field(&class, "pi"), -1);
    assert_int_equal(event_class_field(&class, ""), -1);
    assert_int_equal(event_class_field(&none, "pid"), -1);
    assert_int_equal(event_class_field(&class, NULL), -1);
}

static void patterns_name_layer_group_and_event(void **state)
{
    static const struct origin origin = {.layer = LAYER_GUEST};
    static const struct event_class grouped = {
        .name = "sched_switch", .group = "sched", .origin = &origin};
    static const struct event_class plain = {.name = "sched_switch", .origin = &origin};

    (void)state;
    assert_true(event_class_matches(&grouped, "sched_*"));
    assert_true(event_class_matches(&grouped, "sched:*"));
    assert_true(event_class_matches(&grouped, "s*:sched_switch"));
    assert_true(event_class_matches(&grouped, "guest:sched_switch"));
    assert_true(event_class_matches(&grouped, "guest:sched:sched_s*"));
    assert_false(event_class_matches(&grouped, "host:sched_switch"));
    assert_false(event_class_matches(&grouped, "irq:*"));
    assert_false(event_class_matches(&grouped, "sched:irq_*"));
    assert_false(event_class_matches(&plain, "sched:*"));
    assert_true(event_class_matches(&plain, "guest:*"));
}

static void maps_grow_with_zeros(void **state)
{
    struct event_class class = {.name = "e"};
    unsigned n = 0;
    struct {
        int known;
        char rest[9];
    } *map = NULL;

    (void)state;
    for (unsigned i = 0; i < 100; i += 3) {
        class.index = i;
        assert_int_equal(class_map_grow(map, n, &class), 0);
        assert_true(n > i);
        for (unsigned j = 0; j < n; j++)
            assert_int_equal(map[j].known, j < i && j % 3 == 0);
        map[i].known = 1;
    }
    free(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found_by_name),
        cmocka_unit_test(patterns_name_layer_group_and_event),
        cmocka_unit_test(maps_grow_with_zeros),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
