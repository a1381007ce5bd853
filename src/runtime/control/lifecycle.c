/* SPDX-License-Identifier: MIT */

/* The process forks, or ends: what each part of the library does then, in which order. The parts do not know this
 * file. */

#include <pthread.h>

#include "runtime/control/control.h"
#include "runtime/control/options.h"
#include "runtime/control/snapshot.h"
#include "runtime/events.h"
#include "runtime/message.h"
#include "runtime/process/log.h"
#include "runtime/process/syslog.h"
#include "runtime/process/thread.h"
#include "runtime/process/thread_number.h"
#include "runtime/writer.h"

/* After the destructors of the control socket and of snapshots (102). */
static void __attribute__((destructor(101))) end(void)
{
    writer_stop();
    options_at_end();
    writer_end();
}

static void before_fork(void)
{
    options_lock();
    writer_before_fork();
    registry_lock();
    control_before_fork();
}

static void after_fork_parent(void)
{
    control_after_fork_parent();
    registry_unlock();
    writer_after_fork_parent();
    options_unlock();
}

static void after_fork_child(void)
{
    registry_unlock();
    thread_forget();
    message_forget();
    thread_number_forget();
    syslog_forget();
    writer_after_fork_child();
    options_unlock();
    snapshot_after_fork_child();
    control_after_fork_child();
}

/* Runs after the constructor of ring.c (RUNS_FIRST), so that a child forgets its parent's rings before its writer
 * starts, and signals are blocked last. */
static void __attribute__((constructor(103))) begin(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}
