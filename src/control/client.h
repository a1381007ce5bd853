/* SPDX-License-Identifier: MIT */
#pragma once

/* Talks to traced programs by their control sockets (docs/man/strata-control.7). Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct client;

/* RUNTIME is $XDG_RUNTIME_DIR or NULL. Connects to the process, and sees that it answers. -ESRCH: there is none; -EPERM: it is another
 * user's; -ENOENT: it is not traced, or has no socket; -ETIMEDOUT; else what connecting says. */
int client_open(const char *runtime, pid_t pid, struct client **ret, struct error *error);
void client_free(struct client *client);
static inline void client_freep(struct client **client)
{
    client_free(*client);
}

/* Asks. *ret is the answer, of lines, ended by a NUL, allocated: also of -EREMOTE, which is that the
 * program says no, and why. Other errors are of the connection, which is of no more use then. */
int client_ask(struct client *client, const char *request, char **ret, struct error *error);

/* What a program says of itself. */
struct client_sink {
    char *name, *state, *path;
    uint64_t lost;
};
struct client_program {
    pid_t pid;
    char *name; /* NULL: it does not answer */
    char *version;
    char *mode;
    uint64_t since; /* ns since 1970 */
    uint64_t events_on, events;
    uint64_t rings, ring_bytes;
    uint64_t dropped, unwritten;
    struct client_sink *sinks;
    size_t n_sinks;
};
int client_hello(struct client *client, struct client_program *ret, struct error *error);
void client_program_done(struct client_program *program);

/* All traced programs of this user, by pid. Sockets of dead ones are removed. -ENOMEM, or what reading
 * the directories says. */
int client_list(const char *runtime, struct client_program **ret, size_t *ret_n,
                struct error *error);
void client_list_free(struct client_program *programs, size_t n);

/* ---- Answers, line by line ---- */

/* Cuts the next line off *REST: NULL when there is none. */
char *client_line(char **rest);
/* Cuts the next word off *REST: "" when there is none. */
char *client_word(char **rest);
/* A word as a number; what is none is 0. */
uint64_t client_number(const char *word);
