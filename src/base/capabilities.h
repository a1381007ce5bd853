/* SPDX-License-Identifier: MIT */
#pragma once

/* Capabilities of this thread (capabilities(7)), and the users of its user namespace. */

#include <stdbool.h>
#include <stdint.h>

/* Gives up all capabilities except KEPT, a bit for each number below 32. -errno. */
int capabilities_drop(uint32_t kept);
/* True if root can become this user and group. False in a user namespace that only has root, or has no setgroups(). */
bool capabilities_can_become(uint32_t uid, uint32_t gid);
