/* SPDX-License-Identifier: MIT */
#include "runtime/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "strata/trace.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static strata_message_function function;
static void *userdata;

void strata_trace_set_message(strata_message_function new_function, void *new_userdata)
{
    pthread_mutex_lock(&lock);
    function = new_function;
    userdata = new_userdata;
    pthread_mutex_unlock(&lock);
}

void message_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread may have had it */
}

void trace_message(const char *format, ...)
{
    strata_message_function call;
    void *with;
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    pthread_mutex_lock(&lock);
    call = function;
    with = userdata;
    pthread_mutex_unlock(&lock);
    if (call)
        call(text, with);
    else
        dprintf(STDERR_FILENO, "%s: %s\n", program_invocation_short_name, text);
}
