/* SPDX-License-Identifier: MIT */
/* In a file of its own because <term.h> defines macros with common names. */
#include "cmd/top/terminal_known.h"

#include <unistd.h>

#include <curses.h>
#include <term.h>

bool top_terminal_is_known(void)
{
    int error;

    if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
        return false;
    del_curterm(cur_term);
    return true;
}
