/* SPDX-License-Identifier: MIT */
#pragma once

/* What the registration tells the options: those from the environment are read before any event is
 * there. */

struct strata_group;

/* A group was registered. Not under registry_lock(). */
void options_group_came(const struct strata_group *group);
/* The process ends: says which names in the environment never were an event's. */
void options_at_end(void);

/* Around fork(), so that the child finds them whole. Before the pass lock. */
void options_lock(void);
void options_unlock(void);
