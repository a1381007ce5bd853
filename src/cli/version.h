/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints the output of `strata --version`: the version in the first line, as "strata VERSION"; the source and the
 * compiler of the build; and the features of the build. None of this depends on where or when it was built. */
void cli_print_version(void);
