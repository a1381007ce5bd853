/* SPDX-License-Identifier: MIT */
#pragma once

/* Xen's vCPUs as a number (`vcpu` of struct item) and as text, "d0v1" or "idlev1". */

#include "event/class.h"

/* The domain of physical CPUs' idle loops. */
#define XEN_IDLE_DOMAIN 32767

/* Puts the name of a vCPU, whose number is DOMAIN << 16 | VCPU. For put_vcpu of struct origin. */
void xen_vcpu_put(const struct origin *origin, int32_t vcpu, struct text *text);

/* Parses the name of a vCPU, LEN bytes at NAME. -EINVAL: not such a name. */
int xen_vcpu_parse(const char *name, size_t len, int32_t *ret_vcpu);
