/* SPDX-License-Identifier: MIT */
#pragma once

/* The options of `strata record`, which set the wishes of a plan (record/plan/plan.h). */

#include "cli/options.h"
#include "record/plan/plan.h"

/* For members of struct record_plan that concern the whole recording. */
extern const struct cli_option record_common_options[];
/* For its members of these types. */
extern const struct cli_option record_guest_options[], record_live_options[],
    record_metrics_options[], record_triggers_options[];
