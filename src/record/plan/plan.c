/* SPDX-License-Identifier: MIT */
#include "record/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/listen.h"
#include "record/plan/conditions.h"
#include "record/plan/event_options.h"
#include "record/plan/guests.h"
#include "record/plan/kernel.h"

int record_plan_refuse_guest(const char *command, struct error *error)
{
    if (command)
        return record_misuse(error, "--guest without an endpoint is for QEMU; '%s' is not QEMU",
                             command);
    return record_misuse(error, "--guest requires an endpoint (examples: web=/run/vm/web.agent, "
                                "web=tcp:10.0.0.2:4727)");
}

/* ---- Checks ---- */

/* What would do nothing without what is recorded: of options without another one, their declarations say so. */
static int check_requirements(const struct record_plan *plan, struct error *error)
{
    const struct plan_guests *guests = &plan->guests;
    bool has_guests = plan_guests_are_given(guests);
    bool has_kernels = has_guests || plan->guest || plan->host;
    const struct {
        bool given, met;
        const char *option, *required;
    } requirements[] = {
        {guests->kvms.n > 0, has_guests, "--kvm", "--guest=ENDPOINT"},
        {guests->key, has_guests, "--key", "--guest=ENDPOINT"},
        {guests->clock, has_guests, "--clock", "--guest=ENDPOINT"},
        {guests->queue > 0, has_guests, "--queue-size", "--guest=ENDPOINT"},
        {guests->level > 0, has_guests, "--compress", "--guest=ENDPOINT"},
        {guests->kallsyms, has_guests, "--kernel-symbols", "--guest=ENDPOINT"},
        {guests->cpus > 0, has_guests, "--cpus", "--guest=virtio-trace:DIR"},
        {guests->tracefs, has_guests, "--tracefs-copy", "--guest=virtio-trace:DIR"},
        {plan->buffer_size > 0, has_kernels || plan_recorders_have_buffer_size(plan->recorders),
         "--buffer-size", "--guest, --host, --xen or --percpu"},
        {plan->qemu, plan->kind == RECORD_COMMAND, "--qemu", "'-- COMMAND'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(requirements); i++)
        if (requirements[i].given && !requirements[i].met)
            return record_misuse(error, "%s requires %s", requirements[i].option,
                                 requirements[i].required);
    return 0;
}

/* Options that contradict each other, and values that none of what is recorded can have. */
static int check_contradictions(const struct record_plan *plan, struct error *error)
{
    struct error why = {0};
    bool has_flight = record_plan_has_flight(plan);
    bool has_process = plan->kind != RECORD_BESIDE;
    const struct {
        bool holds;
        const char *message;
    } contradictions[] = {
        {plan->buffer_size >> 10 > UINT32_MAX, "--buffer-size is too large"},
        {has_flight && plan->live.on && !plan->output, "--flight requires --output"},
        {plan->live.on && (has_process || plan_recorders_n(plan->recorders) > 0),
         "--live prints the events of guests and of the kernel of the host; leave it out, or "
         "record these alone"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(contradictions); i++)
        if (contradictions[i].holds)
            return record_misuse(error, "%s", contradictions[i].message);
    if (plan->domains.n > 1)
        return record_misuse(error,
                             "--libvirt accepts one domain; record '%s' by a command of its own, "
                             "and put both on one timeline by strata merge",
                             plan->domains.items[1]);
    if (plan->metrics.listen && listeners_check(plan->metrics.listen, &why) < 0)
        return record_misuse(error, "--metrics: %s", why.what);
    return 0;
}

/* Of a word that may have been meant as events of --host. */
static const char *host_hint(const struct record_plan *plan)
{
    return plan->host ? "; --host accepts no events: use --event=host:EVENT" : "";
}

static int check_command(const struct record_plan *plan, int n_command, struct error *error)
{
    if (plan->attach || plan->domains.n > 0 || plan->n > 0)
        return record_misuse(error, "a command after '--' excludes %s%s",
                             plan->n > 0    ? plan->words[0]
                             : plan->attach ? "--attach"
                                            : "--libvirt",
                             plan->n > 0 ? host_hint(plan) : "");
    return n_command == 0 ? record_misuse(error, "no command given after '--'") : 0;
}

static int check_attached(const struct record_plan *plan, struct error *error)
{
    static const char message[] = "--attach requires a PID or the socket of a QMP monitor";

    return plan->n == 0 ? record_misuse(error, "%s", message) : 0;
}

static int check_libvirt(const struct record_plan *plan, struct error *error)
{
    return plan->n > 0 ? record_misuse(error, "--libvirt excludes %s", plan->words[0]) : 0;
}

/* Nothing is asked for. */
static int refuse_nothing(const struct record_plan *plan, struct error *error)
{
    char options[200] = "";

    for (const struct plan_recorder *p = plan->recorders; p && p->type; p++)
        snprintf(options + strlen(options), sizeof options - strlen(options), " %s,",
                 p->type->option);
    return record_misuse(error,
                         "'-- COMMAND', --attach, --libvirt,%s --guest=ENDPOINT or --host is "
                         "required",
                         options);
}

/* Without a process there is nothing that a word could mean. */
static int check_beside(const struct record_plan *plan, struct error *error)
{
    const char *word = plan->n > 0 ? plan->words[0] : NULL;
    bool has_guests = plan_guests_are_given(&plan->guests);
    const char *option = plan_recorders_option(plan->recorders);
    bool is_wanted = has_guests || option;

    if (plan->guest && !word)
        return record_plan_refuse_guest(NULL, error);
    if (!is_wanted && word)
        return record_misuse(
            error, "unknown argument '%s'; put '--' before the command: strata record -- %s%s",
            word, word, host_hint(plan));
    if (!is_wanted && !plan->host)
        return refuse_nothing(plan, error);
    if (!plan->output && !plan->live.on)
        return record_misuse(error, "--output=DIR is required");
    if (word)
        return record_misuse(error, "unknown argument '%s'; %s accepts no PID", word,
                             option ? option : "--guest");
    return 0;
}

static int check_kind(const struct record_plan *plan, int n_command, struct error *error)
{
    switch (plan->kind) {
    case RECORD_COMMAND: return check_command(plan, n_command, error);
    case RECORD_ATTACHED: return check_attached(plan, error);
    case RECORD_LIBVIRT: return check_libvirt(plan, error);
    default: return check_beside(plan, error);
    }
}

/* ---- Making ---- */

/* --for. */
static int find_needs(struct record_plan *plan, struct error *error)
{
    struct error why = {0};
    int r = plan->for_analyses ? needed_events_find(plan->for_analyses, &plan->needs, &why) : 0;

    if (r == -EINVAL)
        return record_misuse(error, "--for: %s", why.what);
    for (unsigned i = 0; r >= 0 && i < plan->needs.guest.n; i++)
        r = plan_events_add(&plan->chosen.guest, plan->needs.guest.items[i]);
    return r;
}

int record_plan_make(struct record_plan *plan, char **words, int n, int n_command,
                     struct error *error)
{
    int r;

    plan->words = words;
    plan->n = n;
    plan->kind = n_command >= 0        ? RECORD_COMMAND
                 : plan->domains.n > 0 ? RECORD_LIBVIRT
                 : plan->attach        ? RECORD_ATTACHED
                                       : RECORD_BESIDE;
    r = plan_guests_sort(plan, error);
    if (r >= 0)
        r = plan_events_sort(plan, error);
    if (r >= 0)
        r = check_requirements(plan, error);
    if (r >= 0)
        r = plan_conditions_make(plan, error);
    if (r >= 0)
        r = find_needs(plan, error);
    if (r >= 0)
        r = plan_recorders_check(plan, error);
    if (r >= 0)
        r = check_contradictions(plan, error);
    if (r >= 0)
        r = check_kind(plan, n_command, error);
    /* What a command is, is to be seen. */
    if (r >= 0 && plan->kind != RECORD_COMMAND)
        r = plan_conditions_check(plan, plan->kind, error);
    return r == -ENOMEM ? error_set(error, r, NULL, "out of memory") : r;
}

void record_plan_done(struct record_plan *plan)
{
    struct plan_guests *guests = &plan->guests;
    struct strings *const all[] = {
        &plan->domains,     &plan->events, &guests->words,
        &guests->endpoints, &guests->kvms, &plan->triggers.conditions,
    };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        strings_done(all[i]);
    plan_recorders_done(plan->recorders);
    needed_events_done(&plan->needs);
    plan_events_done(&plan->chosen);
    arena_done(&plan->triggers.arena);
}
