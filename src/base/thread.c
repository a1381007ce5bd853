/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg), void *arg)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r = pthread_attr_init(&attributes);

    if (r != 0)
        return -r;
    pthread_attr_setstacksize(&attributes, stack_size);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret_thread, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -r;
}
