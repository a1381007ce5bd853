/* SPDX-License-Identifier: MIT */
#pragma once

/* Xen's vCPUs: as a number, the one of `struct item`, and as text, "d0v1" or "idlev1". */

#include "event/class.h"

/* The domain that a physical CPU's idle loop counts as. */
#define XEN_IDLE_DOMAIN 32767

/* The number of vCPU VCPU of DOMAIN is DOMAIN << 16 | VCPU. As put_vcpu of struct origin. */
void xen_vcpu_put(const struct origin *origin, int32_t vcpu, struct text *text);

/* The number of the vCPU called the LEN bytes of NAME. -EINVAL: no vCPU is called so. */
int xen_vcpu_parse(const char *name, size_t len, int32_t *ret_vcpu);
