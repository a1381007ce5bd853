/* SPDX-License-Identifier: MIT */
#pragma once

/* A source over an array of items, which enforces the contract that readers rely on: what was lent is
 * poisoned at the next call, so that a stage which keeps a pointer into it is caught. */

#include <stdlib.h>
#include <string.h>

#include "event/source.h"

struct memory_source {
    struct source source;
    const struct item *items; /* borrowed */
    unsigned n;
    unsigned next;
    unsigned run; /* items a call */
    int error;    /* returned at the end instead of 0 */
    struct item *lent;
    uint8_t *payloads;
    size_t lent_size;
};

static inline void memory_poison(struct memory_source *m)
{
    if (m->lent)
        memset(m->lent, 0xa5, m->run * sizeof *m->lent);
    if (m->payloads)
        memset(m->payloads, 0xa5, m->lent_size);
    free(m->lent);
    free(m->payloads);
    m->lent = NULL;
    m->payloads = NULL;
}

static inline int memory_next(struct source *source, const struct item **ret_items)
{
    struct memory_source *m = container_of(source, struct memory_source, source);
    unsigned n = MIN(m->run, m->n - m->next);
    uint8_t *p;

    memory_poison(m);
    if (n == 0) {
        if (m->error)
            error_set(&source->error, m->error, "memory", "made to fail");
        return m->error;
    }
    m->lent = calloc(m->run, sizeof *m->lent);
    m->lent_size = 1;
    for (unsigned i = 0; i < n; i++)
        if (m->items[m->next + i].kind == ITEM_EVENT)
            m->lent_size += m->items[m->next + i].size;
    p = m->payloads = malloc(m->lent_size);
    for (unsigned i = 0; i < n; i++) {
        m->lent[i] = m->items[m->next + i];
        if (m->lent[i].kind != ITEM_EVENT || m->lent[i].size == 0)
            continue;
        memcpy(p, m->lent[i].payload, m->lent[i].size);
        m->lent[i].payload = p;
        p += m->lent[i].size;
    }
    m->next += n;
    *ret_items = m->lent;
    return (int)n;
}

static inline void memory_free(struct source *source)
{
    struct memory_source *m = container_of(source, struct memory_source, source);

    memory_poison(m);
    free(m);
}

/* Lends N items of ITEMS, RUN a call, then ends with ERROR (0: the end). Never NULL. */
static inline struct source *memory_source(const struct item *items, unsigned n, unsigned run,
                                           int error)
{
    static const struct source_ops ops = {.next = memory_next, .free = memory_free};
    struct memory_source *m = calloc(1, sizeof *m);

    if (!m)
        abort();
    m->source.ops = &ops;
    m->items = items;
    m->n = n;
    m->run = run;
    m->error = error;
    return &m->source;
}
