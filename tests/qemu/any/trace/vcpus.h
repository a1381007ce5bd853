/* SPDX-License-Identifier: MIT */
/* What trace/control-vcpu.h of the versions that had it have in common. */
#pragma once

#include "trace/control.h"

typedef struct CPUState {
    unsigned long trace_dstate[1];
} CPUState;

static inline bool event_of_vcpu(CPUState *vcpu, uint32_t id)
{
    return unlikely(trace_events_enabled_count) && ((vcpu->trace_dstate[0] >> id) & 1);
}

#define trace_event_get_vcpu_state(vcpu, id) \
    ((id##_ENABLED) && event_of_vcpu(vcpu, _##id##_EVENT.vcpu_id))
