/* SPDX-License-Identifier: MIT */
#ifndef STRATA_MONITOR_H
#define STRATA_MONITOR_H

/* libstrata-monitor: lets a person or another program control the tracing of a running program that
 * links libstrata (strata/trace.h), in the words of QEMU's monitors: in its human monitor's (HMP),
 * a line of text a command, or in QMP, JSON. strata-monitor(7) describes both.
 *
 * The least that a program needs for an option `-monitor WHERE`:
 *
 *     struct strata_monitor *monitor;
 *
 *     if (strata_monitor_new(STRATA_MONITOR_HMP, &monitor) < 0 ||
 *         strata_monitor_listen(monitor, where) < 0 || strata_monitor_start(monitor) < 0)
 *         ... tell the user ...
 *     ...
 *     strata_monitor_free(monitor);
 *
 * A monitor controls tracing and nothing else: it never ends the program (`quit` ends the session),
 * raises no SIGPIPE and prints nothing by itself. Whoever can talk to it can write to files as the
 * program: a socket of its own has mode 0600, a TCP port is as open as the address it is given.
 *
 * Threads: a monitor belongs to one thread at a time; once it is started, to its own, and then only
 * strata_monitor_free() may be called. Several monitors are independent of each other. Not from signal
 * handlers. After fork() the child has no use of it but to free it.
 * Errors: a negative errno. */

#include <stdbool.h>
#include <stddef.h>
#include <strata/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum strata_monitor_dialect {
    STRATA_MONITOR_HMP,
    STRATA_MONITOR_QMP,
};

struct strata_monitor;

/* Makes a monitor that talks to nobody yet. -EINVAL: no such dialect; -ENOMEM, -EMFILE. */
STRATA_API int strata_monitor_new(enum strata_monitor_dialect dialect, struct strata_monitor **ret);
/* Ends its sessions and its thread, and removes its sockets. NULL is fine. */
STRATA_API void strata_monitor_free(struct strata_monitor *monitor);

/* For sessions that begin from now on; copied. The name is what greets ("NAME monitor - ...") and stands
 * as `package` in QMP's version; by default the program's. The prompt, by default "(qemu) ", which is what
 * scripts for QEMU's monitor wait for. -ENOMEM. */
STRATA_API int strata_monitor_set_name(struct strata_monitor *monitor, const char *name);
STRATA_API int strata_monitor_set_prompt(struct strata_monitor *monitor, const char *prompt);

/* Takes sessions at WHERE:
 *
 *     unix:PATH           a socket, made with mode 0600; one that nobody listens at any more is replaced
 *     tcp:[HOST]:PORT     an IPv6 address in brackets; without HOST of this machine alone
 *     stdio               one session on standard input and output
 *
 * behind which `,server=on` and `,wait=off`, as QEMU wants to have them, may stand. Up to 16 sessions
 * at a time, further ones wait. -EINVAL: WHERE is none of these; -EADDRINUSE: somebody listens there;
 * -EEXIST: PATH is no socket; -ENAMETOOLONG; -ENXIO: no such host; what bind(2) says. */
STRATA_API int strata_monitor_listen(struct strata_monitor *monitor, const char *where);

/* Begins a session on two descriptors, or one twice: a terminal, pipes, a connected socket. They are
 * duplicated, stay the caller's, and are not made non-blocking. -EBADF, -EMFILE, -ENOMEM. */
STRATA_API int strata_monitor_add(struct strata_monitor *monitor, int in, int out);

/* Serves from a thread of its own, which blocks all signals, from now on. -EBUSY: is started;
 * -EAGAIN: there can be no thread. */
STRATA_API int strata_monitor_start(struct strata_monitor *monitor);

/* Instead of a thread, in a program with a main loop: when the descriptor is readable (level-triggered;
 * it stays the monitor's), strata_monitor_dispatch() does what there is to do, and returns without
 * waiting for anybody: how many sessions there are. (Standard output that is a terminal or a file may
 * make it wait, as any write to them does.) */
STRATA_API int strata_monitor_get_fd(const struct strata_monitor *monitor);
STRATA_API int strata_monitor_dispatch(struct strata_monitor *monitor);

/* ---- A session by itself ----
 *
 * For a program with a transport of its own: bytes are fed to it, and what it says goes to WRITE, from
 * within _new() (the greeting) and _feed(). WRITE must take all of it, and must not call back. */

struct strata_monitor_session;
typedef void (*strata_monitor_write_function)(const void *bytes, size_t n, void *userdata);

/* NAME and PROMPT as above, NULL for the defaults; not kept. -EINVAL, -ENOMEM. */
STRATA_API int strata_monitor_session_new(enum strata_monitor_dialect dialect, const char *name,
                                          const char *prompt, strata_monitor_write_function write,
                                          void *userdata, struct strata_monitor_session **ret);
/* 0: goes on; 1: the session was ended from its other side, by `quit`; -ENOMEM: by lack of memory. In an
 * ended session nothing is done any more. */
STRATA_API int strata_monitor_session_feed(struct strata_monitor_session *session,
                                           const void *bytes, size_t n);
/* NULL is fine. */
STRATA_API void strata_monitor_session_free(struct strata_monitor_session *session);

#ifdef __cplusplus
}
#endif

#endif
