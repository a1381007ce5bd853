/* SPDX-License-Identifier: MIT */
/* Joins of requests, against machines that know which request is which. */
#include "cmocka_all.h"

#include <stdlib.h>

#include "analysis/requests/joins.h"

static struct join begin(struct joins *joins, enum layer layer, uint64_t sector, int64_t earliest,
                         uint32_t tag)
{
    struct join_request request = {.layer = layer, .words = {sector, 8, 0}, .tag = tag};
    struct join join;

    assert_int_equal(joins_begin(joins, &request, earliest, &join), 0);
    return join;
}

static void test_one(void **state)
{
    struct joins joins = {0};
    struct join guest = begin(&joins, LAYER_GUEST, 8, 0, 1);
    struct join other = begin(&joins, LAYER_VMM, 16, 1, 2);
    struct join vmm = begin(&joins, LAYER_VMM, 8, 2, 3);

    (void)state;
    assert_true(!guest.is_joined && !other.is_joined && vmm.is_joined);
    assert_int_equal(vmm.partner, 1);
    assert_int_equal(vmm.id, guest.id);
    assert_int_not_equal(vmm.id, other.id);
    joins_done(&joins);
}

static void test_ended(void **state)
{
    struct joins joins = {0};
    struct join guest = begin(&joins, LAYER_GUEST, 8, 0, 1);

    (void)state;
    joins_end(&joins, guest.number, 10);
    assert_false(begin(&joins, LAYER_VMM, 8, 11, 2).is_joined);
    joins_end(&joins, begin(&joins, LAYER_GUEST, 16, 12, 3).number, 20);
    assert_true(begin(&joins, LAYER_VMM, 16, 20, 4).is_joined);
    joins_done(&joins);
}

static void test_forgotten(void **state)
{
    struct joins joins = {0};
    struct join open = begin(&joins, LAYER_GUEST, 8, 0, 1);
    struct join ended = begin(&joins, LAYER_GUEST, 16, 0, 2);

    (void)state;
    joins_forget(&joins, open.number, 1);
    joins_end(&joins, ended.number, 10);
    joins_forget(&joins, ended.number, 2);
    joins_forget(&joins, ended.number, 2);
    assert_false(begin(&joins, LAYER_VMM, 8, 1, 3).is_joined);
    assert_false(begin(&joins, LAYER_VMM, 16, 1, 4).is_joined);
    /* The numbers are of these now. */
    joins_forget(&joins, open.number, 1);
    joins_forget(&joins, ended.number, 2);
    assert_true(begin(&joins, LAYER_GUEST, 8, 2, 5).is_joined);
    assert_true(begin(&joins, LAYER_GUEST, 16, 2, 6).is_joined);
    joins_done(&joins);
}

/* The second request of the monitor is one of the guest's first two, and stays so when all others are over. */
static void test_ambiguous(void **state)
{
    struct joins joins = {0};
    struct join first = begin(&joins, LAYER_GUEST, 8, 0, 1);
    struct join second = begin(&joins, LAYER_GUEST, 8, 1, 2);
    struct join vmm = begin(&joins, LAYER_VMM, 8, 2, 3);

    (void)state;
    assert_true(vmm.is_ambiguous);
    assert_true(begin(&joins, LAYER_VMM, 8, 3, 4).is_ambiguous);
    joins_end(&joins, first.number, 10);
    joins_end(&joins, second.number, 10);
    joins_end(&joins, vmm.number, 10);
    vmm = begin(&joins, LAYER_GUEST, 8, 20, 5);
    assert_true(vmm.is_ambiguous && !vmm.is_joined);
    joins_done(&joins);
}

static void test_machines(void **state)
{
    struct joins joins = {0};
    int machines[2];
    struct join_request request = {
        .layer = LAYER_GUEST, .vm = &machines[0], .words = {8, 8, 0}, .tag = 1};
    struct join join;

    (void)state;
    assert_int_equal(joins_begin(&joins, &request, 0, &join), 0);
    request.layer = LAYER_VMM;
    request.vm = &machines[1];
    request.tag = 2;
    assert_int_equal(joins_begin(&joins, &request, 1, &join), 0);
    assert_true(!join.is_joined && !join.is_ambiguous);
    request.vm = &machines[0];
    request.tag = 3;
    assert_int_equal(joins_begin(&joins, &request, 2, &join), 0);
    assert_true(join.is_joined);
    assert_int_equal(join.partner, 1);
    /* One that may be of either machine joins the only one that is left. */
    request.layer = LAYER_GUEST;
    request.vm = NULL;
    request.tag = 4;
    assert_int_equal(joins_begin(&joins, &request, 3, &join), 0);
    assert_int_equal(join.partner, 2);
    joins_done(&joins);
}

/* ---- A machine that knows ---- */

#define REQUESTS 400
#define UNIT 10000 /* no two moments are the same */
#define WRONG_BY 5 /* units that the clock of the monitor is wrong by, at most */

struct moment {
    int64_t time;
    unsigned request;
    bool is_vmm, is_end;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;

    return (x->time > y->time) - (x->time < y->time);
}

/* 0 to N - 1, by xorshift. */
static int64_t draw(uint64_t *seed, unsigned n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (int64_t)(*seed % n);
}

/* Requests with few words, many of which overlap. Those with the same words begin so far apart that the error of the clocks does not
 * hide their order. Returns how many were joined, all of them rightly. */
static unsigned join_all(uint64_t seed)
{
    static struct moment moments[4 * REQUESTS];
    static struct join found[REQUESTS][2];
    struct joins joins = {0};
    int64_t off, now = 0;
    unsigned n = 0, n_joined = 0;

    off = draw(&seed, 2 * WRONG_BY + 1) - WRONG_BY;
    for (unsigned i = 0; i < REQUESTS; i++) {
        int64_t begin = now + WRONG_BY + draw(&seed, 8), handled = begin + 1 + draw(&seed, 4);
        int64_t done = handled + 1 + draw(&seed, 40), end = done + 1 + draw(&seed, 4);

        moments[n++] = (struct moment){begin * UNIT + n, i, false, false};
        moments[n++] = (struct moment){(handled + off) * UNIT + n, i, true, false};
        moments[n++] = (struct moment){(done + off) * UNIT + n, i, true, true};
        moments[n++] = (struct moment){end * UNIT + n, i, false, true};
        now = begin;
    }
    qsort(moments, n, sizeof *moments, compare_moments);
    for (unsigned i = 0; i < n; i++) {
        const struct moment *moment = &moments[i];
        struct join *join = &found[moment->request][moment->is_vmm];
        /* Both clocks may be wrong by that. */
        int64_t margin = (WRONG_BY + 1) * UNIT;

        if (moment->is_end) {
            joins_end(&joins, join->number, moment->time + margin);
            continue;
        }
        *join = begin(&joins, moment->is_vmm ? LAYER_VMM : LAYER_GUEST, moment->request * 7 % 3,
                      moment->time - margin, 1 + moment->request);
        if (join->is_joined) {
            n_joined++;
            assert_int_equal(join->partner, 1 + moment->request);
        }
    }
    joins_done(&joins);
    return n_joined;
}

static void test_never_wrong(void **state)
{
    unsigned n = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++)
        n += join_all(seed * UINT64_C(0x9e3779b97f4a7c15));
    assert_true(n > 300 * REQUESTS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),       cmocka_unit_test(test_ended),
        cmocka_unit_test(test_forgotten), cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_machines),  cmocka_unit_test(test_never_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
