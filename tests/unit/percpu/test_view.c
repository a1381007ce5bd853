/* SPDX-License-Identifier: MIT */
/* The consumer's side of per-CPU buffers, on buffers made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "strata/percpu_view.h"

_Static_assert(STRATA_PERCPU_EBUSY == EBUSY, "");
_Static_assert(STRATA_PERCPU_ENODEV == ENODEV, "");
_Static_assert(STRATA_PERCPU_EINVAL == EINVAL, "");
_Static_assert(STRATA_PERCPU_EBADMSG == EBADMSG, "");
_Static_assert(STRATA_PERCPU_ENOTSUP == ENOTSUP, "");
_Static_assert(STRATA_PERCPU_ESTALE == ESTALE, "");

#define PAGES 2
#define X (PAGES * 4096 - 8)

static _Alignas(4096) uint8_t memory[PAGES * 4096];

/* A buffer as a CPU has left it, each byte of the data telling its place. */
static struct strata_percpu_view made(uint32_t cons, uint32_t prod)
{
    struct strata_percpu_view view;

    for (uint32_t i = 0; i < X; i++)
        memory[8 + i] = (uint8_t)(i / 4);
    memcpy(memory, &cons, 4);
    memcpy(memory + 4, &prod, 4);
    assert_int_equal(strata_percpu_view_init(&view, memory, sizeof(memory)), 0);
    assert_int_equal(view.size, X);
    return view;
}

static uint32_t cons_of(void)
{
    uint32_t cons;

    memcpy(&cons, memory, 4);
    return cons;
}

static void windows_of_every_state(void **state)
{
    /* Every 4 bytes near the edges, coarser between. */
    for (uint32_t cons = 0; cons < 2 * X; cons += (cons % X > 64 && cons % X < X - 512) ? 252 : 4)
        for (uint32_t bytes = 0; bytes <= X; bytes += (bytes > 64 && bytes < X - 512) ? 252 : 4) {
            struct strata_percpu_view view = made(cons, (cons + bytes) % (2 * X));
            struct strata_percpu_window windows[2];
            uint32_t first = bytes < X - cons % X ? bytes : X - cons % X;
            int n = strata_percpu_view_windows(&view, windows);

            assert_int_equal(n, (first > 0) + (bytes > first));
            assert_int_equal(windows[0].size, first);
            assert_int_equal(windows[1].size, bytes - first);
            if (n > 0)
                assert_ptr_equal(windows[0].data, memory + 8 + cons % X);
            if (n > 1)
                assert_ptr_equal(windows[1].data, memory + 8);

            assert_int_equal(strata_percpu_view_release(&view, first), 0);
            assert_int_equal(cons_of(), (cons + first) % (2 * X));
            assert_int_equal(strata_percpu_view_release(&view, bytes - first + 4), -EINVAL);
            assert_int_equal(strata_percpu_view_release(&view, bytes - first), 0);
            assert_int_equal(cons_of(), (cons + bytes) % (2 * X));
            assert_int_equal(strata_percpu_view_windows(&view, windows), 0);
        }
}

static void positions_that_cannot_be(void **state)
{
    static const struct {
        uint32_t cons, prod;
    } wrong[] = {
        {2 * X, 0}, {0, 2 * X},  {2, 4},          {0, 6},          {0, X + 4},
        {4, 0},     {X + 4, X},  {UINT32_MAX, 0}, {0, UINT32_MAX}, {UINT32_MAX, UINT32_MAX},
        {X, X - 4}, {X + 8, 12},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct strata_percpu_view view = made(wrong[i].cons, wrong[i].prod);
        struct strata_percpu_window windows[2] = {{NULL, 77}, {NULL, 77}};

        assert_int_equal(strata_percpu_view_windows(&view, windows), -EBADMSG);
        assert_int_equal(windows[0].size, 77);
        assert_int_equal(strata_percpu_view_skip(&view), -EBADMSG);
        assert_int_equal(cons_of(), wrong[i].cons);
        if (wrong[i].prod < 2 * X && wrong[i].prod % 4 == 0) {
            assert_int_equal(strata_percpu_view_reset(&view), 0);
            assert_int_equal(cons_of(), wrong[i].prod);
            assert_int_equal(strata_percpu_view_windows(&view, windows), 0);
        } else {
            assert_int_equal(strata_percpu_view_reset(&view), -EBADMSG);
            assert_int_equal(cons_of(), wrong[i].cons);
        }
    }
}

static void skip_and_another_consumer(void **state)
{
    struct strata_percpu_view view = made(X - 8, X + 16);
    struct strata_percpu_window windows[2];
    uint32_t other = X;

    assert_int_equal(strata_percpu_view_skip(&view), 24);
    assert_int_equal(cons_of(), X + 16);
    assert_int_equal(strata_percpu_view_skip(&view), 0);

    view = made(X - 8, X + 16);
    assert_int_equal(strata_percpu_view_release(&view, 4), -EINVAL); /* no windows were asked for */
    assert_int_equal(strata_percpu_view_windows(&view, windows), 2);
    assert_int_equal(strata_percpu_view_release(&view, 3), -EINVAL);
    memcpy(memory, &other, 4);
    assert_int_equal(strata_percpu_view_release(&view, 8), -ESTALE);
    assert_int_equal(cons_of(), X);
}

static void memory_that_is_no_buffer(void **state)
{
    struct strata_percpu_view view;

    assert_int_equal(strata_percpu_view_init(&view, NULL, 4096), -EINVAL);
    assert_int_equal(strata_percpu_view_init(&view, memory + 2, 4096), -EINVAL);
    assert_int_equal(strata_percpu_view_init(&view, memory, 0), -EINVAL);
    assert_int_equal(strata_percpu_view_init(&view, memory, 4095), -EINVAL);
    assert_int_equal(strata_percpu_view_init(&view, memory, (size_t)1 << 31), -EINVAL);
    assert_int_equal(strata_percpu_view_init(&view, memory, 4096), 0);
    assert_int_equal(view.size, 4088);
}

/* Two pages per buffer; CPU 0, no CPU 1, CPU 2. */
static void page_lists(void **state)
{
    struct {
        uint16_t pages, lists[3];
        uint32_t frames[4];
    } t_info = {2, {2, 0, 4}, {10, 11, 20, 21}};
    struct strata_percpu_info info;
    const uint32_t *pages = NULL;

    assert_int_equal(strata_percpu_info_init(&info, &t_info, sizeof(t_info)), 0);
    assert_int_equal(info.pages, 2);
    assert_int_equal(strata_percpu_info_cpu(&info, 0, &pages), 0);
    assert_int_equal(pages[0], 10);
    assert_int_equal(pages[1], 11);
    assert_int_equal(strata_percpu_info_cpu(&info, 2, &pages), 0);
    assert_int_equal(pages[0], 20);
    assert_int_equal(pages[1], 21);

    pages = NULL;
    assert_int_equal(strata_percpu_info_cpu(&info, 1, &pages), -ENODEV);
    assert_int_equal(strata_percpu_info_cpu(&info, 11, &pages), -EINVAL);
    assert_int_equal(strata_percpu_info_cpu(&info, UINT32_MAX, &pages), -EINVAL);
    t_info.lists[2] = 5; /* one word more than there is */
    assert_int_equal(strata_percpu_info_cpu(&info, 2, &pages), -EBADMSG);
    t_info.lists[2] = 1; /* in its own entry */
    assert_int_equal(strata_percpu_info_cpu(&info, 2, &pages), -EBADMSG);
    t_info.lists[2] = 0xffff;
    assert_int_equal(strata_percpu_info_cpu(&info, 2, &pages), -EBADMSG);
    assert_null(pages);

    t_info.pages = 0;
    assert_int_equal(strata_percpu_info_init(&info, &t_info, sizeof(t_info)), -EBADMSG);
    assert_int_equal(strata_percpu_info_init(&info, &t_info, 3), -EINVAL);
    assert_int_equal(strata_percpu_info_init(&info, t_info.lists, 8), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_every_state),
        cmocka_unit_test(positions_that_cannot_be),
        cmocka_unit_test(skip_and_another_consumer),
        cmocka_unit_test(memory_that_is_no_buffer),
        cmocka_unit_test(page_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
