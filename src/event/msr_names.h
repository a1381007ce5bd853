/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of x86's model-specific registers that guests use, of processors, KVM and Hyper-V, for events of any tracer.
 *
 * Sources: Intel SDM, volume 4; AMD64 Architecture Programmer's Manual, volume 2, appendix A; Linux's
 * Documentation/virt/kvm/x86/msr.rst; Hyper-V TLFS, appendix C. */

#include "event/class.h"

extern const struct value_names msr_names;
