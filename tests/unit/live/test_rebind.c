/* SPDX-License-Identifier: MIT */
/* live/persistent_items.h: what is known of an origin, after its directory was opened again. */
#include "cmocka_all.h"

#include <string.h>

#include "live/persistent_items.h"

struct opening {
    struct origin origin;
    struct trace_input input;
    struct trace trace;
};

static void open_again(struct persistent_items *persistent, struct opening *opening,
                       const struct origin *origin)
{
    *opening = (struct opening){.origin = *origin};
    opening->input =
        (struct trace_input){.path = "guest", .origin = &opening->origin, .n_origins = 1};
    opening->trace = (struct trace){.inputs = &opening->input, .n_inputs = 1};
    assert_int_equal(catalogue_list_origin(&opening->trace.catalogue, &opening->origin), 0);
    assert_int_equal(persistent_items_open(persistent, &opening->trace), 0);
}

static void close_opening(struct persistent_items *persistent, struct opening *opening)
{
    persistent_items_close(persistent);
    catalogue_done(&opening->trace.catalogue);
    memset(opening, 0xa5, sizeof *opening);
}

static void an_origin_has_what_the_last_opening_knows(void **state)
{
    char machine[] = "aarch64", host[] = "far";
    struct origin live = {.layer = LAYER_GUEST,
                          .format = "ftrace",
                          .path = "guest/cpu0.raw",
                          .machine = machine,
                          .host_name = host,
                          .n_cpus = 4};
    const struct origin *bound;
    struct opening opening;
    struct persistent_items *persistent;

    assert_int_equal(persistent_items_new(&persistent), 0);
    open_again(persistent, &opening, &live);
    bound = &persistent_items_origin(persistent, &opening.origin)->origin;
    assert_false(bound->threads_only || bound->lacks_switches || bound->lost_uncounted);
    close_opening(persistent, &opening);

    live = (struct origin){.layer = LAYER_GUEST,
                           .format = "ftrace",
                           .path = "guest/cpu0.raw",
                           .n_cpus = 2,
                           .pid_filter = true,
                           .threads_only = true,
                           .lacks_switches = true,
                           .recorder_pid = 11,
                           .agent_pid = 12,
                           .is_cut = true,
                           .is_live = true,
                           .lost_uncounted = true,
                           .ends_apart = true,
                           .is_error_refuted = true,
                           .rate_error = 0.5,
                           .duration_error_ns = 13,
                           .lost = 14,
                           .last_begin = 15,
                           .lost_begin = 16,
                           .complete_from = 17,
                           .ended = 18,
                           .known_from = 19,
                           .known_until = 20};
    open_again(persistent, &opening, &live);
    assert_ptr_equal(&persistent_items_origin(persistent, &opening.origin)->origin, bound);
    close_opening(persistent, &opening);

    assert_true(bound->pid_filter && bound->threads_only && bound->lacks_switches);
    assert_true(bound->is_cut && bound->is_live && bound->lost_uncounted && bound->ends_apart);
    assert_true(bound->is_error_refuted && bound->rate_error == 0.5);
    assert_int_equal(bound->recorder_pid, 11);
    assert_int_equal(bound->agent_pid, 12);
    assert_int_equal(bound->duration_error_ns, 13);
    assert_int_equal(bound->lost, 14);
    assert_int_equal(bound->last_begin, 15);
    assert_int_equal(bound->lost_begin, 16);
    assert_int_equal(bound->complete_from, 17);
    assert_int_equal(bound->ended, 18);
    assert_int_equal(bound->known_from, 19);
    assert_int_equal(bound->known_until, 20);
    /* What the origin has had lasts. */
    assert_int_equal(bound->n_cpus, 4);
    assert_string_equal(bound->machine, "aarch64");
    assert_string_equal(bound->host_name, "far");
    assert_string_equal(bound->path, "");
    persistent_items_free(persistent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_origin_has_what_the_last_opening_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
