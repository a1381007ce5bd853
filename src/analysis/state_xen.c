/* SPDX-License-Identifier: MIT */

/* What Xen's changes of runstates say of vCPUs, CPUs and domains. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/state_source.h"
#include "event/xen_vcpu.h"

/* A CPU between two vCPUs. */
#define NOTHING_RUNS (-1)

static bool parse_state(const char *name, size_t len, enum state *ret_state)
{
    static const struct {
        const char *name;
        enum state state;
    } states[] = {
        {"running", STATE_RUNNING},
        {"runnable", STATE_RUNNABLE},
        {"blocked", STATE_SLEEPING},
        {"offline", STATE_OFFLINE},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
        if (strlen(states[i].name) == len && memcmp(states[i].name, name, len) == 0) {
            *ret_state = states[i].state;
            return true;
        }
    }
    return false;
}

bool states_parse_change(const struct event_class *class, enum state *ret_from, enum state *ret_to)
{
    const char *to = strstr(class->name, "_to_");

    return to && parse_state(class->name, (size_t)(to - class->name), ret_from) &&
           parse_state(to + 4, strlen(to + 4), ret_to);
}

void state_xen_plan(const struct event_class *class, struct class_plan *plan)
{
    enum state from, to;

    plan->role = PLAN_XEN_OTHER;
    if (strcmp(class->name, "vmentry") == 0) {
        plan->role = PLAN_XEN_GUEST_BEGINS;
    } else if (strcmp(class->name, "vmexit") == 0) {
        plan->role = PLAN_XEN_GUEST_ENDS;
    } else if (strcmp(class->name, "domain_destroy") == 0 || strcmp(class->name, "dom_rem") == 0) {
        plan->a = state_number_field(class, "dom");
        if (plan->a.field >= 0)
            plan->role = PLAN_XEN_DESTROY;
    } else if (states_parse_change(class, &from, &to)) {
        plan->from = (uint8_t)from;
        plan->to = (uint8_t)to;
        plan->a = state_number_field(class, "dom");
        plan->b = state_number_field(class, "vcpu");
        if (plan->a.field >= 0 && plan->b.field >= 0)
            plan->role = PLAN_RUNSTATE;
    }
}

/* ---- domains ---- */

static enum state state_of_domain(const struct state_domain *domain)
{
    uint32_t runs = domain->n[STATE_RUNNING];
    uint32_t waits =
        domain->n[STATE_RUNNABLE] + domain->n[STATE_WOKEN] + domain->n[STATE_PREEMPTED];
    uint32_t sleeps = domain->n[STATE_SLEEPING];

    if (domain->n[STATE_UNKNOWN] > 0)
        return STATE_UNKNOWN;
    if (runs > 0 && waits > 0)
        return STATE_CONCURRENCY_HAZARD;
    if (runs > 0)
        return sleeps > 0 ? STATE_PARTIAL_RUN : STATE_FULL_RUN;
    if (waits > 0)
        return sleeps > 0 ? STATE_PARTIAL_CONTENTION : STATE_FULL_CONTENTION;
    return sleeps > 0 ? STATE_BLOCKED : STATE_OFFLINE;
}

static void end_domain(struct state_source *source, const struct state_domain *domain, int64_t time,
                       bool seen)
{
    struct state_interval interval = {
        .of = STATE_OF_DOMAIN,
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

    if (time > domain->since && state_is_wanted(source, STATE_OF_DOMAIN))
        state_give(source, &interval);
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
    more[source->n_domains] = (struct state_domain){
        .id = id, .state = STATE_UNKNOWN, .since = source->first, .loss = source->loss};
    return &more[source->n_domains++];
}

void state_xen_changed(struct state_source *source, struct state_thread *thread, enum state state,
                       int64_t time)
{
    struct state_domain *domain = get_domain(source, (int32_t)((uint32_t)thread->now.id >> 16));
    enum state now;
    bool is_seen;

    if (!domain)
        return;
    time = MAX(time, domain->since);
    if (domain->loss != source->loss) {
        /* What it was since is not known, of any of its vCPUs. */
        uint32_t n = 0;

        for (unsigned i = 0; i < STATES; i++) {
            n += domain->n[i];
            domain->n[i] = 0;
        }
        domain->n[STATE_UNKNOWN] = n;
        domain->state = STATE_UNKNOWN;
        domain->begin_seen = false;
        domain->loss = source->loss;
    }
    if (!thread->counted) {
        thread->counted = true;
        domain->n[state]++;
    } else {
        domain->n[thread->counted_loss == domain->loss ? thread->counted_as : STATE_UNKNOWN]--;
        domain->n[state]++;
    }
    thread->counted_as = (uint8_t)state;
    thread->counted_loss = domain->loss;
    now = state_of_domain(domain);
    if (now == domain->state)
        return;
    is_seen = domain->state != STATE_UNKNOWN && now != STATE_UNKNOWN;
    end_domain(source, domain, time, is_seen);
    domain->begin_seen = is_seen;
    domain->state = (uint8_t)now;
    domain->since = time;
}

void state_xen_finish(struct state_source *source)
{
    for (unsigned i = 0; i < source->n_domains; i++) {
        struct state_domain *domain = &source->domains[i];

        if (domain->loss != source->loss) {
            domain->state = STATE_UNKNOWN;
            domain->begin_seen = false;
        }
        end_domain(source, domain, source->last, false);
    }
}

/* ---- vCPUs ---- */

static bool is_idle(int32_t id)
{
    return (uint32_t)id >> 16 == XEN_IDLE_DOMAIN;
}

/* Between two vCPUs, from one's change to the next one's, the CPU runs neither: nothing is unknown there (T9). */
static void put_cpu(struct state_source *source, const struct class_plan *plan, int32_t id,
                    struct state_cpu *cpu, int64_t time)
{
    state_cpu_seen(source, cpu, time);
    if (plan->from == STATE_RUNNING) {
        if (cpu->known && cpu->runs != id)
            state_cpu_contradicted(source, cpu, time);
        else if (cpu->known && plan->to != STATE_RUNNING)
            state_cpu_end(source, cpu, time, true);
        cpu->runs = plan->to == STATE_RUNNING ? id : NOTHING_RUNS;
    }
    if (plan->to == STATE_RUNNING) {
        if (plan->from != STATE_RUNNING && cpu->known && cpu->runs != NOTHING_RUNS)
            state_cpu_contradicted(source, cpu, time);
        if (!cpu->known)
            state_cpu_found(source, cpu, time);
        if (plan->from != STATE_RUNNING || !cpu->known) {
            cpu->since = time;
            cpu->since_seen = plan->from != STATE_RUNNING;
        }
        cpu->known = true;
        cpu->runs = cpu->runs_id = id;
        cpu->state = cpu->base = is_idle(id) ? STATE_IDLE : STATE_RUNNING;
    } else if (plan->from == STATE_RUNNING) {
        if (!cpu->known)
            state_cpu_found(source, cpu, time);
        cpu->known = true;
        cpu->state = STATE_UNKNOWN;
        cpu->since = time;
    } else {
        return;
    }
    cpu->proof = time;
}

/* Whether a vCPU in STATE can begin a change that starts in FROM. */
static bool follows(enum state state, enum state from)
{
    return state == from || (from == STATE_RUNNABLE && state_waits(state));
}

/* A vCPU that ran did so up to the last change on its CPU: what stopped it may have been lost there, and come later than what
 * other CPUs have. */
static _cold_ void contradict_vcpu(struct state_source *source, struct state_thread *thread,
                                   int64_t time)
{
    struct state_cpu *cpu =
        thread->now.state == STATE_RUNNING ? state_cpu_get(source, thread->now.cpu) : NULL;

    if (cpu && cpu->known && cpu->runs == thread->now.id)
        state_cpu_forget(source, cpu, cpu->proof, time, STATE_IS_CONTRADICTED);
    state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_CONTRADICTED);
}

static void put_vcpu(struct state_source *source, const struct class_plan *plan, int32_t id,
                     const struct item *item)
{
    bool is_new = !state_thread_find(source, id);
    struct state_thread *thread = state_thread_get(source, id, item->time);
    enum state to = (enum state)plan->to;

    if (!thread)
        return;
    if (is_new)
        thread->now.begin = source->first;
    state_thread_check(source, thread, item->time);
    if (unlikely(thread->exiting && thread->now.state == STATE_OFFLINE)) {
        /* Nothing of it may follow but the rest of this; or another domain has got the number. */
        if (to == STATE_OFFLINE)
            return;
        thread->exiting = false;
    } else if (is_new && (source->loss == 0 || plan->from == STATE_OFFLINE)) {
        /* So it was from the start, or since the last loss; or its domain was not there yet, which is the same. */
        state_thread_set(source, thread, (enum state)plan->from,
                         MAX(source->first, source->lost_until), false, STATE_ENDS);
        if (plan->from == STATE_RUNNING)
            thread->now.cpu = item->cpu;
    } else if (thread->now.state != STATE_UNKNOWN &&
               !follows((enum state)thread->now.state, plan->from)) {
        struct state_cpu *cpu = state_cpu_get(source, item->cpu);

        if (state_is_counted(source, item->time)) {
            source->counts.contradictions++;
            if (cpu)
                cpu->contradictions++;
        }
        contradict_vcpu(source, thread, item->time);
    }
    if (plan->from == plan->to && thread->now.state != STATE_UNKNOWN)
        return;
    if (to == STATE_RUNNABLE && plan->from == STATE_RUNNING)
        to = STATE_PREEMPTED;
    else if (to == STATE_RUNNABLE && plan->from != STATE_RUNNABLE)
        to = STATE_WOKEN;
    state_thread_set(source, thread, to, item->time, plan->from != plan->to, STATE_ENDS);
    if (to == STATE_RUNNING)
        thread->now.cpu = item->cpu;
    thread->waker = item->vcpu;
}

/* The vCPUs of domain ID run no more. One that is on a CPU, or waits for one, has an event that says when it stops. */
static _cold_ void put_destroyed(struct state_source *source, int32_t id, int64_t time)
{
    for (uint32_t i = 1; i < source->n_threads; i++) {
        struct state_thread *thread = &source->threads[i];

        if (!thread->used || (int32_t)((uint32_t)thread->now.id >> 16) != id)
            continue;
        state_thread_check(source, thread, time);
        thread->exiting = true;
        if (thread->now.state == STATE_SLEEPING || thread->now.state == STATE_UNKNOWN)
            state_thread_set(source, thread, STATE_OFFLINE, time, true, STATE_ENDS);
    }
}

void state_xen_put(struct state_source *source, const struct class_plan *plan,
                   const struct item *item)
{
    struct state_cpu *cpu = state_cpu_get(source, item->cpu);
    struct state_thread *thread;
    int32_t id;

    if (likely(cpu))
        cpu->last = item->time;
    if (plan->role == PLAN_RUNSTATE) {
        id = (int32_t)((uint32_t)quick_read(&plan->a, item) << 16 |
                       ((uint32_t)quick_read(&plan->b, item) & 0xffff));
        source->counts.switches += state_is_counted(source, item->time);
        source->events |= STATE_EVENT_SWITCH | STATE_EVENT_WAKE;
        if (likely(cpu))
            put_cpu(source, plan, id, cpu, item->time);
        if (!is_idle(id))
            put_vcpu(source, plan, id, item);
        return;
    }
    if (plan->role == PLAN_XEN_OTHER)
        return;
    if (unlikely(plan->role == PLAN_XEN_DESTROY)) {
        put_destroyed(source, (int32_t)quick_read(&plan->a, item), item->time);
        return;
    }
    source->events |= STATE_EVENT_GUEST;
    thread = state_thread_find(source, item->vcpu);
    if (thread)
        thread->enters = true;
    if (!thread || thread->now.state != STATE_RUNNING)
        return;
    if (plan->role == PLAN_XEN_GUEST_BEGINS) {
        thread->inside_since = item->time;
    } else if (thread->inside_since != TIME_UNKNOWN) {
        thread->inside = ticks_sum(thread->inside, ticks_between(thread->inside_since, item->time));
        thread->inside_since = TIME_UNKNOWN;
    }
}
