/* SPDX-License-Identifier: MIT */
#include "event/origin_flags.h"

#include <string.h>

const char *const origin_flag_names[] = {
    "threads_only", "pid_filter", "lost_uncounted", "is_cut", "lacks_switches", "ends_apart", NULL};

static bool *get_flag(struct origin *origin, unsigned number)
{
    bool *const flags[] = {&origin->threads_only, &origin->pid_filter,     &origin->lost_uncounted,
                           &origin->is_cut,       &origin->lacks_switches, &origin->ends_apart};

    return flags[number];
}

bool origin_has_flag(const struct origin *origin, unsigned number)
{
    return *get_flag((struct origin *)origin, number);
}

bool origin_set_flag(struct origin *origin, const char *name, size_t len)
{
    for (unsigned i = 0; origin_flag_names[i]; i++)
        if (strlen(origin_flag_names[i]) == len && memcmp(origin_flag_names[i], name, len) == 0) {
            *get_flag(origin, i) = true;
            return true;
        }
    return false;
}
