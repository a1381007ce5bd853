/* SPDX-License-Identifier: MIT */
#include "runtime/thread_number.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/macro.h"

/* Initial-exec: an access is no call that could allocate, and so safe in signal handlers. */
/* A library that programs load while they run has no place for what is initial-exec: it says so when it builds this. */
#ifndef THREAD_NUMBER_TLS_MODEL
#define THREAD_NUMBER_TLS_MODEL "initial-exec"
#endif

static __thread uint32_t thread __attribute__((tls_model(THREAD_NUMBER_TLS_MODEL)));

uint32_t thread_number(void)
{
    if (unlikely(thread == 0))
        thread = (uint32_t)syscall(SYS_gettid);
    return thread;
}

void thread_number_forget(void)
{
    thread = 0;
}
