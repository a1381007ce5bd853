/* SPDX-License-Identifier: MIT */
#include "cli/version.h"

#include <stdio.h>

#include "cli/build_info.h"

#ifdef __clang__
#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define COMPILER \
    "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define COMPILER "gcc " __VERSION__
#endif

void cli_print_version(void)
{
    puts("strata " STRATA_VERSION "\n"
         "build: " BUILD_NAME " (" COMPILER ", " BUILD_TYPE ")\n"
         "features: " BUILD_FEATURES "\n"
         "libraries: " BUILD_LIBRARIES);
}
