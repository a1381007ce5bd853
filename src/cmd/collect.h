/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of strata collect share. */

#include <stdbool.h>
#include <stdint.h>

/* Prints what QEMU or libvirt needs for one guest. PORT is the host's end of the port for the agent's own protocol: a
 * socket, or with FIFOS a pair of FIFOs. OLD is the directory for the old protocol, with ports for CPUS CPUs. Either
 * may be NULL. */
void collect_print_qemu(const char *port, bool fifos, const char *old, unsigned cpus);
void collect_print_libvirt(const char *port, bool fifos, const char *old, unsigned cpus);
