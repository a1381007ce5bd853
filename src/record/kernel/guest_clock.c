/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_clock.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/wide.h"

/* How much reading KVM's files and clocks may add to the error of an exchange. */
#define READ_ERROR_NS 5000

void guest_clock_done(struct guest *guest)
{
    free(guest->clock.kvm);
    guest->clock = (struct guest_clock){0};
}

/* The process whose virtual machine the guest is; 0: not known. */
static pid_t find_vmm(const struct guest *guest, const char *root)
{
    uint32_t cid;

    if (guest->config.vmm)
        return guest->config.vmm;
    cid = guest_endpoint_cid(&guest->config.endpoint);
    return cid ? guest_kvm_find_cid(root, cid) : guest->peer;
}

void guest_clock_begin(struct guest *guest, char *what, size_t size)
{
    struct guest_boot *boot = &guest->boots[guest->n_boots - 1];
    const char *root = guest->config.kvm_root ? guest->config.kvm_root : GUEST_KVM_ROOT;
    struct error error = {0};
    char text[sizeof error.path + sizeof error.what + 64];
    pid_t pid;
    int r;

    *what = '\0';
    guest_clock_done(guest);
    pid = strcmp(boot->clock, "x86-tsc") == 0 ? find_vmm(guest, root) : 0;
    if (pid == 0)
        return;
    r = guest_kvm_find(root, pid, &guest->clock.kvm, &error);
    if (r >= 0)
        r = guest_kvm_read(guest->clock.kvm, &guest->clock.tsc, &error);
    if (r >= 0)
        r = guest_kvm_pair(&guest->clock.tsc, &guest->clock.before);
    if (r >= 0) {
        boot->by_kvm = boot->by_kvm || boot->n_pairs == 0;
        return;
    }
    guest_clock_done(guest);
    /* Not worth a message if KVM's values were not asked for. */
    if (!guest->config.vmm && r != -ENOTUNIQ && r != -EBADMSG)
        return;
    error_print(&error, text, sizeof text);
    snprintf(what, size,
             "its clock is related to the host's by message exchanges, not by KVM's values: %s",
             text);
}

static bool is_same(const struct guest_tsc *a, const struct guest_tsc *b)
{
    return a->offset == b->offset && a->ratio == b->ratio && a->frac_bits == b->frac_bits;
}

/* Whether PAIR, of an exchange, lies on the line from BEFORE to AFTER. */
static bool agrees(const struct guest_pair *pair, const struct guest_pair *before,
                   const struct guest_pair *after)
{
    wide ns = wide_sub(wide_of_u64(after->host_ns), wide_of_u64(before->host_ns));
    wide ticks = wide_sub(wide_of_u64(after->guest), wide_of_u64(before->guest));
    wide since, shown, wrong, error;

    if (!wide_is_less(wide_of(0), ns) || !wide_is_less(wide_of(0), ticks))
        return false;
    /* The host's time, by KVM's values, at which the guest's clock showed what it did. */
    since = wide_sub(wide_of_u64(pair->guest), wide_of_u64(before->guest));
    shown = wide_add(wide_of_u64(before->host_ns), wide_div(wide_mul(since, ns), ticks));
    wrong = wide_abs(wide_sub(shown, wide_of_u64(pair->host_ns)));
    error = wide_add(wide_of_u64(pair->error_ns), wide_of_u64(before->error_ns));
    error = wide_add(error, wide_of_u64(after->error_ns));
    return !wide_is_less(wide_add(error, wide_of(READ_ERROR_NS)), wrong);
}

/* Makes the pair from KVM's values now. Returns 1: *RET_PAIR is valid; 0: it is not, because the virtual machine has
 * ended, or its counter was set, and WHAT says so; -EBADMSG: no values are valid for all vCPUs, and if that is new,
 * WHAT says so. */
static int make_pair(struct guest *guest, struct guest_pair *ret_pair, char *what, size_t size)
{
    struct guest_clock *clock = &guest->clock;
    struct guest_tsc tsc;
    /* In this order: values that are the same as before the moment hold at it. */
    bool has_tsc = guest_kvm_pair(&clock->tsc, ret_pair) >= 0;
    int r = guest_kvm_read(clock->kvm, &tsc, NULL);

    if (r == -ENOENT || r == -ENODEV)
        return 0;
    if (r < 0 || !has_tsc) {
        if (!clock->is_unreadable)
            snprintf(what, size,
                     r == -ENOTUNIQ ? "the time stamp counters of its vCPUs differ: times of some "
                                      "of its CPUs may be wrong by more than their error"
                                    : "KVM's values of its clock cannot be read any more");
        clock->is_unreadable = true;
        clock->before_kept = false;
        return -EBADMSG;
    }
    clock->is_unreadable = false;
    if (is_same(&tsc, &clock->tsc))
        return 1;
    snprintf(what, size, "its time stamp counter was set: times around that are less exact");
    clock->tsc = tsc;
    clock->before_kept = false;
    (void)guest_kvm_pair(&tsc, &clock->before);
    return 0;
}

/* Keeps PAIR of an exchange, after the pair that KVM's values were to replace. */
static int keep_exchange(struct guest *guest, const struct guest_pair *pair,
                         int (*keep)(struct guest *guest, const struct guest_pair *pair))
{
    struct guest_clock *clock = &guest->clock;
    int r = clock->has_early ? keep(guest, &clock->early) : 0;

    guest->boots[guest->n_boots - 1].by_kvm = false;
    clock->has_early = false;
    return r < 0 ? r : keep(guest, pair);
}

int guest_clock_pair(struct guest *guest, const struct guest_pair *pair,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size)
{
    struct guest_clock *clock = &guest->clock;
    struct guest_pair after;
    int r;

    *what = '\0';
    r = clock->kvm ? make_pair(guest, &after, what, size) : -ENOENT;
    if (r == 0)
        return 0;
    /* Only one exchange per second is passed in. It may be older than KVM's values, and then says nothing about them. */
    if (r > 0 && !clock->before_kept && pair->host_ns < clock->before.host_ns) {
        clock->early = *pair;
        clock->has_early = true;
        return 0;
    }
    if (r > 0 && !agrees(pair, &clock->before, &after)) {
        snprintf(what, size,
                 "KVM's values of its clock do not match the agent's; using message exchanges "
                 "instead");
        r = keep_exchange(guest, pair, keep);
        guest_clock_done(guest);
        return r;
    }
    if (r < 0)
        return keep_exchange(guest, pair, keep);
    clock->has_early = false;
    r = clock->before_kept ? 0 : keep(guest, &clock->before);
    clock->before = after;
    clock->before_kept = true;
    clock->next = after.host_ns + GUEST_CLOCK_INTERVAL_NS;
    return r < 0 ? r : keep(guest, &after);
}

uint64_t guest_clock_due(const struct guest *guest)
{
    /* Values that no exchange has confirmed yet are not used. */
    return guest->ended || !guest->clock.kvm || !guest->clock.before_kept ? UINT64_MAX
                                                                          : guest->clock.next;
}

int guest_clock_step(struct guest *guest, uint64_t now,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size)
{
    struct guest_pair pair;

    *what = '\0';
    if (now < guest_clock_due(guest))
        return 0;
    guest->clock.next = now + GUEST_CLOCK_INTERVAL_NS;
    if (make_pair(guest, &pair, what, size) <= 0)
        return 0;
    guest->clock.before = pair;
    return keep(guest, &pair);
}
