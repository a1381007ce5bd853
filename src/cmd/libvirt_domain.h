/* SPDX-License-Identifier: MIT */
#pragma once

/* How the commands find a domain of libvirt, and its process. */

#include "control/libvirt.h"

struct qemu_process;

/* Opens domain WORD of the daemon URI; NULL: of $LIBVIRT_DEFAULT_URI, or the default of libvirt_domain_open(), with its
 * errors. */
int libvirt_find_domain(const char *uri, const char *word, struct libvirt_domain **ret,
                        struct error *error);
/* The same of the domain that RUNNING is the QEMU of. -errno with ERROR, which names the domain. */
int libvirt_find_domain_of(const char *uri, const struct qemu_process *running,
                           struct libvirt_domain **ret, struct error *error);
/* Whether RUNNING is the QEMU of DOMAIN. */
bool libvirt_domain_is(const struct libvirt_domain *domain, const struct qemu_process *running);
