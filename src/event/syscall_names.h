/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of Linux's system calls by their numbers. Programs of 32 bits have other numbers, but events do not say whether a
 * program has 32 bits.
 *
 * Source: the numbers of the kernel's uapi headers, asm/unistd_64.h of x86 and asm-generic/unistd.h, up to 6.17. */

#include "event/class.h"

/* MACHINE is the output of `uname -m`, or NULL. Returns NULL if the numbers of the machine are unknown. */
const struct value_names *syscall_names(const char *machine);
