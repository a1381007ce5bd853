/* SPDX-License-Identifier: MIT */
#include "runtime/process/program.h"

#include <errno.h>
#include <string.h>

#include "runtime/macro.h"

static char name[256];

static void RUNS_BEFORE_MESSAGES note_name(void)
{
    strncpy(name, program_invocation_short_name, sizeof(name) - 1);
}

const char *program_name(void)
{
    if (!*name) /* a constructor of the program's came before ours */
        note_name();
    return name;
}
