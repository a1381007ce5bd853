/* SPDX-License-Identifier: MIT */

/* The consumer's side of a CPU's buffer, and t_info. */

#include "strata/percpu_view.h"

static uint32_t load_acquire(const uint32_t *at)
{
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* How many bytes there are from CONS to PROD; more than X when that cannot be. */
static uint32_t unread(const struct strata_percpu_view *view, uint32_t cons, uint32_t prod)
{
    if (cons >= 2 * view->size || prod >= 2 * view->size || (cons | prod) & 3)
        return UINT32_MAX;
    return prod >= cons ? prod - cons : prod + 2 * view->size - cons;
}

int strata_percpu_view_init(struct strata_percpu_view *ret, void *memory, size_t bytes)
{
    if (!memory || (uintptr_t)memory % 4 != 0 || bytes < STRATA_PERCPU_PAGE ||
        bytes % STRATA_PERCPU_PAGE != 0 || bytes > 1U << 30)
        return -STRATA_PERCPU_EINVAL;
    *ret = (struct strata_percpu_view){
        .buffer = (uint32_t *)memory,
        .data = (const uint8_t *)memory + 8,
        .size = (uint32_t)bytes - 8,
    };
    return 0;
}

int strata_percpu_view_windows(struct strata_percpu_view *view, struct strata_percpu_window ret[2])
{
    uint32_t cons = __atomic_load_n(&view->buffer[0], __ATOMIC_RELAXED);
    /* Acquire: who sees this prod sees the records before it. */
    uint32_t prod = load_acquire(&view->buffer[1]);
    uint32_t bytes = unread(view, cons, prod), from, first;

    if (bytes > view->size)
        return -STRATA_PERCPU_EBADMSG;

    view->cons = cons;
    view->prod = prod;
    from = cons < view->size ? cons : cons - view->size;
    first = bytes < view->size - from ? bytes : view->size - from;
    ret[0] = (struct strata_percpu_window){view->data + from, first};
    ret[1] = (struct strata_percpu_window){view->data, bytes - first};
    return (first > 0) + (bytes > first);
}

int strata_percpu_view_release(struct strata_percpu_view *view, size_t bytes)
{
    uint32_t cons;

    if (bytes > unread(view, view->cons, view->prod) || bytes % 4 != 0)
        return -STRATA_PERCPU_EINVAL;
    if (__atomic_load_n(&view->buffer[0], __ATOMIC_RELAXED) != view->cons)
        return -STRATA_PERCPU_ESTALE;

    cons = view->cons + (uint32_t)bytes;
    if (cons >= 2 * view->size)
        cons -= 2 * view->size;
    /* Release: the CPU may write there from now on, and our reads come before. */
    __atomic_store_n(&view->buffer[0], cons, __ATOMIC_RELEASE);
    view->cons = cons;
    return 0;
}

int64_t strata_percpu_view_skip(struct strata_percpu_view *view)
{
    struct strata_percpu_window windows[2];
    uint32_t bytes;
    int r;

    r = strata_percpu_view_windows(view, windows);
    if (r < 0)
        return r;
    bytes = (uint32_t)(windows[0].size + windows[1].size);
    r = strata_percpu_view_release(view, bytes);
    return r < 0 ? r : (int64_t)bytes;
}

int strata_percpu_view_reset(struct strata_percpu_view *view)
{
    uint32_t prod = load_acquire(&view->buffer[1]);

    if (unread(view, prod, prod) != 0)
        return -STRATA_PERCPU_EBADMSG;
    __atomic_store_n(&view->buffer[0], prod, __ATOMIC_RELEASE);
    view->cons = view->prod = prod;
    return 0;
}

static uint32_t load_u16(const uint8_t *at)
{
    return *(const uint16_t *)(const void *)at;
}

int strata_percpu_info_init(struct strata_percpu_info *ret, const void *memory, size_t bytes)
{
    const uint8_t *at = memory;

    if (!memory || (uintptr_t)memory % 4 != 0 || bytes < 4)
        return -STRATA_PERCPU_EINVAL;
    if (load_u16(at) == 0)
        return -STRATA_PERCPU_EBADMSG;
    *ret = (struct strata_percpu_info){.memory = at, .bytes = bytes, .pages = load_u16(at)};
    return 0;
}

int strata_percpu_info_cpu(const struct strata_percpu_info *info, unsigned cpu,
                           const uint32_t **ret_pages)
{
    size_t entry = 2 + 2 * (size_t)cpu, list;

    if (cpu >= info->bytes / 2 || entry + 2 > info->bytes)
        return -STRATA_PERCPU_EINVAL;
    list = 4 * (size_t)load_u16(info->memory + entry);
    if (list == 0)
        return -STRATA_PERCPU_ENODEV;
    if (list < entry + 2 || list + 4 * (size_t)info->pages > info->bytes)
        return -STRATA_PERCPU_EBADMSG;
    *ret_pages = (const uint32_t *)(const void *)(info->memory + list);
    return 0;
}
