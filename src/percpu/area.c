/* SPDX-License-Identifier: MIT */

/* Makes an area, and gives CPUs their buffers. */

#include "percpu/buffer.h"

_Static_assert(sizeof(struct strata_percpu_control) <= STRATA_PERCPU_SINGLES_OFFSET, "a page");
_Static_assert(offsetof(struct strata_percpu_control, masks) == 128, "as in strata/percpu_area.h");
_Static_assert(offsetof(struct strata_percpu_control, notify) == 192, "as in strata/percpu_area.h");
_Static_assert(offsetof(struct strata_percpu_control, is_found) == 256,
               "as in strata/percpu_area.h");
_Static_assert(offsetof(struct strata_percpu_control, cpus) == 1024, "as in strata/percpu_area.h");
_Static_assert(offsetof(struct strata_percpu_control, found_cpus) == 1536,
               "as in strata/percpu_area.h");
_Static_assert(sizeof(struct strata_percpu_state) == 64, "as in strata/percpu_area.h");
_Static_assert(offsetof(struct strata_percpu_cpu, crossed) <= 64, "one line for the ordinary case");

static struct strata_percpu_control all_off;

struct strata_percpu_control *strata_percpu_control = &all_off;

/* Where things are, as far as the options tell. */
struct plan {
    uint32_t info_offset;
    uint32_t info_size;
    uint32_t n_online;
    uint64_t buffers_offset;
    uint64_t size;
};

static bool is_online(const struct strata_percpu_options *options, uint32_t cpu)
{
    return !options->online || options->online[cpu / 32] >> cpu % 32 & 1;
}

/* Where the lists begin, in units of 4 bytes from the begin of t_info. */
static uint32_t lists_at(uint32_t n_cpus)
{
    return (2 + 2 * n_cpus + 3) / 4;
}

static int make_plan(const struct strata_percpu_options *options, struct plan *ret)
{
    struct plan plan = {0};
    uint64_t words;

    if (options->n_cpus < 1 || options->n_cpus > STRATA_PERCPU_CPUS_MAX || options->pages < 1 ||
        options->pages > UINT16_MAX)
        return -STRATA_PERCPU_EINVAL;
    for (uint32_t i = 0; i < options->n_cpus; i++)
        plan.n_online += is_online(options, i);
    words = lists_at(options->n_cpus) + (uint64_t)plan.n_online * options->pages;
    if (plan.n_online == 0 || words > UINT16_MAX)
        return -STRATA_PERCPU_EINVAL;

    plan.info_offset = round_page(STRATA_PERCPU_STATES_OFFSET +
                                  options->n_cpus * (uint32_t)sizeof(struct strata_percpu_state));
    plan.info_size = (uint32_t)words * 4;
    plan.buffers_offset = plan.info_offset + round_page(plan.info_size);
    plan.size = plan.buffers_offset + (uint64_t)plan.n_online * options->pages * STRATA_PERCPU_PAGE;
    if (plan.size > SIZE_MAX)
        return -STRATA_PERCPU_EINVAL;
    *ret = plan;
    return 0;
}

size_t strata_percpu_size(const struct strata_percpu_options *options)
{
    struct plan plan;

    return make_plan(options, &plan) < 0 ? 0 : (size_t)plan.size;
}

static void make_info(uint8_t *memory, const struct strata_percpu_options *options,
                      const struct plan *plan)
{
    uint16_t *head = (uint16_t *)(void *)(memory + plan->info_offset);
    uint32_t *lists = (uint32_t *)(void *)(memory + plan->info_offset);
    uint32_t at = lists_at(options->n_cpus);
    uint32_t page = (uint32_t)(plan->buffers_offset / STRATA_PERCPU_PAGE);

    head[0] = (uint16_t)options->pages;
    for (uint32_t i = 0; i < options->n_cpus; i++) {
        if (!is_online(options, i))
            continue;
        head[1 + i] = (uint16_t)at;
        for (uint32_t j = 0; j < options->pages; j++)
            lists[at++] = page++;
    }
}

int strata_percpu_init(void *memory, size_t bytes, const struct strata_percpu_options *options,
                       struct strata_percpu_control **ret)
{
    struct strata_percpu_control *control = memory;
    struct plan plan;
    uint64_t magic;
    int r;

    r = make_plan(options, &plan);
    if (r < 0)
        return r;
    if (!memory || (uintptr_t)memory % STRATA_PERCPU_PAGE != 0 || bytes < plan.size)
        return -STRATA_PERCPU_EINVAL;

    control->version = STRATA_PERCPU_VERSION;
    control->n_cpus = options->n_cpus;
    control->pages = options->pages;
    control->page_size = STRATA_PERCPU_PAGE;
    control->size = plan.size;
    control->tsc_hz = options->tsc_hz;
    control->info_offset = plan.info_offset;
    control->info_size = plan.info_size;
    control->pid = options->pid;
    for (uint32_t i = 0; options->name && options->name[i] && i + 1 < STRATA_PERCPU_NAME_MAX; i++)
        control->name[i] = options->name[i];
    control->masks.events = STRATA_TRC_ALL;
    control->masks.high_water = ((options->pages * STRATA_PERCPU_PAGE - 8) / 2) & ~3U;
    for (uint32_t i = 0; i < options->n_cpus; i++)
        control->cpus[i / 32] |= 1U << i % 32;
    make_info(memory, options, &plan);

    for (uint32_t i = 0; i < 8; i++)
        ((uint8_t *)&magic)[i] = (uint8_t)STRATA_PERCPU_MAGIC[i];
    /* Release: who sees it sees all of the above. */
    __atomic_store_n((uint64_t *)(void *)control->magic, magic, __ATOMIC_RELEASE);
    *ret = control;
    return 0;
}

int strata_percpu_cpu_init(struct strata_percpu_cpu *cpu, struct strata_percpu_control *control,
                           uint32_t number, const struct strata_percpu_hooks *hooks)
{
    struct strata_percpu_area area;
    struct strata_percpu_view view;
    int r;

    r = strata_percpu_area_init(&area, control, (size_t)control->size);
    if (r < 0)
        return r;
    r = strata_percpu_area_view(&area, number, &view);
    if (r < 0)
        return r;
    if (view.buffer[1] != 0) /* it was in use, and `reserve` is not known */
        return -STRATA_PERCPU_EBUSY;

    cpu->reserve = cpu->committed = cpu->limit = 0;
    cpu->cons_seen = 0;
    cpu->size = view.size;
    cpu->buffer = view.buffer;
    cpu->number = number;
    cpu->current = 0;
    cpu->control = control;
    cpu->state = &area.states[number];
    cpu->crossed = 0;
    cpu->cycles = hooks ? hooks->cycles : NULL;
    cpu->notify = hooks ? hooks->notify : NULL;
    return 0;
}

void strata_percpu_set_single(struct strata_percpu_control *control, uint32_t event, bool off)
{
    uint32_t bit = strata_percpu_single(event);
    uint32_t *word =
        (uint32_t *)(void *)((uint8_t *)control + STRATA_PERCPU_SINGLES_OFFSET) + bit / 32;

    if (bit >= STRATA_PERCPU_SINGLES)
        return;
    if (off)
        __atomic_fetch_or(word, 1U << bit % 32, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(word, ~(1U << bit % 32), __ATOMIC_RELAXED);
}
