/* SPDX-License-Identifier: MIT */
#include "record/agent/guest_boot.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "tracedir/host.h"

#define PAIRS_MAX 10000000u
#define PROBLEMS_MAX 64u
/* … of which the guest's own reports leave room for ours. */
#define REPORTS_MAX 32u

uint64_t guest_lost(const struct guest *guest)
{
    return guest->progress.lost + guest->progress.unwritten;
}

struct guest_boot *guest_boot(struct guest *guest)
{
    return &guest->parts[guest->n_parts - 1];
}

int guest_boot_begin(struct guest *guest)
{
    struct guest_boot *bigger = realloc(guest->parts, (guest->n_parts + 1) * sizeof *guest->parts);

    if (!bigger)
        return -ENOMEM;
    guest->parts = bigger;
    bigger[guest->n_parts++] = (struct guest_boot){
        .began = host_moment(),
        .lost_before = guest_lost(guest),
    };
    return 0;
}

void guest_boot_end(struct guest *guest)
{
    struct guest_boot *part = guest_boot(guest);

    part->ended = host_moment();
    /* What a guest counts may go down. */
    part->lost = guest_lost(guest) - MIN(part->lost_before, guest_lost(guest));
    if (part->unreported) {
        char what[80];

        snprintf(what, sizeof what, GUEST_REPORTED_MORE, part->unreported);
        guest_boot_problem(guest, what);
    }
}

static bool is_known(const struct guest_boot *part, const char *what)
{
    for (unsigned i = 0; i < part->n_problems; i++)
        if (strcmp(part->problems[i], what) == 0)
            return true;
    return false;
}

void guest_boot_problem(struct guest *guest, const char *what)
{
    struct guest_boot *part = guest_boot(guest);
    char **bigger;

    if (part->n_problems >= PROBLEMS_MAX || is_known(part, what))
        return;
    bigger = realloc(part->problems, (part->n_problems + 1) * sizeof *bigger);
    if (!bigger)
        return;
    part->problems = bigger;
    bigger[part->n_problems] = strdup(what);
    part->n_problems += bigger[part->n_problems] != NULL;
}

bool guest_boot_report(struct guest *guest, const char *what)
{
    struct guest_boot *part = guest_boot(guest);

    if (is_known(part, what))
        return false;
    if (part->n_reported >= REPORTS_MAX) {
        part->unreported++;
        return false;
    }
    part->n_reported++;
    guest_boot_problem(guest, what);
    return true;
}

int guest_boot_pair(struct guest *guest, const struct guest_pair *pair)
{
    struct guest_boot *part = guest_boot(guest);

    if (MAX(MAX(pair->guest, pair->host_ns), pair->error_ns) > INT64_MAX / 2 ||
        part->n_pairs >= PAIRS_MAX ||
        (part->n_pairs > 0 &&
         (pair->guest <= part->last.guest || pair->host_ns <= part->last.host_ns)))
        return 0;
    if (part->n_pairs == 0)
        part->first = *pair;
    if (part->n_pairs == 0 || pair->error_ns < part->best.error_ns)
        part->best = *pair;
    part->last = *pair;
    part->n_pairs++;
    return guest_store_pair(&guest->store, pair->host_ns, pair->guest, pair->error_ns);
}

void guest_boots_done(struct guest *guest)
{
    for (unsigned i = 0; i < guest->n_parts; i++) {
        struct guest_boot *part = &guest->parts[i];

        while (part->n_problems > 0)
            free(part->problems[--part->n_problems]);
        free(part->problems);
    }
    free(guest->parts);
    guest->parts = NULL;
    guest->n_parts = 0;
}
