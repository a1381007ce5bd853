/* SPDX-License-Identifier: MIT */
/* An area of per-CPU buffers in which somebody writes whatever he likes while a CPU emits and a consumer
 * reads. The consumer stays inside of the area; the CPU inside of its own buffer. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "strata/percpu_area.h"

static struct strata_percpu_cpu own;
#define STRATA_PERCPU_SELF() (&own)
#include "strata/percpu.h"

#define N_CPUS 3

static uint64_t n_notified;

static void notify(struct strata_percpu_cpu *self)
{
    n_notified += self->number == 1;
}

/* What a CPU may write: the data and prod of its buffer, its state, the count of notifications. */
static void check_writes(uint8_t *before, uint8_t *after, size_t size)
{
    size_t buffer = (size_t)((uint8_t *)own.buffer - after);
    size_t state = (size_t)((uint8_t *)own.state - after);

    memcpy(before + buffer + 4, after + buffer + 4, STRATA_PERCPU_PAGE - 4);
    memcpy(before + state, after + state, 32);
    memcpy(before + offsetof(struct strata_percpu_control, notify),
           after + offsetof(struct strata_percpu_control, notify), 4);
    if (memcmp(before, after, size) != 0)
        abort();
}

static void emit(uint8_t *area, uint8_t *copy, size_t size, uint8_t kind)
{
    memcpy(copy, area, size);
    for (unsigned i = 0; i <= kind >> 4; i++) {
        if (kind & 8)
            STRATA_PERCPU_TRACE_VAR(STRATA_TRC_GUEST | kind, kind & 1, (kind & 7) * 5,
                                    "abcdefghijklmnopqrstuvwxyz0123456789");
        else
            strata_percpu_emit_slow(
                &own, strata_percpu_header(STRATA_TRC_GUEST | kind, kind & 1, kind & 7),
                (const uint32_t[]){1, 2, 3, 4, 5, 6, 7});
        TRACE_2D(STRATA_TRC_GUEST | 1, kind, i);
    }
    check_writes(copy, area, size);
}

static void consume(void *memory, size_t size, uint8_t how)
{
    struct strata_percpu_area area;
    uint64_t sum = 0, first;

    if (strata_percpu_area_init(&area, memory, size) < 0)
        return;
    for (unsigned i = 0; i < area.n_cpus; i++) {
        struct strata_percpu_window windows[2];
        struct strata_percpu_view view;

        if (strata_percpu_area_view(&area, i, &view) < 0)
            continue;
        sum += strata_percpu_area_lost(&area, i, &first);
        if (how & 1)
            sum += strata_percpu_area_take_lost(&area, i, &first);
        if (how & 2)
            (void)strata_percpu_view_reset(&view);
        if (strata_percpu_view_windows(&view, windows) >= 0) {
            for (unsigned j = 0; j < 2; j++)
                for (size_t at = 0; at < windows[j].size; at++)
                    sum += windows[j].data[at];
            (void)strata_percpu_view_release(&view, how & 4 ? windows[0].size : how);
        }
        if (how & 8 && strata_percpu_view_skip(&view) > (int64_t)size)
            abort();
    }
    __asm__ __volatile__("" ::"r"(sum));
}

/* Steps: 0-99 writes the word that follows at the place that follows (of 2 bytes, in words of the first
 * pages and of the rest), 100-199 emits, 200-255 consumes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct strata_percpu_hooks hooks = {.notify = notify};
    struct strata_percpu_options options = {.n_cpus = N_CPUS, .pages = 1, .name = "fuzz"};
    size_t bytes = strata_percpu_size(&options);
    uint8_t *area = aligned_alloc(4096, bytes), *copy = malloc(bytes);

    if (!area || !copy)
        abort();
    memset(area, 0, bytes);
    memset(&own, 0, sizeof(own));
    if (strata_percpu_init(area, bytes, &options, &strata_percpu_control) < 0 ||
        strata_percpu_cpu_init(&own, strata_percpu_control, 1, &hooks) < 0)
        abort();
    strata_percpu_control->masks.enabled = 1;
    while (size >= 2) {
        uint8_t step = data[0], what = data[1];

        data += 2;
        size -= 2;
        if (step >= 200) {
            consume(area, bytes, what);
        } else if (step >= 100) {
            emit(area, copy, bytes, what);
        } else {
            size_t at;

            if (size < 5)
                break;
            /* Near the begin of a page, where things are, or anywhere. */
            at = step < 70 ? (size_t)what % (bytes / 4096) * 4096 + 4U * data[0]
                           : ((size_t)what << 8 | data[0]) * 4 % bytes;
            memcpy(area + at, data + 1, 4);
            data += 5;
            size -= 5;
        }
    }
    free(area);
    free(copy);
    return 0;
}
