/* SPDX-License-Identifier: MIT */
#pragma once

/* When the sources of struct spans lost events, and when their threads ended. "When" is a number of spans->sequence,
 * which each of these counts on: spans that began before have a lower one. */

#include "analysis/spans/spans.h"
#include "base/macro.h"

/* The number of a loss without an end: all that begins later may have ended in it, too. */
#define SPAN_LOSS_IS_OPEN UINT32_MAX
/* That of one whose end has not come yet: the same until then. */
#define SPAN_LOSS_HAS_BEGUN (UINT32_MAX - 1)

struct span_cpu {
    uint32_t lost;    /* the last loss */
    int64_t switched; /* when it began to run another thread; INT64_MIN: no switch was seen */
};

/* What was lost of a source, when: numbers of spans->sequence. */
struct source_losses {
    uint32_t number;
    uint32_t all;     /* the last loss, or `complete` */
    uint32_t any_cpu; /* the last one whose CPU is not known */
    uint32_t n_begun; /* such losses that have begun and not ended */
    struct span_cpu *cpus;
    unsigned n_cpus;
    unsigned cpus_begun; /* CPUs with SPAN_LOSS_HAS_BEGUN */
    uint32_t cpus_last;  /* the highest other number that a CPU has */
    bool has_switches;
    bool is_filtered; /* only events of some threads are in it */
    uint32_t
        complete; /* when all CPUs had begun; SPAN_LOSS_HAS_BEGUN: not all have; 0: they always had */
};

struct source_losses *span_source_slow(struct spans *spans, const struct origin *origin);

/* NULL: memory is out. */
static inline struct source_losses *get_source(struct spans *spans, const struct origin *origin)
{
    return likely(origin == spans->recent_origin) ? spans->recent : span_source_slow(spans, origin);
}

/* The key of a thread in spans->ended_threads. */
static inline uint64_t thread_key(uint32_t source, int32_t pid)
{
    return (uint64_t)source << 32 | (uint32_t)pid;
}

/* Whether it is known of which CPU the events of LOSS are. */
static inline bool span_loss_has_cpu(const struct item *loss)
{
    return loss->cpu >= 0 && loss->cpu <= 65535;
}

/* All CPUs of SOURCE have begun. */
void span_sources_complete(struct spans *spans, struct source_losses *source);
/* ITEM is the last one before a loss on its CPU. 0, -ENOMEM. */
int span_sources_begin_loss(struct spans *spans, const struct item *item);
/* EVENT is a switch to another thread. 0, -ENOMEM. */
int span_sources_put_switch(struct spans *spans, const struct item *event);
/* 0, -ENOMEM. */
int span_sources_put_loss(struct spans *spans, const struct item *item);
/* Thread PID of ITEM's source ends. 0, -ENOMEM. */
int span_sources_end_thread(struct spans *spans, const struct item *item, int32_t pid);
