/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record as a service. */

#include "record/retention.h"

/* "5m,2G", as --flight has it, into BUF; "": there is no limit. Returns BUF. */
#define RECORD_LIMIT_MAX 48
const char *record_limit_text(const struct retention_limit *limit, char buf[RECORD_LIMIT_MAX]);

/* Brings what programs and an agent of a recorder that was killed have left to its trace in DIR, at PATH. */
void record_service_rescue(int dir, const char *path);

/* Tells the service manager that the recording into DIR (NULL: none) has begun. */
void record_service_begun(const char *dir);
