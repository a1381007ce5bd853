/* SPDX-License-Identifier: MIT */
/* The directory of a session of LTTng, which has several traces:
 *
 *   DIR/kernel, DIR/ust/uid/UID/BITS-bit, DIR/ust/pid/NAME   a trace in CTF each: the domains
 *   DIR/archives/CHUNK/…                                      the same, of an earlier time: chunks, CHUNK ends in -NUMBER;
 *                                                             DIR/archives may be given alone
 *   DIR/NAME-YYYYMMDD-hhmmss-NUMBER/…                         the same: snapshots, which overlap
 *
 * Directories with the same path below chunks or snapshots are one trace, which continues from one directory to the
 * next.
 *
 * Source: lttng(1), lttng-snapshot(1), lttng-rotate(1), and what LTTng 2.13 wrote. */

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/ctf/ctf.h"
#include "trace/open.h"

/* "ust/uid/UID/BITS-bit" below a chunk. */
#define DEPTH_MAX 5u
#define ROOTS_MAX 65536u
#define DOMAINS_MAX 4096u

/* A directory that contains domains, and its place in the order in which directories were made. */
struct root {
    char *path;
    uint64_t order;
};

struct domain {
    char *name; /* its path below a root */
    const char **dirs;
    unsigned n_dirs;
};

struct session {
    struct arena *arena; /* for the paths of domains */
    struct root *roots;
    unsigned n_roots;
    struct domain *domains;
    unsigned n_domains;
    bool is_one; /* it has a directory that only sessions have */
};

static void session_done(struct session *session)
{
    for (unsigned i = 0; i < session->n_roots; i++)
        free(session->roots[i].path);
    for (unsigned i = 0; i < session->n_domains; i++) {
        free(session->domains[i].name);
        free(session->domains[i].dirs);
    }
    free(session->roots);
    free(session->domains);
}

/* Reads the digits after the last '-' in the LEN bytes at NAME, and subtracts both from *LEN. */
static bool cut_number(const char *name, size_t *len, unsigned digits, uint64_t *ret)
{
    size_t n = *len;
    uint64_t value = 0;

    while (n > 0 && isdigit((unsigned char)name[n - 1]))
        n--;
    if (n == *len || n == 0 || name[n - 1] != '-' || (digits && *len - n != digits) ||
        *len - n > 18)
        return false;
    for (size_t i = n; i < *len; i++)
        value = value * 10 + (uint64_t)(name[i] - '0');
    *len = n - 1;
    *ret = value;
    return true;
}

/* Recognises "BEGIN-END-NUMBER", with two times as in "20261129T235959+0000". An unfinished chunk has no END. */
static bool is_chunk(const char *name, uint64_t *ret_number)
{
    size_t len = strlen(name);

    if (!cut_number(name, &len, 0, ret_number) || len < 16 || name[8] != 'T')
        return false;
    for (size_t i = 0; i < 15; i++)
        if (i != 8 && !isdigit((unsigned char)name[i]))
            return false;
    return name[15] == '+' || name[15] == '-';
}

/* Recognises "NAME-YYYYMMDD-hhmmss-NUMBER". The name of a session itself has no number. */
static bool is_snapshot(const char *name, uint64_t *ret_number)
{
    size_t len = strlen(name);
    uint64_t time, date;

    return cut_number(name, &len, 0, ret_number) && cut_number(name, &len, 6, &time) &&
           cut_number(name, &len, 8, &date) && len > 0;
}

static int add_root(struct session *session, const char *dir, const char *name, uint64_t order)
{
    struct root *bigger = realloc(session->roots, (session->n_roots + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    session->roots = bigger;
    if (asprintf(&bigger[session->n_roots].path, "%s%s%s", dir, name ? "/" : "", name ? name : "") <
        0)
        return -ENOMEM;
    bigger[session->n_roots++].order = order;
    return session->n_roots > ROOTS_MAX ? -EFBIG : 0;
}

static int compare_roots(const void *a, const void *b)
{
    const struct root *x = a;
    const struct root *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static bool is_dir(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The directory that the user gives may be a link. */
static bool is_given_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Calls FOUND for each directory in DIR except hidden ones, in the order of their names. */
static int foreach_dir(struct session *session, const char *dir, void *arg,
                       int (*found)(struct session *session, const char *dir, const char *name,
                                    void *arg))
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, NULL, by_name);
    int r = 0;

    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        _cleanup_free_ char *path = NULL;

        if (r >= 0 && asprintf(&path, "%s/%s", dir, name) < 0) {
            path = NULL;
            r = -ENOMEM;
        }
        if (r >= 0 && name[0] != '.' && is_dir(path))
            r = found(session, dir, name, arg);
        free(entries[i]);
    }
    free(entries);
    return r;
}

static int add_chunk(struct session *session, const char *dir, const char *name, void *arg)
{
    size_t len = strlen(name);
    uint64_t number;

    (void)arg;
    return cut_number(name, &len, 0, &number) ? add_root(session, dir, name, number) : 0;
}

/* Examines a directory in the session's directory. */
static int look_at_child(struct session *session, const char *dir, const char *name, void *arg)
{
    static const char *const known[] = {"kernel", "ust", "uid", "pid"};
    _cleanup_free_ char *path = NULL;
    uint64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        session->is_one |= strcmp(name, known[i]) == 0;
    if (is_snapshot(name, &number) || is_chunk(name, &number)) {
        session->is_one = true;
        return add_root(session, dir, name, number);
    }
    if (strcmp(name, "archives") != 0)
        return 0;
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    session->is_one = true;
    return foreach_dir(session, path, arg, add_chunk);
}

static int add_domain(struct session *session, const char *name, const char *path)
{
    struct domain *domain = NULL;
    const char **bigger;

    for (unsigned i = 0; i < session->n_domains && !domain; i++)
        if (strcmp(session->domains[i].name, name) == 0)
            domain = &session->domains[i];
    if (!domain) {
        struct domain *domains =
            realloc(session->domains, (session->n_domains + 1) * sizeof *domains);

        if (!domains)
            return -ENOMEM;
        session->domains = domains;
        domain = &domains[session->n_domains];
        *domain = (struct domain){.name = strdup(name)};
        if (!domain->name)
            return -ENOMEM;
        if (++session->n_domains > DOMAINS_MAX)
            return -EFBIG;
    }
    bigger = realloc(domain->dirs, (domain->n_dirs + 1) * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    domain->dirs = bigger;
    bigger[domain->n_dirs] = arena_strdup(session->arena, path);
    return bigger[domain->n_dirs++] ? 0 : -ENOMEM;
}

/* Where the search below a root is; `name` is the path of the current directory. */
struct below {
    const char *name;
    unsigned depth;
};

static int look_below(struct session *session, const char *dir, const char *name, void *arg)
{
    const struct below *above = arg;
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *relative = NULL;
    struct below below = {.depth = above->depth + 1};
    uint64_t number;

    /* These are roots of their own. */
    if (above->depth == 0 &&
        (strcmp(name, "archives") == 0 || is_snapshot(name, &number) || is_chunk(name, &number)))
        return 0;
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    if (asprintf(&relative, "%s%s%s", above->name, *above->name ? "/" : "", name) < 0) {
        relative = NULL;
        return -ENOMEM;
    }
    if (ctf_probe_dir(path))
        return add_domain(session, relative, path);
    below.name = relative;
    return below.depth < DEPTH_MAX ? foreach_dir(session, path, &below, look_below) : 0;
}

/* Makes an entry of each domain. Its directories are in the order of the roots. */
static int add_openings(const struct session *session, const char *given, struct open_ctx **ctxs,
                        unsigned *n)
{
    for (unsigned i = 0; i < session->n_domains; i++) {
        const struct domain *domain = &session->domains[i];
        const char **dirs =
            arena_memdup(session->arena, domain->dirs, domain->n_dirs * sizeof *dirs);
        struct open_ctx ctx = {.given = given, .dirs = dirs, .n_dirs = domain->n_dirs};

        if (!dirs)
            return -ENOMEM;
        ctx.path = dirs[domain->n_dirs - 1];
        if (open_ctxs_append(ctxs, n, &ctx) < 0)
            return -ENOMEM;
    }
    return (int)session->n_domains;
}

int session_expand(struct trace *trace, const struct trace_options *options, const char *given,
                   struct open_ctx **ctxs, unsigned *n, struct error *error)
{
    struct session session = {.arena = &trace->catalogue.arena};
    struct below below = {.name = ""};
    int r = 0;

    if (options->fd || strcmp(given, "-") == 0 || given[0] == '\0' || !is_given_dir(given) ||
        ctf_probe_dir(given))
        return 0;
    r = foreach_dir(&session, given, NULL, look_at_child);
    if (r >= 0 && session.n_roots)
        qsort(session.roots, session.n_roots, sizeof *session.roots, compare_roots);
    /* What was not rotated away is the newest. */
    if (r >= 0 && session.is_one)
        r = add_root(&session, given, NULL, UINT64_MAX);
    for (unsigned i = 0; r >= 0 && session.is_one && i < session.n_roots; i++)
        r = foreach_dir(&session, session.roots[i].path, &below, look_below);
    if (r >= 0)
        r = add_openings(&session, given, ctxs, n);
    session_done(&session);
    return r < 0 ? error_set(error, r, given, "cannot read the session: %s", error_text(r)) : r;
}
