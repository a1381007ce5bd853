/* SPDX-License-Identifier: MIT */

/* An area from the consumer's side. */

#include "percpu/buffer.h"

int strata_percpu_area_init(struct strata_percpu_area *ret, void *memory, size_t bytes)
{
    struct strata_percpu_control *control = memory;
    struct strata_percpu_area area = {0};
    uint32_t info_offset, info_size;
    uint64_t magic, size;
    int r;

    if (!memory || (uintptr_t)memory % STRATA_PERCPU_PAGE != 0 ||
        bytes < STRATA_PERCPU_STATES_OFFSET)
        return -STRATA_PERCPU_EINVAL;
    /* Acquire: all the rest was stored before. */
    magic = __atomic_load_n((uint64_t *)(void *)control->magic, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < 8; i++)
        if (((const uint8_t *)&magic)[i] != (uint8_t)STRATA_PERCPU_MAGIC[i])
            return -STRATA_PERCPU_EINVAL;
    if (control->version != STRATA_PERCPU_VERSION)
        return -STRATA_PERCPU_ENOTSUP;

    /* Each read once: the program may write there at any time. */
    area.control = control;
    area.n_cpus = __atomic_load_n(&control->n_cpus, __ATOMIC_RELAXED);
    area.pages = __atomic_load_n(&control->pages, __ATOMIC_RELAXED);
    size = __atomic_load_n(&control->size, __ATOMIC_RELAXED);
    info_offset = __atomic_load_n(&control->info_offset, __ATOMIC_RELAXED);
    info_size = __atomic_load_n(&control->info_size, __ATOMIC_RELAXED);
    if (area.n_cpus < 1 || area.n_cpus > STRATA_PERCPU_CPUS_MAX || size > bytes ||
        __atomic_load_n(&control->page_size, __ATOMIC_RELAXED) != STRATA_PERCPU_PAGE ||
        info_offset < STRATA_PERCPU_STATES_OFFSET + area.n_cpus * sizeof(area.states[0]) ||
        (uint64_t)info_offset + info_size > size)
        return -STRATA_PERCPU_EBADMSG;
    area.size = (size_t)size;
    area.states =
        (struct strata_percpu_state *)(void *)((uint8_t *)memory + STRATA_PERCPU_STATES_OFFSET);
    area.singles = (uint32_t *)(void *)((uint8_t *)memory + STRATA_PERCPU_SINGLES_OFFSET);
    r = strata_percpu_info_init(&area.info, (const uint8_t *)memory + info_offset, info_size);
    if (r < 0 || area.info.pages != area.pages)
        return -STRATA_PERCPU_EBADMSG;
    *ret = area;
    return 0;
}

int strata_percpu_area_view(const struct strata_percpu_area *area, unsigned cpu,
                            struct strata_percpu_view *ret)
{
    const uint32_t *list;
    uint32_t first;
    int r;

    if (cpu >= area->n_cpus)
        return -STRATA_PERCPU_EINVAL;
    r = strata_percpu_info_cpu(&area->info, cpu, &list);
    if (r < 0)
        return r == -STRATA_PERCPU_ENODEV ? r : -STRATA_PERCPU_EBADMSG;

    /* In one piece, and within the area after t_info. */
    first = __atomic_load_n(&list[0], __ATOMIC_RELAXED);
    for (uint32_t i = 1; i < area->pages; i++)
        if (__atomic_load_n(&list[i], __ATOMIC_RELAXED) != first + i)
            return -STRATA_PERCPU_EBADMSG;
    if ((uint64_t)first * STRATA_PERCPU_PAGE <
            (uint64_t)(area->info.memory - (const uint8_t *)area->control) + area->info.bytes ||
        ((uint64_t)first + area->pages) * STRATA_PERCPU_PAGE > area->size)
        return -STRATA_PERCPU_EBADMSG;
    return strata_percpu_view_init(ret,
                                   (uint8_t *)area->control + (size_t)first * STRATA_PERCPU_PAGE,
                                   (size_t)area->pages * STRATA_PERCPU_PAGE);
}

uint64_t strata_percpu_area_lost(const struct strata_percpu_area *area, unsigned cpu,
                                 uint64_t *ret_first)
{
    const struct strata_percpu_state *state;
    uint64_t lost;

    if (cpu >= area->n_cpus)
        return 0;
    state = &area->states[cpu];
    lost = __atomic_load_n(&state->lost, __ATOMIC_RELAXED);
    *ret_first = __atomic_load_n(&state->first, __ATOMIC_RELAXED);
    return lost_untold(lost, __atomic_load_n(&state->known, __ATOMIC_RELAXED));
}

uint64_t strata_percpu_area_take_lost(const struct strata_percpu_area *area, unsigned cpu,
                                      uint64_t *ret_first)
{
    struct strata_percpu_state *state;
    uint64_t lost, known;

    if (cpu >= area->n_cpus)
        return 0;
    state = &area->states[cpu];
    lost = __atomic_load_n(&state->lost, __ATOMIC_RELAXED);
    *ret_first = __atomic_load_n(&state->first, __ATOMIC_RELAXED);
    known = __atomic_load_n(&state->known, __ATOMIC_RELAXED);
    __atomic_store_n(&state->known, lost, __ATOMIC_RELAXED);
    return lost_untold(lost, known);
}
