/* SPDX-License-Identifier: MIT */
#pragma once

/* The sockets that the server listens on. */

#include "base/error.h"

#define LISTEN_MAX 2 /* 127.0.0.1 and [::1] */

struct listeners {
    int fds[LISTEN_MAX];
    unsigned n;
    unsigned port;
    char host[256];  /* as the user gave it, without brackets; "" : this machine only */
    char shown[320]; /* the begin of the printed address: "127.0.0.1:8080" */
    bool is_public;  /* other machines can connect */
    bool is_any;     /* all addresses of the machine */
};

/* Checks that WHERE names an address or a port. -EINVAL with ERROR. */
int listeners_check(const char *where, struct error *error);
/* WHERE: as server_options.listen has it. -errno with ERROR. */
int listeners_open(const char *where, struct listeners *ret, struct error *error);
void listeners_close(struct listeners *listeners);
