/* SPDX-License-Identifier: MIT */
#pragma once

/* The program's name as it was when the program began, without directories: its own argv, which libc's
 * name points into, is overwritten by programs that show there what they do. Stays for ever. Any context. */
const char *program_name(void);
