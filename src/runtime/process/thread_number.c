/* SPDX-License-Identifier: MIT */
#include "runtime/process/thread_number.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/macro.h"

/* Initial-exec: an access is not a call, which could allocate: it is safe in signal handlers. */
static __thread uint32_t thread __attribute__((tls_model("initial-exec")));

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
