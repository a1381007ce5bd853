/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorders of Xen's trace buffers and of programs' per-CPU buffers, for the plan of a recording. The options of both are
 * one struct buffers_options (record/xen/options.h). */

#include "record/plan/recorder_type.h"

/* percpu_recorder_type also checks and frees the options. */
extern const struct recorder_type xen_recorder_type, percpu_recorder_type;
