/* SPDX-License-Identifier: MIT */
/* Sinks that hand on what they are given. */
#include "cmocka_all.h"

#include <errno.h>

#include "analysis/coverage/losses.h"
#include "event/sink.h"

/* Counts what it is asked for, and fails where it is told to. */
struct counter {
    struct sink sink;
    unsigned begun, finished;
    unsigned n;
    int put_error, finish_error;
};

static struct counter *counter_of(struct sink *sink)
{
    return container_of(sink, struct counter, sink);
}

static void count_begin(struct sink *sink)
{
    counter_of(sink)->begun++;
}

static int count_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct counter *counter = counter_of(sink);

    assert_non_null(items);
    if (counter->put_error == -EIO)
        return error_set(&sink->error, -EIO, "f", "cannot write");
    if (counter->put_error)
        return counter->put_error;
    counter->n += n;
    return 0;
}

static int count_finish(struct sink *sink)
{
    struct counter *counter = counter_of(sink);

    counter->finished++;
    return counter->finish_error
               ? error_set(&sink->error, counter->finish_error, "f", "cannot finish")
               : 0;
}

static const struct sink_ops counting = {
    .begin = count_begin, .put = count_put, .finish = count_finish};
static const struct sink_ops only_put = {.put = count_put};

static const struct origin guest = {.layer = LAYER_GUEST};
static const struct item items[] = {
    {.origin = &guest, .kind = ITEM_EVENT},
    {.origin = &guest, .kind = ITEM_LOSS, .lost = 7, .cpu = 1},
    {.origin = &guest, .kind = ITEM_LOSS, .lost = LOST_UNKNOWN, .cpu = CPU_UNKNOWN},
};

static void test_tee(void **state)
{
    struct counter a = {.sink = {.ops = &counting}}, b = {.sink = {.ops = &only_put}};
    struct sink *const sinks[] = {&a.sink, &b.sink};
    struct tee_sink tee;

    tee_sink_init(&tee, sinks, 2);
    sink_begin(&tee.sink);
    assert_int_equal(sink_put(&tee.sink, items, 2), 0);
    assert_int_equal(sink_put(&tee.sink, items, 1), 0);
    assert_int_equal(sink_finish(&tee.sink), 0);
    assert_int_equal(a.begun, 1);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.finished, 1);
    assert_int_equal(b.n, 3);
    assert_int_equal(tee.sink.error.code, 0);
    sink_free(&tee.sink); /* it has nothing to free */
}

/* The first error is the tee's, with its text or one made for it; who comes after is not asked. */
static void test_tee_errors(void **state)
{
    struct counter a = {.sink = {.ops = &counting}}, b = {.sink = {.ops = &counting}};
    struct sink *const sinks[] = {&a.sink, &b.sink};
    struct tee_sink tee;

    tee_sink_init(&tee, sinks, 2);
    a.put_error = -EIO;
    assert_int_equal(sink_put(&tee.sink, items, 1), -EIO);
    assert_string_equal(tee.sink.error.what, "cannot write");
    assert_int_equal(b.n, 0);
    a.put_error = 0;
    b.put_error = -ENOMEM;
    tee_sink_init(&tee, sinks, 2);
    assert_int_equal(sink_put(&tee.sink, items, 1), -ENOMEM);
    assert_string_equal(tee.sink.error.what, "out of memory");
    tee_sink_init(&tee, sinks, 2);
    b.finish_error = -EIO;
    assert_int_equal(sink_finish(&tee.sink), -EIO);
    assert_string_equal(tee.sink.error.what, "cannot finish");
}

static void test_losses(void **state)
{
    struct counter next = {.sink = {.ops = &counting}};
    struct losses_sink losses;

    losses_sink_init(&losses, &next.sink);
    sink_begin(&losses.sink);
    assert_int_equal(sink_put(&losses.sink, items, 3), 0);
    assert_int_equal(sink_finish(&losses.sink), 0);
    assert_int_equal(next.begun, 1);
    assert_int_equal(next.n, 3);
    assert_int_equal(next.finished, 1);
    assert_int_equal(losses.losses.n, 2);
    assert_int_equal(losses.losses.events, 7);
    assert_int_equal(losses.losses.uncounted, 1);
    assert_int_equal(losses.layers.losses[LAYER_GUEST].n, 2);
    assert_int_equal(losses.layers.losses[LAYER_VMM].n, 0);
    next.put_error = -ENOMEM;
    assert_int_equal(sink_put(&losses.sink, items, 1), -ENOMEM);
    assert_int_equal(losses.sink.error.code, -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tee),
        cmocka_unit_test(test_tee_errors),
        cmocka_unit_test(test_losses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
