/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what `strata --version` does: the version in the first line, as "strata VERSION"; then what it was built from
 * and by which compiler; and what is in this build. None of that depends on where or when it was built. */
void cli_print_version(void);
