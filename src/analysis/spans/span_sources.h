/* SPDX-License-Identifier: MIT */
#pragma once

/* When the sources of struct spans lost events, and when their threads ended. Times are numbers of spans->sequence,
 * which each of these events increments; spans that began earlier have a lower number. */

#include "analysis/spans/spans.h"
#include "base/macro.h"

/* The number of a loss without an end: all spans that begin later may have ended in it, too. */
#define SPAN_LOSS_IS_OPEN UINT32_MAX
/* The number of a loss whose end has not come yet; likewise until then. */
#define SPAN_LOSS_HAS_BEGUN (UINT32_MAX - 1)

struct span_cpu {
    uint32_t lost;    /* last loss */
    int64_t switched; /* when it began to run another thread; INT64_MIN before a switch was seen */
};

/* When events of a source were lost, as numbers of spans->sequence. */
struct source_losses {
    uint32_t number;
    uint32_t all;     /* last loss, or `complete` */
    uint32_t any_cpu; /* last loss whose CPU is unknown */
    uint32_t n_begun; /* such losses that have begun and not ended */
    struct span_cpu *cpus;
    unsigned n_cpus;
    unsigned cpus_begun; /* CPUs with SPAN_LOSS_HAS_BEGUN */
    uint32_t cpus_last;  /* highest other number of a CPU */
    bool has_switches;
    bool is_filtered; /* it has only events of some threads */
    /* When all CPUs had begun; SPAN_LOSS_HAS_BEGUN: not all have; 0: they always had. */
    uint32_t complete;
};

struct source_losses *span_source_slow(struct spans *spans, const struct origin *origin);

/* NULL if out of memory. */
static inline struct source_losses *get_source(struct spans *spans, const struct origin *origin)
{
    return likely(origin == spans->recent_origin) ? spans->recent : span_source_slow(spans, origin);
}

/* The key of a thread in spans->ended_threads. */
static inline uint64_t thread_key(uint32_t source, int32_t pid)
{
    return (uint64_t)source << 32 | (uint32_t)pid;
}

/* True if the CPU of LOSS is known. */
static inline bool span_loss_has_cpu(const struct item *loss)
{
    return loss->cpu >= 0 && loss->cpu <= 65535;
}

/* All CPUs of SOURCE have begun. */
void span_sources_complete(struct spans *spans, struct source_losses *source);
/* ITEM is the last item before a loss on its CPU. 0, -ENOMEM. */
int span_sources_begin_loss(struct spans *spans, const struct item *item);
/* EVENT is a switch to another thread. 0, -ENOMEM. */
int span_sources_put_switch(struct spans *spans, const struct item *event);
/* 0, -ENOMEM. */
int span_sources_put_loss(struct spans *spans, const struct item *item);
/* Thread PID of ITEM's source ends. 0, -ENOMEM. */
int span_sources_end_thread(struct spans *spans, const struct item *item, int32_t pid);
