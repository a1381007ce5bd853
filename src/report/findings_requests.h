/* SPDX-License-Identifier: MIT */
#pragma once

/* Findings about requests to disks, from the causes of their time (analysis/path/path.h). All requests of a kind are one finding. */

#include "report/finding_builder.h"

/* The layer whose requests and tasks are the work of TRACE's machine: of a guest if there is one, else of its VMM, else of the host.
 * The other layers only have causes. */
enum layer finder_work_layer(const struct finder *finder);

void find_requests(struct finder *finder);

/* Appends where the time of the requests of the work layer goes: "guest reads: 49% ..., 20% ...". False: there are none. */
bool findings_put_distribution(const struct finder *finder, struct text *text);
