/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of x86's model-specific registers, for events of any tracer: those that guests use, of processors, KVM and Hyper-V.
 *
 * Sources: Intel SDM, volume 4; AMD64 Architecture Programmer's Manual, volume 2, appendix A; Linux's
 * Documentation/virt/kvm/x86/msr.rst; Hyper-V TLFS, appendix C. */

#include "event/class.h"

extern const struct value_names msr_names;
