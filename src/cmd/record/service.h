/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record as a service. */

/* Writes to the trace in DIR, at PATH, what programs and an agent of a killed recorder still have. */
void record_service_rescue(int dir, const char *path);

/* Tells the service manager that the recording into DIR (may be NULL) has begun. */
void record_service_begun(const char *dir);
