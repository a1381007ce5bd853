/* SPDX-License-Identifier: MIT */
#include "record/plan/qemu.h"

#include "base/suggest.h"
#include "record/plan/conditions.h"

/* Checks that the QEMU PROGRAM has each of the events. Patterns that switch off are not checked. */
static int check_events(const struct qemu_probe *probe, const char *program,
                        const struct strings *events, struct error *error)
{
    if (events->n > 0 && probe->backend == VMM_BACKEND_NONE)
        return error_set(error, -ENOTSUP, NULL,
                         "this QEMU was built without a trace backend that can be recorded (log, "
                         "simple): leave --event out");
    for (unsigned i = 0; i < events->n; i++) {
        const char *pattern = events->items[i];
        const char *near;

        if (pattern[0] == '-' || qemu_probe_count(probe, pattern) > 0)
            continue;
        near = suggest_pattern(pattern, (const char *const *)probe->events);
        return error_set(
            error, -ENOENT, NULL,
            "QEMU %s has no event that matches '%s'%s%s%s; '%s -trace help' lists them",
            probe->version, pattern, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "", program);
    }
    return 0;
}

/* Adds those of the N PATTERNS to RET that match events of this QEMU. */
static int add_existing(const struct qemu_probe *probe, const char *const *patterns, size_t n,
                        struct strings *ret)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n && patterns[i]; i++)
        if (qemu_probe_count(probe, patterns[i]) > 0)
            r = strings_add(ret, patterns[i]);
    return r;
}

/* Selects the chosen events and the events for --for; without either, the default events. Of the latter two, only
 * existing events. */
static int choose_events(const struct record_plan *plan, const struct qemu_probe *probe,
                         const char *program, struct strings *ret, struct error *error)
{
    const struct strings *given = &plan->chosen.process.patterns, *needed = &plan->needs.vmm;
    int r = 0;

    if (probe->backend == VMM_BACKEND_SIMPLE && record_plan_has_flight(plan))
        return error_set(error, -ENOTSUP, NULL,
                         "this QEMU writes its trace by itself, with the backend simple, and "
                         "--flight cannot limit it; leave --flight out, or use a QEMU with the "
                         "backend log");
    for (unsigned i = 0; r >= 0 && i < given->n; i++)
        r = strings_add(ret, given->items[i]);
    if (r >= 0 && needed->n > 0)
        r = add_existing(probe, needed->items, needed->n, ret);
    else if (r >= 0 && given->n == 0)
        r = add_existing(probe, event_set_usual.vmm, SIZE_MAX, ret);
    return r < 0 ? r : check_events(probe, program, ret, error);
}

int plan_qemu_make(const struct record_plan *plan, struct record_subject *subject,
                   struct plan_qemu *ret, struct error *error)
{
    struct qemu_recorder_settings *settings = &ret->settings;
    struct qemu_arguments *arguments = &ret->arguments;
    struct qemu_probe *probe = &ret->probe;
    int r;

    *ret = (struct plan_qemu){.settings = subject->qemu};
    subject->qemu.connection = NULL;
    while (settings->command[settings->n_command])
        settings->n_command++;
    settings->passes = plan->environment.passes;
    settings->trace = plan->environment.trace;
    settings->probe = probe;
    r = qemu_arguments_read(settings->program, settings->command + settings->n_before,
                            settings->n_command - settings->n_before, arguments);
    if (r < 0)
        return -ENOMEM;
    settings->name = arguments->name[0] ? arguments->name : NULL;
    settings->uuid = arguments->uuid;
    /* The user that runs it there may not use what its command names. */
    r = qemu_probe(settings->program, subject->root_of,
                   subject->root_of ? "" : arguments->accelerator, plan->environment.runtime,
                   plan->environment.signals, probe, error);
    if (r >= 0 && plan->guest)
        r = plan_kernel_make(plan, false, &ret->kernel);
    if (r >= 0)
        r = choose_events(plan, probe, settings->program, &ret->events, error);
    if (r >= 0)
        r = plan_conditions_add_vmm(plan, (const char *const *)probe->events,
                                    probe->backend == VMM_BACKEND_LOG ? probe->declarations : NULL,
                                    &ret->events, error);
    settings->events = ret->events.items;
    settings->n_events = ret->events.n;
    return r;
}

void plan_qemu_done(struct plan_qemu *qemu)
{
    plan_kernel_done(&qemu->kernel);
    strings_done(&qemu->events);
    qemu_probe_done(&qemu->probe);
    qmp_free(qemu->settings.connection);
}
