/* SPDX-License-Identifier: MIT */
#pragma once

/* The program's name at its start, without directories. libc's name is not used, because it points to argv, which some
 * programs overwrite to show their state. Never freed. Any context. */
const char *program_name(void);
