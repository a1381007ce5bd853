/* SPDX-License-Identifier: MIT */
/* watch/families.h on openings that are made here: what is open goes on in the next one, and labels are bounded. What is counted of
 * real traces: tests/golden/watch_families.sh. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/kernel.h"
#include "watch/families.h"

#define NUMBER(field, at)                                                               \
    {                                                                                   \
        .name = (field), .c_type = "u32", .type = FIELD_UINT, .offset = (at), .size = 4 \
    }

static const struct field fields[] = {NUMBER("exit_reason", 0), NUMBER("isa", 4),
                                      NUMBER("vcpu_id", 8)};
static const struct origin_kernel a_kernel = {.long_size = 8};

/* An opening: an origin and classes of its own, in another order each time. */
struct opening {
    struct trace trace;
    struct trace_input input;
    struct event_class *classes[2];
};

enum { EXIT, ENTRY };

static void opening_init(struct opening *opening, const char *path, bool is_first)
{
    static const char *const names[] = {"kvm_exit", "kvm_entry"};
    struct origin origin = {.layer = LAYER_HOST,
                            .format = "made",
                            .path = path,
                            .host_name = "build7",
                            .clock = {"monotonic", NANOSECONDS},
                            .kernel = &a_kernel};
    struct catalogue *catalogue = &opening->trace.catalogue;

    *opening = (struct opening){.trace = {.host_time = true, .n_inputs = 1}};
    opening->input = (struct trace_input){
        .path = path, .origin = catalogue_add_origin(catalogue, &origin), .n_origins = 1};
    opening->trace.inputs = &opening->input;
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = is_first ? i : 1 - i;
        struct event_class class = {.name = names[which],
                                    .group = "kvm",
                                    .id = which,
                                    .origin = opening->input.origin,
                                    .fields = fields,
                                    .n_fields = ARRAY_SIZE(fields)};

        assert_int_equal(catalogue_add(catalogue, &class, &opening->classes[which]), 0);
    }
}

struct setup {
    struct metrics *metrics;
    struct metric_family *family[FAMILIES];
    struct families *families;
};

static int setup(void **state)
{
    struct setup *s = calloc(1, sizeof *s);

    assert_int_equal(metrics_new(&s->metrics), 0);
    assert_int_equal(families_add(s->metrics, s->family), 0);
    assert_int_equal(families_new(s->family, &s->families), 0);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct setup *s = *state;

    families_free(s->families);
    metrics_free(s->metrics);
    free(s);
    return 0;
}

static void put(const struct setup *s, const struct opening *opening, unsigned class, int64_t time,
                int32_t pid, uint32_t reason, uint32_t vcpu)
{
    const uint32_t payload[] = {reason, 1 /* VMX */, vcpu};
    const struct item item = {.time = time,
                              .origin = opening->input.origin,
                              .class = opening->classes[class],
                              .payload = (const uint8_t *)payload,
                              .size = sizeof payload,
                              .cpu = 0,
                              .pid = pid,
                              .vcpu = VCPU_UNKNOWN};

    assert_int_equal(sink_put(families_sink(s->families), &item, 1), 0);
}

static void open_it(const struct setup *s, const struct opening *opening, int64_t from)
{
    struct error error = {0};

    assert_int_equal(families_open(s->families, &opening->trace, from, &error), 0);
}

static void close_it(const struct setup *s, struct opening *opening)
{
    assert_int_equal(families_close(s->families), 0);
    catalogue_done(&opening->trace.catalogue);
    /* Nothing of it may be used any more. */
    memset(opening, 0xa5, sizeof *opening);
}

static void expect(const struct setup *s, const char *line, bool is_there)
{
    struct text text = TEXT_IN_MEMORY;

    metrics_put(s->metrics, METRICS_TEXT, &text);
    text_put_char(&text, '\0');
    if ((strstr(text.start, line) != NULL) != is_there)
        fail_msg("%s\nis %sin\n%s", line, is_there ? "not " : "", text.start);
    text_done(&text);
}

#define OF(reason) "{machine=\"build7\",vcpu=\"0\",reason=\"" reason "\"} "

/* An exit that is open when the window ends is counted with its entry, windows later, with all its time; and what a window
 * repeats of the one before is left out. */
static void test_across_openings(void **state)
{
    struct setup *s = *state;
    struct opening opening;

    opening_init(&opening, "a", true);
    open_it(s, &opening, INT64_MIN);
    put(s, &opening, EXIT, 1000000000, 7, 12, 0);
    close_it(s, &opening);
    expect(s, "strata_exits_total" OF("HLT") "0\n", true);
    opening_init(&opening, "a", false); /* a window without events of it */
    open_it(s, &opening, 2000000000);
    close_it(s, &opening);
    opening_init(&opening, "a", false);
    open_it(s, &opening, 3000000000);
    put(s, &opening, EXIT, 1000000000, 7, 12, 0);
    put(s, &opening, EXIT, 3000000000, 7, 12, 0);
    put(s, &opening, ENTRY, 3500000000, 7, 0, 0);
    put(s, &opening, EXIT, 3600000000, 7, 30, 0);
    put(s, &opening, ENTRY, 3600000001, 7, 0, 0);
    close_it(s, &opening);
    expect(s, "strata_exits_total" OF("HLT") "1\n", true);
    expect(s, "strata_exit_seconds_total" OF("HLT") "2.5\n", true);
    expect(s, "strata_exits_total" OF("IO_INSTRUCTION") "1\n", true);
    expect(s, "strata_exit_seconds_total" OF("IO_INSTRUCTION") "1e-09\n", true);
    expect(s, "strata_analyzed_events_total 4\n", true);
    expect(s, "strata_unpaired_total", false);
    assert_int_equal(families_finish(s->families), 0);
}

/* Another source of the same machine, as after a reboot, is not the one before: its entry ends nothing. */
static void test_another_source(void **state)
{
    struct setup *s = *state;
    struct opening opening;

    opening_init(&opening, "a", true);
    open_it(s, &opening, INT64_MIN);
    put(s, &opening, EXIT, 1000000000, 7, 12, 0);
    close_it(s, &opening);
    opening_init(&opening, "b", true);
    open_it(s, &opening, 2000000000);
    put(s, &opening, ENTRY, 3500000000, 7, 0, 0);
    close_it(s, &opening);
    expect(s, "strata_exits_total" OF("HLT") "0\n", true);
    expect(s, "strata_unpaired_total{analysis=\"exits\",cause=\"no_begin\"} 1\n", true);
    /* Sources that come and go without end: all begins again, and what is counted stays. */
    for (unsigned i = 0; i < 100; i++) {
        char path[16];

        snprintf(path, sizeof path, "%u", i);
        opening_init(&opening, path, true);
        open_it(s, &opening, 4000000000 + i);
        put(s, &opening, EXIT, 5000000000 + i, 7, 30, 0);
        put(s, &opening, ENTRY, 5000000000 + i, 7, 0, 0);
        close_it(s, &opening);
    }
    expect(s, "strata_exits_total" OF("IO_INSTRUCTION") "100\n", true);
}

/* Reasons beyond the limit are one, and so are vCPUs. */
static void test_limits(void **state)
{
    struct setup *s = *state;
    struct opening opening;
    int64_t time = 0;

    opening_init(&opening, "a", true);
    open_it(s, &opening, INT64_MIN);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t reason = 1000; reason < 1000 + FAMILIES_REASONS_MAX + 6; reason++) {
            put(s, &opening, EXIT, ++time, 7, reason, 0);
            put(s, &opening, ENTRY, ++time, 7, 0, 0);
        }
    }
    for (uint32_t vcpu = 1; vcpu < FAMILIES_VCPUS_MAX + 5; vcpu++) {
        put(s, &opening, EXIT, ++time, 100 + (int32_t)vcpu, 12, vcpu);
        put(s, &opening, ENTRY, ++time, 100 + (int32_t)vcpu, 0, vcpu);
    }
    close_it(s, &opening);
    expect(s, "strata_exits_total" OF("1000") "2\n", true);
    expect(s, "strata_exits_total" OF("1023") "2\n", true);
    expect(s, "reason=\"1024\"", false);
    expect(s, "strata_exits_total" OF("other") "12\n", true);
    expect(s, "strata_exits_total{machine=\"build7\",vcpu=\"1023\",reason=\"HLT\"} 1\n", true);
    expect(s, "vcpu=\"1024\"", false);
    expect(s, "strata_exits_total{machine=\"other\",vcpu=\"other\",reason=\"other\"} 5\n", true);
}

/* A clock whose rate is not known gives no seconds. */
static void test_ticks(void **state)
{
    struct setup *s = *state;
    struct error error = {0};
    struct opening opening;

    opening_init(&opening, "a", true);
    opening.trace.host_time = false;
    opening.trace.catalogue.origins[0]->clock.hz = 0;
    assert_int_equal(families_open(s->families, &opening.trace, INT64_MIN, &error), -EINVAL);
    assert_non_null(strstr(error.what, "rate"));
    catalogue_done(&opening.trace.catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(across_openings),
        TEST(another_source),
        TEST(limits),
        TEST(ticks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
