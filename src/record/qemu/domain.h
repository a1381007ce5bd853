/* SPDX-License-Identifier: MIT */
#pragma once

/* A domain of libvirt, and the QEMU that runs it. */

#include "control/libvirt.h"
#include "record/qemu/process.h"

/* Opens the domain that RUNNING is the QEMU of, of the daemon URI, as libvirt_domain_open() has it. -errno with ERROR, which names
 * the domain. */
int qemu_domain_find(const char *uri, const struct qemu_process *running,
                     struct libvirt_domain **ret, struct error *error);
/* Whether RUNNING is the QEMU of DOMAIN. */
bool qemu_domain_is(const struct libvirt_domain *domain, const struct qemu_process *running);
