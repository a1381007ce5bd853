/* SPDX-License-Identifier: MIT */
#pragma once

/* Signals while a child runs that has our terminal: one that the terminal sends reaches it as well, one that
 * somebody sends us does not. */

#include <signal.h>
#include <stdbool.h>

/* Catches those that end programs, and blocks them: *RET_WAITING lets them through, and is what the child is
 * to have. One that is ignored (nohup(1), a shell's &) stays so, in the child too. */
void run_signals_catch(sigset_t *ret_waiting);
/* Whether one waits to be let through: asked when the child has just been started, it may have come before the child
 * was there, which then has not got it. */
bool run_signals_waiting(void);
/* How many came until now; of the last one, which it is, and whether it was sent to us alone. */
unsigned run_signals_count(int *ret_signal, bool *ret_alone);
