/* SPDX-License-Identifier: MIT */
#pragma once

/* Guesses the vendor of the processor on which a Xen ran, from the reasons of VM exits in its records. Xen before 4.19
 * has one event for the exits of both vendors, with numbers that have different meanings.
 *
 * AMD's reasons 0 to 31 are reads and writes of CR0 to CR15 (AMD64 manual volume 2, appendix C). Only registers 0, 2,
 * 3, 4 and 8 exist, so the other numbers are Intel's. Intel's basic reasons are below 96 (SDM volume 3, appendix C), so
 * larger numbers are AMD's, for example interrupts, HLT, I/O and nested page faults. Other numbers tell nothing. */

#include "format/xentrace/windows.h"
#include "schema/xen/table.h"

/* Looks through the beginning of each CPU's records. *RET_CPU: XEN_CPU_UNKNOWN if no record tells the vendor, or if
 * records contradict each other. Returns 0, or a negative errno with ERROR. */
int xentrace_guess_vendor(struct xentrace_windows *windows, enum xen_cpu *ret_cpu,
                          struct error *error);
