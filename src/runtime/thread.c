/* SPDX-License-Identifier: MIT */
#include "runtime/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, const pthread_attr_t *attributes, const char *name,
                 void *(*function)(void *), void *argument)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret, attributes, function, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        pthread_setname_np(*ret, name);
    return r;
}
