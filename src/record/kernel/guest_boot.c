/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_boot.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "tracedir/host.h"

#define PAIRS_MAX 10000000u
#define PROBLEMS_MAX 64u
/* Of these, problems that the guest itself reports: there is room for those found here. */
#define REPORTS_MAX 32u

uint64_t guest_lost(const struct guest *guest)
{
    return guest->progress.lost + guest->progress.unwritten;
}

struct guest_boot *guest_boot(struct guest *guest)
{
    return &guest->boots[guest->n_boots - 1];
}

int guest_boot_begin(struct guest *guest)
{
    struct guest_boot *bigger = realloc(guest->boots, (guest->n_boots + 1) * sizeof *guest->boots);

    if (!bigger)
        return -ENOMEM;
    guest->boots = bigger;
    bigger[guest->n_boots++] = (struct guest_boot){
        .began = host_moment(),
        .lost_before = guest_lost(guest),
    };
    guest->progress.first = guest->progress.last = 0;
    return 0;
}

void guest_boot_copy_facts(struct guest *guest)
{
    const struct guest_boot *before = &guest->boots[guest->n_boots - 2];
    struct guest_boot *boot = guest_boot(guest);

    memcpy(boot->agent, before->agent, sizeof boot->agent);
    memcpy(boot->release, before->release, sizeof boot->release);
    memcpy(boot->machine, before->machine, sizeof boot->machine);
    memcpy(boot->boot_id, before->boot_id, sizeof boot->boot_id);
    memcpy(boot->clock, before->clock, sizeof boot->clock);
    boot->hz = before->hz;
    boot->states_pid_filter = before->states_pid_filter;
    boot->pid_filter = before->pid_filter;
    boot->is_rewound = true;
}

void guest_boot_end(struct guest *guest)
{
    struct guest_boot *boot = guest_boot(guest);

    boot->ended = host_moment();
    boot->first_event = guest->progress.first;
    boot->last_event = guest->progress.last;
    /* What a guest counts may go down. */
    boot->lost = guest_lost(guest) - MIN(boot->lost_before, guest_lost(guest));
    if (boot->unreported) {
        char what[80];

        snprintf(what, sizeof what, GUEST_REPORTED_MORE, boot->unreported);
        guest_boot_problem(guest, what);
    }
}

static bool is_known(const struct guest_boot *boot, const char *what)
{
    for (unsigned i = 0; i < boot->n_problems; i++)
        if (strcmp(boot->problems[i], what) == 0)
            return true;
    return false;
}

void guest_boot_problem(struct guest *guest, const char *what)
{
    struct guest_boot *boot = guest_boot(guest);
    char **bigger;

    if (boot->n_problems >= PROBLEMS_MAX || is_known(boot, what))
        return;
    bigger = realloc(boot->problems, (boot->n_problems + 1) * sizeof *bigger);
    if (!bigger)
        return;
    boot->problems = bigger;
    bigger[boot->n_problems] = strdup(what);
    boot->n_problems += bigger[boot->n_problems] != NULL;
}

void guest_boot_lost(struct guest *guest, const char *what)
{
    guest_boot(guest)->lost_uncounted = true;
    guest_boot_problem(guest, what);
}

bool guest_boot_report(struct guest *guest, const char *what)
{
    struct guest_boot *boot = guest_boot(guest);

    if (is_known(boot, what))
        return false;
    if (boot->n_reported >= REPORTS_MAX) {
        boot->unreported++;
        return false;
    }
    boot->n_reported++;
    guest_boot_problem(guest, what);
    return true;
}

int guest_boot_pair(struct guest *guest, const struct guest_pair *pair, bool is_after_pause)
{
    struct guest_boot *boot = guest_boot(guest);

    if (MAX(MAX(pair->guest, pair->host_ns), pair->error_ns) > INT64_MAX / 2 ||
        boot->n_pairs >= PAIRS_MAX ||
        (boot->n_pairs > 0 &&
         (pair->guest <= boot->last.guest || pair->host_ns <= boot->last.host_ns)))
        return 0;
    if (boot->n_pairs == 0)
        boot->first = *pair;
    if (boot->n_pairs == 0 || pair->error_ns < boot->best.error_ns)
        boot->best = *pair;
    boot->last = *pair;
    boot->n_pairs++;
    return guest_store_pair(&guest->store, pair, is_after_pause);
}

static struct manifest_moment moment_at(uint64_t ns)
{
    struct manifest_moment now = host_moment();
    int64_t at = (int64_t)MIN(ns, (uint64_t)now.monotonic_ns);

    return (struct manifest_moment){.monotonic_ns = at,
                                    .realtime_ns = now.realtime_ns - (now.monotonic_ns - at)};
}

void guest_machine_came(struct guest *guest, uint64_t ns)
{
    guest_boot(guest)->came = moment_at(ns);
    guest_boot_problem(guest, "the virtual machine came by a migration: what the guest did until "
                              "its agent was set up again is not recorded");
    guest->written = false;
}

void guest_machine_left(struct guest *guest, uint64_t ns)
{
    guest_boot(guest)->left = ns > 0 ? moment_at(ns) : (struct manifest_moment){0};
    guest->written = false;
}

void guest_boots_done(struct guest *guest)
{
    for (unsigned i = 0; i < guest->n_boots; i++) {
        struct guest_boot *boot = &guest->boots[i];

        while (boot->n_problems > 0)
            free(boot->problems[--boot->n_problems]);
        free(boot->problems);
    }
    free(guest->boots);
    guest->boots = NULL;
    guest->n_boots = 0;
}
