/* SPDX-License-Identifier: MIT */
#ifndef STRATA_MONITOR_H
#define STRATA_MONITOR_H

/* libstrata-monitor: lets a person or another program control the tracing of a running program that
 * links libstrata (strata/trace.h), by QEMU's monitor protocols: the human monitor (HMP), one command
 * per line of text, or QMP, JSON. strata-monitor(7) describes both.
 *
 * A program needs no more than this for an option `-monitor WHERE`:
 *
 *     struct strata_monitor *monitor;
 *
 *     if (strata_monitor_new(STRATA_MONITOR_HMP, &monitor) < 0 ||
 *         strata_monitor_listen(monitor, where) < 0 || strata_monitor_start(monitor) < 0)
 *         ... report the error ...
 *     ...
 *     strata_monitor_free(monitor);
 *
 * A monitor controls only tracing: `quit` ends the session, never the program. It raises no SIGPIPE and
 * prints nothing.
 *
 * Security: a peer can make the program write to any file that the program may write to. A UNIX socket is created
 * with mode 0600. Any program that can reach its address can connect to a TCP port.
 *
 * Threads: one thread at a time may use a monitor. After strata_monitor_start(), the monitor's own thread uses it, and
 * the program may only call strata_monitor_free(). Different monitors are independent.
 * Signals: do not call these functions from signal handlers. After fork(), the child may only free the monitor.
 * Errors: a function returns 0 or more on success and a negative errno on failure. */

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

/* Creates a monitor without sessions. -EINVAL: no such dialect; -ENOMEM; -EMFILE. */
STRATA_API int strata_monitor_new(enum strata_monitor_dialect dialect, struct strata_monitor **ret);
/* Ends the sessions and the thread, removes the sockets, and frees. Does nothing with NULL. */
STRATA_API void strata_monitor_free(struct strata_monitor *monitor);

/* Set the name and the prompt of sessions that begin later. The string is copied. The name is in the greeting
 * ("NAME monitor - ...") and is `package` in QMP's version; its default is the program's name. The default of the
 * prompt is "(qemu) ", which scripts for QEMU's monitor wait for. -ENOMEM. */
STRATA_API int strata_monitor_set_name(struct strata_monitor *monitor, const char *name);
STRATA_API int strata_monitor_set_prompt(struct strata_monitor *monitor, const char *prompt);

/* Accepts sessions at WHERE:
 *
 *     unix:PATH           a UNIX socket, created with mode 0600; replaces a socket that no process listens at
 *     tcp:[HOST]:PORT     an IPv6 address is in brackets; without HOST, the loopback address
 *     stdio               one session on standard input and output
 *
 * `,server=on` and `,wait=off` may follow, as in QEMU's options. A monitor has up to 16 sessions at the same time;
 * further connections wait. -EINVAL: WHERE is none of these; -EADDRINUSE: another process listens
 * there; -EEXIST: PATH is not a socket; -ENAMETOOLONG; -ENXIO: no such host; or the errno of bind(2). */
STRATA_API int strata_monitor_listen(struct strata_monitor *monitor, const char *where);

/* Starts a session on two descriptors, which may be the same: a terminal, pipes, a connected socket.
 * The descriptors are duplicated, remain the caller's, and are not made non-blocking. -EBADF; -EMFILE;
 * -ENOMEM. */
STRATA_API int strata_monitor_add(struct strata_monitor *monitor, int in, int out);

/* Serves the sessions from a new thread, which blocks all signals. -EBUSY: already started; -EAGAIN: no
 * thread can be created. */
STRATA_API int strata_monitor_start(struct strata_monitor *monitor);

/* For a program with a main loop, instead of strata_monitor_start(): whenever the descriptor is
 * readable (level-triggered; the monitor owns it), call strata_monitor_dispatch(). It handles what is
 * pending without waiting for a peer, and returns the number of sessions. Only a write to standard
 * output that is a terminal or a file may block. */
STRATA_API int strata_monitor_get_fd(const struct strata_monitor *monitor);
STRATA_API int strata_monitor_dispatch(struct strata_monitor *monitor);

/* ---- A session without a transport ----
 *
 * For a program with its own transport: feed bytes to the session; it passes its output to WRITE,
 * within _new() (the greeting) and _feed(). WRITE must accept all bytes and must not call this library. */

struct strata_monitor_session;
typedef void (*strata_monitor_write_function)(const void *bytes, size_t n, void *userdata);

/* NAME and PROMPT as above, NULL for the defaults; not kept after the call. -EINVAL; -ENOMEM. */
STRATA_API int strata_monitor_session_new(enum strata_monitor_dialect dialect, const char *name,
                                          const char *prompt, strata_monitor_write_function write,
                                          void *userdata, struct strata_monitor_session **ret);
/* Returns 0; 1: the peer has ended the session by `quit`; -ENOMEM: the session has ended for lack of
 * memory. After the end of a session it ignores its input. */
STRATA_API int strata_monitor_session_feed(struct strata_monitor_session *session,
                                           const void *bytes, size_t n);
/* Does nothing with NULL. */
STRATA_API void strata_monitor_session_free(struct strata_monitor_session *session);

#ifdef __cplusplus
}
#endif

#endif
