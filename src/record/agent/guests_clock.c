/* SPDX-License-Identifier: MIT */
#include "record/agent/guests_clock.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define SECOND INT64_C(1000000000)
/* What reading KVM's files and clocks may add to what an exchange leaves open. */
#define SLACK_NS 5000

void guests_clock_done(struct guest *guest)
{
    free(guest->clock.kvm);
    guest->clock = (struct guest_clock){0};
}

void guests_clock_begin(struct guest *guest, char *what, size_t size)
{
    struct guest_boot *part = &guest->parts[guest->n_parts - 1];
    const char *root = guest->plan.kvm_root ? guest->plan.kvm_root : GUEST_KVM_ROOT;
    pid_t pid = guest->plan.vmm ? guest->plan.vmm : guest->peer;
    struct error error = {0};
    char text[sizeof error.path + sizeof error.what + 64];
    int r;

    *what = '\0';
    guests_clock_done(guest);
    if (pid == 0 || strcmp(part->clock, "x86-tsc") != 0)
        return;
    r = guest_kvm_find(root, pid, &guest->clock.kvm, &error);
    if (r >= 0)
        r = guest_kvm_read(guest->clock.kvm, &guest->clock.tsc, &error);
    if (r >= 0)
        r = guest_kvm_pair(&guest->clock.tsc, &guest->clock.before);
    if (r >= 0) {
        part->by_kvm = part->by_kvm || part->n_pairs == 0;
        return;
    }
    guests_clock_done(guest);
    /* That there is none need not be told to who did not ask for it. */
    if (!guest->plan.vmm && r != -ENOTUNIQ && r != -EBADMSG)
        return;
    error_print(&error, text, sizeof text);
    snprintf(what, size, "its clock is related by exchanges, not by KVM: %s", text);
}

static bool is_same(const struct guest_tsc *a, const struct guest_tsc *b)
{
    return a->offset == b->offset && a->ratio == b->ratio && a->frac_bits == b->frac_bits;
}

/* Whether PAIR, of an exchange, lies on the line from BEFORE to AFTER. */
static bool agrees(const struct guest_pair *pair, const struct guest_pair *before,
                   const struct guest_pair *after)
{
    __int128 ns = (__int128)after->host_ns - before->host_ns;
    __int128 ticks = (__int128)after->guest - before->guest;
    __int128 shown, wrong;

    if (ns <= 0 || ticks <= 0)
        return false;
    /* The host's time at which KVM says that the guest's clock showed what it did. */
    shown = before->host_ns + ((__int128)pair->guest - before->guest) * ns / ticks;
    wrong = shown - pair->host_ns;
    return (wrong < 0 ? -wrong : wrong) <=
           (__int128)pair->error_ns + before->error_ns + after->error_ns + SLACK_NS;
}

int guests_clock_pair(struct guest *guest, const struct guest_pair *pair,
                      int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                      size_t size)
{
    struct guest_boot *part = &guest->parts[guest->n_parts - 1];
    struct guest_clock *clock = &guest->clock;
    struct guest_pair after;
    struct guest_tsc tsc;
    int r;

    *what = '\0';
    if (!clock->kvm) {
        part->by_kvm = false;
        return keep(guest, pair);
    }
    r = guest_kvm_read(clock->kvm, &tsc, NULL);
    /* A machine that has ended meanwhile was no other one. */
    if (r == -ENOENT || r == -ENODEV)
        return 0;
    if (r < 0 || !is_same(&tsc, &clock->tsc) || guest_kvm_pair(&tsc, &after) < 0 ||
        !agrees(pair, &clock->before, &after)) {
        snprintf(
            what, size,
            r < 0 || !is_same(&tsc, &clock->tsc)
                ? "its time stamp counter was set: its clock is related by exchanges from there on"
                : "KVM's values of its clock do not match the agent's; using message exchanges "
                  "instead");
        guests_clock_done(guest);
        part->by_kvm = false;
        return keep(guest, pair);
    }
    r = clock->before_kept ? 0 : keep(guest, &clock->before);
    clock->before = after;
    clock->before_kept = true;
    return r < 0 ? r : keep(guest, &after);
}
