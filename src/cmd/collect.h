/* SPDX-License-Identifier: MIT */
#pragma once

/* What strata collect's files have in common. */

#include <stdbool.h>
#include <stdint.h>

/* Prints what QEMU or libvirt need for one guest. PORT: the socket (FIFOS: the FIFOs) that is the host's end of
 * the port on which its agent speaks its own protocol; OLD: the directory with those of the old protocol, with ports
 * for CPUS CPUs. Either may be NULL. */
void collect_print_qemu(const char *port, bool fifos, const char *old, unsigned cpus);
void collect_print_libvirt(const char *port, bool fifos, const char *old, unsigned cpus);
