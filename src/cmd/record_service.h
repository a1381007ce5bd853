/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record as a service. */

#include "record/retention.h"

/* "5m,2G", as --flight has it, into BUF; "": there is no limit. Returns BUF. */
#define RECORD_LIMIT_MAX 48
const char *record_limit_text(const struct retention_limit *limit, char buf[RECORD_LIMIT_MAX]);

/* Tells the service manager that the recording into DIR (NULL: none) has begun. */
void record_service_begun(const char *dir);
