/* SPDX-License-Identifier: MIT */
#include "runtime/message.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/macro.h"
#include "runtime/process/log.h"
#include "runtime/process/program.h"
#include "runtime/process/syslog.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static strata_message_function function;
static void *userdata;

/* Initial-exec: an access never allocates. */
#define LOCAL_TLS static __thread __attribute__((tls_model("initial-exec")))

LOCAL_TLS strata_message_function diverted_to;
LOCAL_TLS void *diverted_with;

void message_divert(strata_message_function to, void *with)
{
    diverted_to = to;
    diverted_with = with;
}

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

/* In a daemon, standard error is closed or another file. Then the system's log gets the message. */
static void show(const char *text)
{
    char whole[1400];
    int len = snprintf(whole, sizeof(whole), "%s: %s\n", program_name(), text);

    if (standard_error_write(whole, MIN((size_t)len, sizeof(whole) - 1)) == -EBADF)
        (void)syslog_send(text, strlen(text));
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

    if (diverted_to) {
        diverted_to(text, diverted_with);
        return;
    }
    pthread_mutex_lock(&lock);
    call = function;
    with = userdata;
    pthread_mutex_unlock(&lock);
    if (call)
        call(text, with);
    else
        show(text);
}
