/* SPDX-License-Identifier: MIT */
#pragma once

/* The program's name at its start, without directories. argv, to which libc's name points, is
 * overwritten by programs that show their state there. Never freed. Any context. */
const char *program_name(void);
