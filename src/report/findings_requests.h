/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes findings about disk requests from the causes of their time (analysis/path/path.h). All requests of a kind are
 * one finding. */

#include "report/finding_builder.h"

/* The layer whose requests and tasks are the work of TRACE's machine: a guest if there is one, otherwise its VMM,
 * otherwise the host. Other layers only have causes. */
enum layer finder_work_layer(const struct finder *finder);

void find_requests(struct finder *finder);

/* Appends where the time of the work layer's requests goes: "guest reads: 49% ..., 20% ...". False if there are
 * none. */
bool findings_put_distribution(const struct finder *finder, struct text *text);
