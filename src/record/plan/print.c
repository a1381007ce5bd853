/* SPDX-License-Identifier: MIT */
#include "record/plan/conditions.h"
#include "record/plan/guests.h"
#include "record/plan/kernel.h"

/* Nothing that the user wrote is repeated here: it may have any bytes, and is in the file already. */

static const char *const kinds[] = {
    [RECORD_BESIDE] = "kernels and buffers, and no process",
    [RECORD_COMMAND] = "a QEMU or a program, from its start to its end",
    [RECORD_ATTACHED] = "a running process, until it ends",
    [RECORD_LIBVIRT] = "a domain of libvirt, until it ends",
};

static unsigned count(const char *const *list)
{
    unsigned n = 0;

    while (list[n])
        n++;
    return n;
}

/* The events of LAYER that strata chooses: what --for needs, else the USUAL. */
static void put_events(const char *layer, const struct strings *needed, const char *const *usual,
                       struct text *out)
{
    const char *const *events = needed->n > 0 ? needed->items : usual;
    unsigned n = needed->n > 0 ? needed->n : count(usual);

    text_printf(out, "#   events of %s, if present: ", layer);
    for (unsigned i = 0; i < n; i++)
        text_printf(out, "%s%s", i > 0 ? "," : "", events[i]);
    text_put_char(out, '\n');
}

static void put_triggers(const struct record_plan *plan, struct text *out)
{
    const struct trigger_recorder_settings settings = plan_conditions_settings(plan);
    char size[RECORD_PLAN_LIMIT_MAX];
    unsigned n = 0;

    if (settings.n == 0)
        return;
    for (unsigned i = 0; i < settings.n; i++)
        n += watch_condition_needs_events(&plan->triggers.items[i]);
    text_printf(out, "#   conditions: %u, of which %u need events\n", settings.n, n);
    text_printf(out, "#   snapshots: at most %u in any hour, %s in all\n", settings.per_hour,
                record_plan_limit_text(&(struct retention_limit){.bytes = settings.size}, size));
}

void record_plan_print(const struct record_plan *plan, struct text *out)
{
    static const char *const everything[] = {"*", NULL};
    const struct plan_guests *guests = &plan->guests;
    struct retention_limit min_free = {.bytes = record_plan_min_free(plan)};
    char size[RECORD_PLAN_LIMIT_MAX];
    const struct plan_events *chosen = &plan->chosen;
    bool has_guest_events = chosen->guest.patterns.n > plan->needs.guest.n;
    bool may_be_qemu = plan->kind != RECORD_BESIDE;

    text_printf(out, "# This records %s:\n", kinds[plan->kind]);
    if (may_be_qemu && chosen->process.patterns.n == 0)
        put_events("a QEMU", &plan->needs.vmm, event_set_usual.vmm, out);
    if (plan->guest && !has_guest_events)
        put_events("its guest's kernel", &plan->needs.guest, event_set_usual.guest, out);
    if (plan->host && chosen->host.patterns.n == 0)
        put_events("the host's kernel", &plan->needs.host, event_set_usual.host, out);
    if (plan_guests_are_given(guests) && !has_guest_events)
        put_events("guests' kernels", &plan->needs.guest, event_set_usual.guest, out);
    if ((plan_recorders_layers(plan->recorders) & 1u << LAYER_HYPERVISOR) &&
        chosen->buffers.patterns.n == 0)
        put_events("Xen", &plan->needs.xen, everything, out);
    if (min_free.bytes > 0)
        text_printf(out, "#   until less than %s is free on the disk\n",
                    record_plan_limit_text(&min_free, size));
    put_triggers(plan, out);
}
