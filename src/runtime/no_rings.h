/* SPDX-License-Identifier: MIT */
#pragma once

/* What a process that made no ring reports to the recorder that waits for its rings (runtime/process_file.h),
 * so that the recorder can say why it recorded nothing. */

#include <stdbool.h>

/* Writes the report into PARENT, the directory where the rings of this process would lie. Does nothing if no
 * recorder has PARENT locked. HAS_BACKEND: some event goes to rings. Under the registry's lock, at the end of
 * the process. */
void no_rings_report(const char *parent, bool has_backend);
