/* SPDX-License-Identifier: MIT */
#pragma once

/* What strata collect's files have in common. */

#include <stdbool.h>
#include <stdint.h>

/* Prints what QEMU or libvirt need for one guest whose agent speaks its own protocol by a port whose host's
 * end is the socket (FIFOS: the FIFOs) PATH; or the old one (OLD), with ports for CPUS CPUs in the
 * folder PATH. */
void collect_print_qemu(const char *path, bool fifos, bool old, unsigned cpus);
void collect_print_libvirt(const char *path, bool fifos, bool old, unsigned cpus);
