/* SPDX-License-Identifier: MIT */
#pragma once

/* Whose processors a Xen ran on, by the reasons of VM exits in its records. Before 4.19, Xen has one event for the exits of
 * both vendors, with numbers that mean different things.
 *
 * AMD's reasons 0 to 31 are reads and writes of CR0 to CR15 (AMD64 manual volume 2, appendix C), of which only 0, 2, 3, 4 and 8
 * exist, so that the others are Intel's. Intel's basic reasons are below 96 (SDM volume 3, appendix C), so that larger ones are
 * AMD's, as interrupts, HLT, I/O and nested page faults are. Other numbers tell nothing. */

#include "format/xentrace/windows.h"
#include "schema/xen/table.h"

/* Looks through the beginning of each cpu's records. *RET_CPU: XEN_CPU_UNKNOWN if nothing tells, or records contradict each
 * other. 0, or a negative errno with ERROR. */
int xentrace_guess_vendor(struct xentrace_windows *windows, enum xen_cpu *ret_cpu,
                          struct error *error);
