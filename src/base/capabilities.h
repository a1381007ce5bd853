/* SPDX-License-Identifier: MIT */
#pragma once

/* Capabilities of this thread (capabilities(7)), and the users that there are in its user namespace. */

#include <stdbool.h>
#include <stdint.h>

/* Gives up all but those in KEPT, a bit for each number below 32. -errno. */
int capabilities_drop(uint32_t kept);
/* Whether root can become this user and group: false in a user namespace that has no others than root, or is without
 * setgroups(). */
bool capabilities_can_become(uint32_t uid, uint32_t gid);
