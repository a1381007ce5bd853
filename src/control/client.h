/* SPDX-License-Identifier: MIT */
#pragma once

/* Talks to traced programs by their control sockets (docs/man/strata-control.7). Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct client;

/* Connects to the process PID, and checks that it answers. RUNTIME is $XDG_RUNTIME_DIR or NULL. -ESRCH: no such
 * process; -EPERM: another user's process; -ENOENT: it is not traced, or has no socket; -ETIMEDOUT; or an errno of
 * connecting. */
int client_open(const char *runtime, pid_t pid, struct client **ret, struct error *error);
void client_free(struct client *client);
static inline void client_freep(struct client **client)
{
    client_free(*client);
}

/* Sends REQUEST. *RET is the answer, lines ended by a NUL, which the caller frees, also with -EREMOTE: the program
 * refuses, and the answer says why. Other errors are errors of the connection, which cannot be used any more. */
int client_ask(struct client *client, const char *request, char **ret, struct error *error);

/* A program's description of itself. */
struct client_sink {
    char *name, *state, *path;
    uint64_t lost;
};
struct client_program {
    pid_t pid;
    char *name; /* NULL: the program does not answer */
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

/* Lists all traced programs of this user by PID, and removes sockets of dead programs. -ENOMEM, or an errno of reading
 * the directories. */
int client_list(const char *runtime, struct client_program **ret, size_t *ret_n,
                struct error *error);
void client_list_free(struct client_program *programs, size_t n);

/* ---- Answers, line by line ---- */

/* Cuts the next line off *REST; NULL: none. */
char *client_line(char **rest);
/* Cuts the next word off *REST; "": none. */
char *client_word(char **rest);
/* Converts a word to a number; 0 if it is not a number. */
uint64_t client_number(const char *word);
