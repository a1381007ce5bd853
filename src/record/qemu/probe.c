/* SPDX-License-Identifier: MIT */
#include "record/qemu/probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock_ns.h"
#include "base/glob.h"
#include "base/process_root.h"
#include "control/client.h"
#include "control/qmp.h"
#include "record/qemu/arguments.h"

/* Even on a machine that is busy, or where the program comes from a disk that sleeps. */
#define TIMEOUT (UINT64_C(30) * 1000000000)
/* How often a signal is looked for while a QEMU prints its help. */
#define SIGNAL_INTERVAL_NS (NSEC_PER_SEC / 20)
#define PROGRAM_MAX ((off_t)1 << 30)
#define QUIT_TIMEOUT_NS (UINT64_C(5) * 1000000000)
/* Those of a QEMU that does not emulate. The first needs nothing of the host, but is not in every QEMU. */
#define OTHER_ACCELERATORS "qtest:kvm:xen:hvf"

/* ---- The program ---- */

static bool is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

int qemu_find_program(const char *command, const char *path, char **ret_program,
                      struct error *error)
{
    if (strchr(command, '/')) {
        char *full = realpath(command, NULL);

        if (!full)
            return error_set(error, -errno, command, "cannot be run: %s", strerror(errno));
        free(full);
        /* As it was called: a link's name may matter to it. */
        *ret_program = strdup(command);
        return *ret_program ? 0 : error_set(error, -ENOMEM, NULL, "out of memory");
    }
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
        size_t len = strcspn(path, ":");
        char *file;

        if (asprintf(&file, "%.*s/%s", len ? (int)len : 1, len ? path : ".", command) < 0)
            return error_set(error, -ENOMEM, NULL, "out of memory");
        if (is_executable(file)) {
            *ret_program = file;
            return 0;
        }
        free(file);
        path += len + (path[len] == ':');
    }
    return error_set(error, -ENOENT, command, "no such program in $PATH");
}

/* What QEMU's emulators say to -version, and nothing else does. */
static bool has_qemus_words(const char *program)
{
    /* Strata's own file must not have them. */
    char words[] = "QEMU emulator\tversion";
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool found = false;
    void *p;

    *strchr(words, '\t') = ' ';
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < PROGRAM_MAX) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED) {
            found = memcmp(p,
                           "\x7f"
                           "ELF",
                           MIN((size_t)st.st_size, 4u)) == 0 &&
                    memmem(p, (size_t)st.st_size, words, sizeof words - 1);
            munmap(p, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

bool vmm_is_qemu(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    /* The last two are scripts in some distributions. */
    return strncmp(name, "qemu-system-", 12) == 0 || strcmp(name, "qemu-kvm") == 0 ||
           strcmp(name, "kvm") == 0 || has_qemus_words(program);
}

/* ---- Asking it ---- */

struct probing {
    const char *program;
    pid_t root_of;
    struct child child;
    struct qmp *qmp;
    struct stop_signals *signals; /* NULL: none */
    int errors;                   /* a file without a name for its standard error */
    uint64_t until;
};

/* The first line of what it complained about, into BUF. */
static const char *complaint(const struct probing *probing, char *buf, size_t size)
{
    ssize_t n = pread(probing->errors, buf, size - 1, 0);

    buf[n > 0 ? n : 0] = '\0';
    buf[strcspn(buf, "\r\n")] = '\0';
    return buf;
}

/* Waits for FD, until UNTIL at the latest. -EINTR with ERROR: a signal is to end the recording. */
static int wait_for(const struct probing *probing, int fd, uint64_t until, struct error *error)
{
    struct stop_signals none = {.fd = -1};

    if (stop_signals_wait(probing->signals ? probing->signals : &none, fd, until))
        return error_set(error, -EINTR, NULL,
                         "ended by a signal while QEMU was asked what it can trace");
    return 0;
}

/* R: why QEMU has not answered. */
static int no_answer(struct probing *probing, int r, struct error *error)
{
    char said[256], end[64];

    if (r == -ENOMEM)
        return error_set(error, r, NULL, "out of memory");
    complaint(probing, said, sizeof said);
    if (!child_wait(&probing->child, 1000000000))
        return error_set(error, -ETIMEDOUT, probing->program, "does not answer as QEMU does%s%s",
                         said[0] ? ": " : "", said);
    child_end_text(&probing->child, end, sizeof end);
    return error_set(
        error, -ENOEXEC, probing->program, "was asked what it can trace, and %s %s%s%s",
        WIFSIGNALED(probing->child.status) ? "was" : "ended with", end, said[0] ? ": " : "", said);
}

static int receive(struct probing *probing, json_t **ret, struct error *error)
{
    for (;;) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        json_t *object;
        int r = qmp_receive(probing->qmp, &object, NULL);

        if (r < 0 || now >= probing->until)
            return no_answer(probing, r, error);
        if (r > 0 && !json_object_get(object, "event")) {
            *ret = object;
            return 0;
        }
        if (r > 0)
            json_decref(object);
        r = r > 0 ? 0
                  : wait_for(probing, qmp_fd(probing->qmp), MIN(probing->until, now + NSEC_PER_SEC),
                             error);
        if (r < 0)
            return r;
    }
}

/* *ret: what COMMAND returns; NULL: an error. KEY, its only argument, may be NULL. */
static int ask(struct probing *probing, const char *command, const char *key, const char *value,
               json_t **ret, struct error *error)
{
    json_t *arguments = key ? json_pack("{s:s}", key, value) : NULL;
    json_t *reply;
    int r = key && !arguments ? -ENOMEM : qmp_send(probing->qmp, command, arguments, NULL);

    if (r < 0)
        return no_answer(probing, r, error);
    r = receive(probing, &reply, error);
    if (r < 0)
        return r;
    *ret = json_incref(json_object_get(reply, "return"));
    json_decref(reply);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int take_events(const json_t *list, struct qemu_probe *probe)
{
    size_t n = json_array_size(list);

    probe->events = calloc(MAX(n, 1u), sizeof *probe->events);
    if (!probe->events)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *event = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *state = json_string_value(json_object_get(event, "state"));

        if (!name || !state || strcmp(state, "unavailable") == 0)
            continue;
        probe->events[probe->n_events] = strdup(name);
        if (!probe->events[probe->n_events])
            return -ENOMEM;
        probe->n_events++;
    }
    qsort(probe->events, probe->n_events, sizeof *probe->events, by_name);
    return 0;
}

static int ask_all(struct probing *probing, const char *runtime, struct qemu_probe *probe,
                   struct error *error)
{
    _cleanup_(json_decrefp) json_t *greeting = NULL, *mode = NULL, *help = NULL, *events = NULL;
    struct client *client;
    const char *text;
    int r = receive(probing, &greeting, error);

    if (r >= 0)
        r = ask(probing, "qmp_capabilities", NULL, NULL, &mode, error);
    if (r >= 0)
        r = ask(probing, "human-monitor-command", "command-line", "help trace-file", &help, error);
    if (r >= 0)
        r = ask(probing, "trace-event-get-state", "name", "*", &events, error);
    if (r < 0)
        return r;
    text = qmp_version(probing->qmp);
    snprintf(probe->version, sizeof probe->version, "%s",
             strncmp(text, "QEMU ", 5) == 0 ? text + 5 : text);
    if (take_events(events, probe) < 0)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    text = json_string_value(help);
    /* That command is there for nothing else. */
    if (text && strstr(text, "set file") == NULL && strncmp(text, "trace-file", 10) == 0) {
        probe->backend = VMM_BACKEND_SIMPLE;
        probe->has_simple = true;
    }
    if (client_open(runtime, probing->child.pid, &client, NULL) >= 0) {
        client_free(client);
        probe->backend = VMM_BACKEND_RING;
    }
    return 0;
}

static int start(struct probing *probing, const char *const *argv, int in, int out,
                 struct error *error)
{
    struct child_how how = {
        .argv = argv,
        .in = in,
        .out = out,
        .err = probing->errors,
        .end_signal = SIGKILL,
        .root_of = probing->root_of,
        /* What its user wants traced is of the QEMU that is recorded. */
        .variable = "STRATA_TRACE=",
    };

    return child_start(&how, &probing->child, error);
}

/* In order, so that a QEMU that links libstrata removes its socket. */
static void quit(struct probing *probing)
{
    json_t *result = NULL;

    (void)ask(probing, "quit", NULL, NULL, &result, NULL);
    json_decref(result);
    (void)child_wait(&probing->child, QUIT_TIMEOUT_NS);
}

/* By QMP on its standard input and output. */
static int query_machine(struct probing *probing, const char *accelerator, const char *runtime,
                         struct qemu_probe *probe, struct error *error)
{
    char machine[sizeof "none,accel=" + VMM_ACCELERATOR_SIZE];
    const char *argv[] = {
        probing->program, "-no-user-config", "-nodefaults", "-M", machine, "-S", "-display", "none",
        "-qmp",           "stdio",           NULL};
    int sockets[2];
    int r;

    snprintf(machine, sizeof machine, "none%s%s", *accelerator ? ",accel=" : "", accelerator);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return error_set(error, -errno, NULL, "cannot make a socket: %s", strerror(errno));
    r = start(probing, argv, sockets[1], sockets[1], error);
    close(sockets[1]);
    if (r < 0) {
        close(sockets[0]);
        return r;
    }
    r = qmp_adopt(sockets[0], probing->program, &probing->qmp, error);
    if (r >= 0)
        r = ask_all(probing, runtime, probe, error);
    if (r >= 0)
        quit(probing);
    child_done(&probing->child);
    qmp_free(probing->qmp);
    probing->qmp = NULL;
    return r;
}

/* Whether its events can go into its log: only then does the help of -d speak of them. */
static int logs_events(struct probing *probing, bool *ret, struct error *error)
{
    const char *argv[] = {probing->program, "-d", "help", NULL};
    int out = memfd_create("help", MFD_CLOEXEC);
    char text[8192];
    uint64_t until;
    ssize_t n;
    int r;

    if (out < 0)
        return error_set(error, -errno, NULL, "cannot make a file in memory: %s", strerror(errno));
    r = start(probing, argv, -1, out, error);
    if (r < 0) {
        close(out);
        return r;
    }
    until = clock_ns(CLOCK_MONOTONIC) + TIMEOUT;
    while (r >= 0 && !child_wait(&probing->child, SIGNAL_INTERVAL_NS) &&
           clock_ns(CLOCK_MONOTONIC) < until)
        r = wait_for(probing, -1, 0, error);
    child_done(&probing->child);
    if (r < 0) {
        close(out);
        return r;
    }
    n = pread(out, text, sizeof text - 1, 0);
    r = n < 0 ? error_set(error, -errno, probing->program, "its help cannot be read: %s",
                          strerror(errno))
              : 0;
    close(out);
    text[n > 0 ? n : 0] = '\0';
    *ret = strstr(text, "trace:PATTERN") != NULL;
    return r;
}

/* ---- Declarations ---- */

/* All of the file PATH, with a NUL behind it; NULL: it cannot be read. 0, -ENOMEM. */
static int read_text(const char *path, char **ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    ssize_t n = -1;
    int r = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && st.st_size < PROGRAM_MAX) {
        text = malloc((size_t)st.st_size + 1);
        r = text ? 0 : -ENOMEM;
    }
    if (text)
        n = pread(fd, text, (size_t)st.st_size, 0);
    close(fd);
    if (n < 0) {
        free(text);
        return r;
    }
    text[n] = '\0';
    *ret = text;
    return 0;
}

/* Marks the events of the N_EVENTS sorted EVENTS that no line of TEXT ("[disable] NAME(ARGUMENTS) FORMAT") declares.
 * Returns their number. */
static unsigned mark_undeclared(char *const *events, unsigned n_events, char *text,
                                bool *undeclared)
{
    unsigned n = n_events;
    char *line, *next = text;

    if (n_events == 0)
        return 0;
    memset(undeclared, true, n_events * sizeof *undeclared);
    while ((line = strsep(&next, "\n"))) {
        char *end = line + strcspn(line, "(");
        char *name, **found;

        if (*end == '\0' || *line == '#')
            continue;
        *end = '\0';
        name = strrchr(line, ' ');
        name = name ? name + 1 : line;
        found = bsearch(&name, events, n_events, sizeof *events, by_name);
        if (found && undeclared[found - events]) {
            undeclared[found - events] = false;
            n--;
        }
    }
    return n;
}

/* Tries the declarations in the file PATH, which may be PROBE's or, if there are none yet, of another QEMU. */
static int try_declarations(struct qemu_probe *probe, const char *path)
{
    _cleanup_free_ char *text = NULL;
    int r = read_text(path, &text);
    bool *undeclared;
    unsigned n;

    if (r < 0 || !text)
        return r;
    undeclared = calloc(MAX(probe->n_events, 1u), sizeof *undeclared);
    if (!undeclared)
        return -ENOMEM;
    n = mark_undeclared(probe->events, probe->n_events, text, undeclared);
    if (n > 0 && probe->declarations) {
        free(undeclared);
        return 0;
    }
    free(probe->declarations);
    free(probe->undeclared);
    probe->undeclared = n > 0 ? undeclared : NULL;
    if (n == 0)
        free(undeclared);
    probe->declarations = strdup(path);
    return probe->declarations ? 0 : -ENOMEM;
}

/* Where a QEMU that is installed, or lies where it was built, has them. The first file that has all events of PROBE, or else
 * the first one. */
static int find_declarations(const char *program, pid_t root_of, struct qemu_probe *probe)
{
    static const char *const places[] = {
        "%s/../share/qemu/trace-events-all",      "%s/trace/trace-events-all",
        "%s/../trace/trace-events-all",           "/usr/share/qemu/trace-events-all",
        "/usr/local/share/qemu/trace-events-all",
    };
    _cleanup_free_ char *full = root_of > 0 ? strdup(program) : realpath(program, NULL);
    char *slash = full ? strrchr(full, '/') : NULL;
    const char *dir = slash ? full : ".";
    int r = 0;

    if (slash)
        *slash = '\0';
    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(places); i++) {
        _cleanup_free_ char *path = NULL;

        if (probe->declarations && !probe->undeclared)
            break;
        if (places[i][0] == '%' ? asprintf(&path, "%s%s", dir, places[i] + 2) < 0
                                : asprintf(&path, "%s", places[i]) < 0)
            return -ENOMEM;
        if (root_of > 0) {
            char *there = process_root_path(root_of, path);

            free(path);
            path = there;
            if (!path)
                return -ENOMEM;
        }
        r = try_declarations(probe, path);
    }
    return r;
}

int qemu_probe(const char *program, pid_t root_of, const char *accelerator, const char *runtime,
               struct stop_signals *signals, struct qemu_probe *ret, struct error *error)
{
    struct probing probing = {
        .program = program, .root_of = root_of, .signals = signals, .child = {.end = -1}};
    struct qemu_probe probe = {0};
    int r;

    probing.until = clock_ns(CLOCK_MONOTONIC) + TIMEOUT;
    probing.errors = memfd_create("errors", MFD_CLOEXEC);
    if (probing.errors < 0)
        return error_set(error, -errno, NULL, "cannot make a file in memory: %s", strerror(errno));
    r = query_machine(&probing, accelerator, runtime, &probe, error);
    /* One that cannot emulate, started by a command that does not show how. */
    if (r == -ENOEXEC && !*accelerator && ftruncate(probing.errors, 0) == 0 &&
        query_machine(&probing, OTHER_ACCELERATORS, runtime, &probe, NULL) >= 0) {
        error_clear(error);
        r = 0;
    }
    if (r >= 0)
        r = logs_events(&probing, &probe.logs, error);
    if (probe.logs && probe.backend == VMM_BACKEND_NONE)
        probe.backend = VMM_BACKEND_LOG;
    if (r >= 0)
        r = find_declarations(program, root_of, &probe);
    close(probing.errors);
    if (r < 0) {
        qemu_probe_done(&probe);
        return error_set(error, r, NULL, "out of memory");
    }
    *ret = probe;
    return 0;
}

void qemu_probe_done(struct qemu_probe *probe)
{
    for (unsigned i = 0; i < probe->n_events; i++)
        free(probe->events[i]);
    free(probe->events);
    free(probe->declarations);
    free(probe->undeclared);
    *probe = (struct qemu_probe){0};
}

unsigned qemu_probe_count(const struct qemu_probe *probe, const char *pattern)
{
    unsigned n = 0;

    for (unsigned i = 0; i < probe->n_events; i++)
        n += glob_match(pattern, probe->events[i]);
    return n;
}

const char *qemu_probe_undeclared(const struct qemu_probe *probe, const char *pattern)
{
    for (unsigned i = 0; probe->undeclared && i < probe->n_events; i++)
        if (probe->undeclared[i] && glob_match(pattern, probe->events[i]))
            return probe->events[i];
    return NULL;
}
