/* SPDX-License-Identifier: MIT */
/* Apart from the rest of the terminal, as <term.h> makes macros of common words. */
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
