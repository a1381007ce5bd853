/* SPDX-License-Identifier: MIT */
#pragma once

/* The report of a process that created no ring to the recorder that waits for its rings
 * (runtime/ring/process_file.h), so that the recorder can say why it recorded nothing. */

#include <stdbool.h>

/* Writes the report to PARENT, where the rings of this process would be. Does nothing unless a recorder
 * has locked PARENT. HAS_BACKEND: some event goes to rings. Under the registry's lock, at the end of
 * the process. */
void no_rings_report(const char *parent, bool has_backend);
