/* SPDX-License-Identifier: MIT */
#pragma once

/* strata record as a service. */

/* Brings what programs and an agent of a recorder that was killed have left to its trace in DIR, at PATH. */
void record_service_rescue(int dir, const char *path);

/* Tells the service manager that the recording into DIR (NULL: none) has begun. */
void record_service_begun(const char *dir);
