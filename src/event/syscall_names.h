/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of Linux's system calls by their numbers. Programs of 32 bits have other numbers, and events do not say which a
 * program is of.
 *
 * Source: the numbers of the kernel's uapi headers, asm/unistd_64.h of x86 and asm-generic/unistd.h, up to 6.17. */

#include "event/class.h"

/* MACHINE: as uname -m has it; NULL: not known. NULL: its numbers are not known. */
const struct value_names *syscall_names(const char *machine);
