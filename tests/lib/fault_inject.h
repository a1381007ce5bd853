/* SPDX-License-Identifier: MIT */
#pragma once

/* What fault_inject.c and the tests that use it share. tests/lib/faults.py has the same layout. */

#include <stdatomic.h>
#include <stdint.h>

enum fault_kind {
    FAULT_ALLOC = 1, /* malloc() and its like */
    FAULT_MAP = 2,   /* mmap() */
    FAULT_WRITE = 4, /* write() and its like, ftruncate(), fsync(); never to standard error */
    FAULT_MAKE = 8,  /* what makes a file, a directory or a name */
    FAULT_OPEN = 16, /* what opens a file that is there */
    FAULT_READ = 32,
    FAULT_THREAD = 64, /* pthread_create() */
};

#define FAULT_FRAMES 24
#define FAULT_SITE_FRAMES 6
#define FAULT_POINTS_MAX 16384
#define FAULT_STACK_MAX 4096

struct fault_point {
    atomic_ulong hash;   /* of the stack, 0: free */
    uint64_t site;       /* of its innermost part in the program itself, never 0 */
    uint64_t first;      /* the first call with it */
    uint64_t kind;       /* FAULT_... */
    uint64_t in_library; /* of the tested code, a library made the call */
};

struct fault_state {
    /* What is to fail. */
    uint32_t armed;
    uint32_t kinds;        /* FAULT_...: these calls fail */
    uint32_t error;        /* errno of a call that fails */
    uint32_t short_count;  /* it does not fail, but transfers half of the bytes only */
    uint32_t from_then_on; /* all calls after that one fail as well */
    uint32_t note_points;  /* fills `points` */
    uint32_t kills;        /* nothing fails, but SIGKILL ends the program after that call */
    uint32_t reserved;
    uint64_t at;   /* which call fails, of all kinds, from 1; 0: none */
    uint64_t site; /* instead: calls of this site, and with from_then_on libraries' others, fail */
    /* What came of it. */
    atomic_ulong calls;
    atomic_ulong fired;
    char stack[FAULT_STACK_MAX]; /* where the first call came from that failed */
    struct fault_point points[FAULT_POINTS_MAX];
};

/* For a program that links the library. */
struct fault_state *fault_state(void);
/* How many blocks have been allocated and not freed. */
long fault_live_blocks(void);
