/* SPDX-License-Identifier: MIT */

/* Combines the states of a domain's vCPUs.
 *
 * The state of a vCPU may be found later, when its next change states it, and become unknown later, when a loss is
 * delivered. So a domain keeps its states as stretches of time, and gives them at the end, or when there are too
 * many. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/states/state_source.h"

#define STRETCHES_MIN 64
#define STRETCHES_MAX (1u << 18)

/* Bits of `has`: some vCPUs are in the state. */
enum { RUN = 1, WAIT = 2, SLEEP = 4 };

static uint8_t bit_of(enum state state)
{
    if (state == STATE_RUNNING)
        return RUN;
    if (state == STATE_SLEEPING)
        return SLEEP;
    return state_waits(state) ? WAIT : 0;
}

static enum state state_of(const struct state_stretch *stretch)
{
    static const uint8_t states[8] = {
        [0] = STATE_OFFLINE,
        [RUN] = STATE_FULL_RUN,
        [WAIT] = STATE_FULL_CONTENTION,
        [SLEEP] = STATE_BLOCKED,
        [RUN | SLEEP] = STATE_PARTIAL_RUN,
        [WAIT | SLEEP] = STATE_PARTIAL_CONTENTION,
        [RUN | WAIT] = STATE_CONCURRENCY_HAZARD,
        [RUN | WAIT | SLEEP] = STATE_CONCURRENCY_HAZARD,
    };

    return stretch->is_lost || stretch->n_unknown > 0 ? STATE_UNKNOWN
                                                      : (enum state)states[stretch->has];
}

/* Gives the last state of DOMAIN, up to TIME. SEEN: an event ended it. */
static void give_last(struct state_source *source, const struct state_domain *domain, int64_t time,
                      bool seen)
{
    struct state_interval interval = {
        .of = STATE_SUBJECT_DOMAIN,
        .state = domain->state,
        .id = domain->id,
        .begin_seen = domain->begin_seen,
        .end_seen = seen,
        .begin = domain->since,
        .end = time,
        .cpu = CPU_UNKNOWN,
        .moved_from = CPU_UNKNOWN,
        .by = PID_UNKNOWN,
        .inside = -1,
        .vcpu = VCPU_UNKNOWN,
    };

    if (domain->gave && time > domain->since)
        state_give(source, &interval);
}

/* Gives the first N stretches, except their last state. Consecutive stretches of the same state are one interval. */
static void give(struct state_source *source, struct state_domain *domain, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct state_stretch *stretch = &domain->stretches[i];
        enum state state = state_of(stretch);
        bool is_seen = stretch->seen && state != STATE_UNKNOWN &&
                       (!domain->gave || domain->state != STATE_UNKNOWN);

        if (domain->gave && state == domain->state)
            continue;
        give_last(source, domain, stretch->begin, is_seen);
        domain->begin_seen = is_seen;
        domain->gave = true;
        domain->state = (uint8_t)state;
        domain->since = stretch->begin;
    }
}

/* Gives half of them at a time. */
static void give_oldest(struct state_source *source, struct state_domain *domain)
{
    uint32_t n = domain->n_stretches / 2;

    for (uint32_t i = 0; i < n; i++)
        domain->stretches[i].is_lost |= source->incomplete;
    give(source, domain, n);
    memmove(domain->stretches, domain->stretches + n,
            (domain->n_stretches - n) * sizeof *domain->stretches);
    domain->n_stretches -= n;
    domain->was_given = true;
}

static int make_room(struct state_source *source, struct state_domain *domain)
{
    uint32_t room = MAX(STRETCHES_MIN, domain->stretches_room * 2);
    struct state_stretch *more;

    if (domain->n_stretches < domain->stretches_room)
        return 0;
    if (domain->stretches_room == STRETCHES_MAX) {
        give_oldest(source, domain);
        return 0;
    }
    more = realloc(domain->stretches, room * sizeof *more);
    if (!more) {
        source->states->error = -ENOMEM;
        return -ENOMEM;
    }
    domain->stretches = more;
    domain->stretches_room = room;
    return 0;
}

/* Makes a stretch begin at TIME. Returns its number, or the first stretch if that is later. -ENOMEM with the error
 * set. */
static int64_t split(struct state_source *source, struct state_domain *domain, int64_t time)
{
    struct state_stretch *stretches;
    uint32_t i;

    if (make_room(source, domain) < 0)
        return -ENOMEM;
    stretches = domain->stretches;
    i = domain->n_stretches;
    while (i > 0 && stretches[i - 1].begin > time)
        i--;
    if (i == 0 || stretches[i - 1].begin == time)
        return MAX(i, 1u) - 1;
    memmove(stretches + i + 1, stretches + i, (domain->n_stretches - i) * sizeof *stretches);
    stretches[i] = stretches[i - 1];
    stretches[i].begin = time;
    stretches[i].seen = false;
    domain->n_stretches++;
    return i;
}

static struct state_domain *get_domain(struct state_source *source, int32_t id)
{
    struct state_domain *more;

    for (unsigned i = 0; i < source->n_domains; i++)
        if (source->domains[i].id == id)
            return &source->domains[i];
    if (source->n_domains == STATE_DOMAINS_MAX)
        return NULL;
    more = realloc(source->domains, (source->n_domains + 1) * sizeof *more);
    if (!more) {
        source->states->error = -ENOMEM;
        return NULL;
    }
    source->domains = more;
    more += source->n_domains;
    *more = (struct state_domain){.id = id};
    if (make_room(source, more) < 0)
        return NULL;
    more->stretches[0] = (struct state_stretch){.begin = source->first};
    more->n_stretches = 1;
    source->n_domains++;
    return more;
}

/* Adds a vCPU that was not met before. Its state is unknown since the beginning. */
static void add_vcpu(struct state_domain *domain)
{
    for (uint32_t i = 0; i < domain->n_stretches; i++)
        domain->stretches[i].n_unknown++;
    domain->n[STATE_UNKNOWN]++;
}

/* Sets the last stretch to the present states of the vCPUs. */
static void renew_last(struct state_domain *domain)
{
    struct state_stretch *last = &domain->stretches[domain->n_stretches - 1];

    last->has = 0;
    last->n_unknown = domain->n[STATE_UNKNOWN];
    for (unsigned state = 0; state < STATES; state++)
        if (domain->n[state] > 0)
            last->has |= bit_of((enum state)state);
}

void state_domain_changed(struct state_source *source, struct state_thread *thread,
                          enum state state, int64_t time)
{
    struct state_domain *domain = get_domain(source, (int32_t)((uint32_t)thread->now.id >> 16));
    enum state old;
    int64_t i;

    if (!domain)
        return;
    if (!thread->counted) {
        thread->counted = true;
        thread->counted_as = STATE_UNKNOWN;
        add_vcpu(domain);
        source->counts.late_vcpus += domain->was_given && state != STATE_OFFLINE;
    }
    old = (enum state)thread->counted_as;
    if (old == state)
        return;
    if (old != STATE_UNKNOWN && state != STATE_UNKNOWN)
        time = MAX(time, domain->stretches[domain->n_stretches - 1].begin);
    i = split(source, domain, time);
    if (i < 0)
        return;
    for (uint32_t at = (uint32_t)i; at < domain->n_stretches; at++) {
        struct state_stretch *stretch = &domain->stretches[at];

        stretch->n_unknown += state == STATE_UNKNOWN;
        stretch->n_unknown -= old == STATE_UNKNOWN;
        stretch->has |= bit_of(state);
    }
    domain->stretches[i].seen |= old != STATE_UNKNOWN && state != STATE_UNKNOWN;
    domain->n[old]--;
    domain->n[state]++;
    thread->counted_as = (uint8_t)state;
    renew_last(domain);
}

static void lose(struct state_source *source, struct state_domain *domain, int64_t since,
                 int64_t until)
{
    int64_t from;

    if (split(source, domain, until) < 0)
        return;
    from = split(source, domain, since);
    if (from < 0)
        return;
    for (uint32_t at = (uint32_t)from;
         at < domain->n_stretches && domain->stretches[at].begin < until; at++)
        domain->stretches[at].is_lost = true;
}

void state_domain_lost(struct state_source *source, int32_t vcpu, int64_t since, int64_t until)
{
    struct state_domain *domain = get_domain(source, (int32_t)((uint32_t)vcpu >> 16));

    if (domain)
        lose(source, domain, since, until);
}

void state_domains_lost(struct state_source *source, int64_t since, int64_t until)
{
    for (unsigned i = 0; i < source->n_domains; i++)
        lose(source, &source->domains[i], since, until);
}

void state_domains_finish(struct state_source *source)
{
    for (unsigned i = 0; i < source->n_domains; i++) {
        struct state_domain *domain = &source->domains[i];

        while (domain->n_stretches > 1 &&
               domain->stretches[domain->n_stretches - 1].begin >= source->last)
            domain->n_stretches--;
        give(source, domain, domain->n_stretches);
        give_last(source, domain, source->last, false);
    }
}

void state_domains_done(struct state_source *source)
{
    for (unsigned i = 0; i < source->n_domains; i++)
        free(source->domains[i].stretches);
    free(source->domains);
}
