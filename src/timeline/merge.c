/* SPDX-License-Identifier: MIT */
/* Merges several sources by time.
 *
 * Each input holds a run that it lent. A tournament ("loser") tree finds the input with the earliest
 * head: one comparison per level. An input that wins twice probably goes on: its items are compared with
 * the earliest head of the others alone, as long as they go before it. Items are copied (one cache line) into the run that the
 * merge lends; payloads stay where they are. A run ends when any input's own run is used up, because
 * requesting its next run would end the life of what it lent (S2). */
#include "timeline/merge.h"

#include <stdlib.h>

#include "base/macro.h"

#define RUN 512

struct branch {
    struct source *source;
    const struct item *next;
    const struct item *end;
};

struct merge {
    struct source source;
    unsigned n;              /* inputs */
    unsigned leaves;         /* n rounded up to a power of two */
    unsigned refill;         /* the input to request a run from first, or n: none */
    int64_t newest;          /* time that an input has lent */
    int failed;              /* the error to return from now on */
    bool has_started;        /* the inputs have been read from */
    struct branch *branches; /* `leaves` of them; those from n on are at their end */
    unsigned *losers;        /* [0]: the winner; [1 …]: the loser at that node */
    struct item run[RUN];
};

/* Whether input A's head goes before B's. One that is at its end goes last. */
static bool before(const struct merge *m, unsigned a, unsigned b)
{
    const struct branch *x = &m->branches[a];
    const struct branch *y = &m->branches[b];

    if (x->next == x->end)
        return false;
    if (y->next == y->end)
        return true;
    if (x->next->time != y->next->time)
        return x->next->time < y->next->time;
    return a < b;
}

/* Plays the matches from leaf WINNER up after its head changed. */
static void replay(struct merge *m, unsigned winner)
{
    for (unsigned node = (m->leaves + winner) / 2; node > 0; node /= 2) {
        unsigned loser = m->losers[node];
        if (before(m, loser, winner)) {
            m->losers[node] = winner;
            winner = loser;
        }
    }
    m->losers[0] = winner;
}

/* The input whose head goes before all others' but the winner's. */
static unsigned second(const struct merge *m)
{
    unsigned best = m->losers[(m->leaves + m->losers[0]) / 2];

    for (unsigned node = (m->leaves + m->losers[0]) / 4; node > 0; node /= 2)
        if (before(m, m->losers[node], best))
            best = m->losers[node];
    return best;
}

static unsigned play_all(struct merge *m, unsigned node)
{
    unsigned a;
    unsigned b;

    if (node >= m->leaves)
        return node - m->leaves;
    a = play_all(m, 2 * node);
    b = play_all(m, 2 * node + 1);
    if (before(m, b, a)) {
        m->losers[node] = a;
        return b;
    }
    m->losers[node] = b;
    return a;
}

/* Gets a run from input I. 0 also at its end. */
static int refill(struct merge *m, unsigned i)
{
    struct branch *branch = &m->branches[i];
    int n = source_next(branch->source, &branch->next);

    if (n <= 0) {
        /* The first failure is the one that is returned. */
        if (n < 0 && !m->failed)
            m->source.error = branch->source->error;
        branch->end = branch->next = NULL;
        return n;
    }
    branch->end = branch->next + n;
    m->newest = MAX(m->newest, branch->end[-1].time);
    return 0;
}

/* At the first read: until then, what the inputs are made of may still change, as a clock map. */
static void start(struct merge *m)
{
    m->has_started = true;
    for (unsigned i = 0; i < m->n; i++) {
        int r = refill(m, i);
        /* An input that fails at its start stops only itself here: the others' events are still valid,
         * and S3 requires that they are lent. */
        if (r < 0)
            m->failed = m->failed ? m->failed : r;
    }
    m->losers[0] = play_all(m, 1);
    m->refill = m->n;
}

/* Copies items of the winner, which has won twice, up to the first item that is after another input's next item.
 * Returns the new number of items in the run. */
static int copy_winner(struct merge *m, int n)
{
    unsigned winner = m->losers[0];
    unsigned other = second(m);
    struct branch *branch = &m->branches[winner];
    const struct item *next = branch->next;
    const struct item *end = branch->end;
    bool is_last = m->branches[other].next == m->branches[other].end;
    /* Items of the earlier input go first if times are equal. */
    int64_t time = is_last ? INT64_MAX : m->branches[other].next->time;
    bool wins_ties = is_last || winner < other;

    end = MIN(end, next + (RUN - n));
    while (next < end && (next->time < time || (next->time == time && wins_ties)))
        m->run[n++] = *next++;
    branch->next = next;
    return n;
}

static int merge_next(struct source *source, const struct item **ret_items)
{
    struct merge *m = container_of(source, struct merge, source);
    unsigned last = m->n;
    int n = 0;

    if (!m->has_started) {
        start(m);
    } else if (m->refill < m->n) {
        int r = refill(m, m->refill);
        if (r < 0)
            m->failed = m->failed ? m->failed : r;
        replay(m, m->refill);
        m->refill = m->n;
    }

    while (n < RUN) {
        unsigned winner = m->losers[0];
        struct branch *branch = &m->branches[winner];

        if (branch->next == branch->end)
            break;
        if (winner == last)
            n = copy_winner(m, n);
        else
            m->run[n++] = *branch->next++;
        last = winner;
        if (branch->next == branch->end) {
            m->refill = winner;
            break;
        }
        replay(m, winner);
    }
    if (n == 0)
        return m->failed;
    *ret_items = m->run;
    return n;
}

static void merge_seek(struct source *source, int64_t time)
{
    struct merge *m = container_of(source, struct merge, source);

    for (unsigned i = 0; i < m->n; i++)
        source_seek(m->branches[i].source, time);
}

static void merge_free(struct source *source)
{
    struct merge *m = container_of(source, struct merge, source);

    for (unsigned i = 0; i < m->n; i++)
        source_free(m->branches[i].source);
    free(m->branches);
    free(m->losers);
    free(m);
}

static void merge_facts(const struct source *source,
                        void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct merge *m = container_of(source, struct merge, source);

    for (unsigned i = 0; i < m->n; i++)
        if (m->branches[i].source->ops->facts)
            m->branches[i].source->ops->facts(m->branches[i].source, put, arg);
}

static void merge_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct merge *m = container_of(source, struct merge, source);
    uint64_t done = 0;
    uint64_t total = 0;
    bool known = true;

    for (unsigned i = 0; i < m->n; i++) {
        const struct source *input = m->branches[i].source;
        uint64_t d = 0;
        uint64_t t = 0;

        if (input->ops->progress)
            input->ops->progress(input, &d, &t);
        done += d;
        total += t;
        known = known && t != 0;
    }
    *ret_done = done;
    *ret_total = known ? total : 0;
}

static const struct source_ops merge_ops = {
    .next = merge_next,
    .free = merge_free,
    .facts = merge_facts,
    .progress = merge_progress,
    .seek = merge_seek,
};

int64_t merge_newest(const struct source *source)
{
    return source->ops == &merge_ops ? container_of(source, struct merge, source)->newest
                                     : INT64_MIN;
}

int merge_open(struct source **inputs, unsigned n, struct source **ret_source)
{
    struct merge *m;

    if (n == 1) {
        *ret_source = inputs[0];
        return 0;
    }

    m = calloc(1, sizeof *m);
    if (m) {
        m->leaves = 2;
        while (m->leaves < n)
            m->leaves *= 2;
        m->branches = calloc(m->leaves, sizeof *m->branches);
        m->losers = calloc(m->leaves, sizeof *m->losers);
    }
    if (!m || !m->branches || !m->losers) {
        for (unsigned i = 0; i < n; i++)
            source_free(inputs[i]);
        if (m) {
            free(m->branches);
            free(m->losers);
            free(m);
        }
        return -ENOMEM;
    }

    m->source = (struct source){.ops = &merge_ops, .ordered = true};
    m->n = n;
    m->newest = INT64_MIN;
    for (unsigned i = 0; i < n; i++)
        m->branches[i].source = inputs[i];
    *ret_source = &m->source;
    return 0;
}
