/* SPDX-License-Identifier: MIT */
#pragma once

/* Relates a libvirt domain to the QEMU that runs it. */

#include "control/libvirt.h"
#include "record/qemu/process.h"

/* Opens the domain whose QEMU is RUNNING, at the daemon URI (in the form of libvirt_domain_open()). -errno with ERROR,
 * which names the domain. */
int qemu_domain_find(const char *uri, const struct qemu_process *running,
                     struct libvirt_domain **ret, struct error *error);
/* True if RUNNING is the QEMU of DOMAIN. */
bool qemu_domain_is(const struct libvirt_domain *domain, const struct qemu_process *running);
