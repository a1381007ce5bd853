/* SPDX-License-Identifier: MIT */
#include "record/qemu/command.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "record/qemu/probe.h"

/* What is longer than that is no script that starts a machine. */
#define SCRIPT_MAX ((size_t)1 << 20)

static const char *name_of(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

static bool is_among(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name_of(word), names[i]) == 0)
            return true;
    return false;
}

/* These run what their last words say, as it is said there. */
static bool runs_another(const char *word)
{
    static const char *const names[] = {
        "chrt",    "env",     "ionice",  "nice",   "nohup",  "numactl",
        "prlimit", "setarch", "setpriv", "setsid", "stdbuf", "systemd-inhibit",
        "taskset", "time",    "timeout",
    };

    return is_among(word, names, ARRAY_SIZE(names));
}

/* Programs that run another program as another user. */
static bool changes_user(const char *word)
{
    static const char *const names[] = {"doas", "pkexec", "runuser", "su", "sudo"};

    return is_among(word, names, ARRAY_SIZE(names));
}

/* *RET_PROGRAM stays as it is if WORD is no program. */
static int find_program(const char *word, const char *path, char **ret_program, struct error *error)
{
    _cleanup_free_ char *program = NULL;
    struct stat st;
    int r = qemu_find_program(word, path, &program, NULL);

    if (r == -ENOMEM)
        return error_set(error, r, NULL, "out of memory");
    if (r >= 0 && stat(program, &st) == 0 && S_ISREG(st.st_mode) && access(program, X_OK) == 0)
        *ret_program = TAKE_PTR(program);
    return 0;
}

/* ---- Scripts ---- */

/* Copies the path of the QEMU program that LINE names to BUF, unchanged. False: LINE names none. */
static bool find_in_line(const char *line, char *buf, size_t size)
{
    const char *name = strstr(line, "qemu-system-");
    const char *start = name, *end = name;

    if (line[strspn(line, " \t")] == '#' || !name)
        return false;
    while (*end && (isalnum((unsigned char)*end) || strchr("-_./", *end)))
        end++;
    while (start > line && !strchr(" \t\"'`;&|(){}=$", start[-1]))
        start--;
    /* A name that is put together when it runs: what it may be is for its author to say. */
    if (end == name + strlen("qemu-system-") || *end == '$' || (start > line && start[-1] == '}'))
        start = name, end = name + strlen("qemu-system");
    snprintf(buf, size, "%.*s", (int)(end - start), start);
    return true;
}

/* Whether the file is a script that names a QEMU. */
static bool find_in_script(const char *program, char *buf, size_t size)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = NULL;
    char *line, *rest;
    char head[2];
    size_t len = 0;
    bool found = false;

    if (fd < 0)
        return false;
    if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head, "#!", 2) == 0 &&
        input_read_file(fd, SCRIPT_MAX, program, &text, &len, NULL) >= 0) {
        text[len] = '\0';
        rest = text;
        while (!found && (line = strsep(&rest, "\n")))
            found = find_in_line(line, buf, size);
    }
    close(fd);
    return found;
}

static int refuse_script(const char *script, const char *qemu, struct error *error)
{
    bool known = strcmp(qemu, "qemu-system") != 0;

    return error_set(
        error, -EINVAL, script,
        "is a script that starts QEMU, which needs further options to be recorded; add --qemu=%s "
        "if the script passes its arguments to QEMU (\"$@\"), or write 'strata record -- %s …' "
        "in the script",
        known ? qemu : "PROGRAM", known ? qemu : "qemu-system-…");
}

static int refuse_user(const char *word, struct error *error)
{
    return error_set(error, -EINVAL, word,
                     "runs QEMU as another user, where the recorder cannot reach it; run strata as "
                     "that user: %s … strata record … -- qemu-system-…",
                     name_of(word));
}

/* ---- Commands ---- */

int qemu_command_find(const char *const *command, unsigned n, const char *path,
                      struct qemu_command *ret, struct error *error)
{
    const char *other_user = NULL;

    for (unsigned i = 0; i < n; i++) {
        _cleanup_free_ char *program = NULL;
        char qemu[256];
        int r;

        if (i > 0 && strncmp(command[i], "PATH=", 5) == 0)
            path = command[i] + 5; /* as env(1) has it */
        if (i > 0 && (command[i][0] == '-' || strchr(command[i], '=')))
            continue;
        r = find_program(command[i], path, &program, error);
        if (r < 0)
            return r;
        if (program && vmm_is_qemu(program)) {
            if (other_user)
                return refuse_user(other_user, error);
            *ret = (struct qemu_command){.program = TAKE_PTR(program), .n_before = i};
            return 1;
        }
        if (program && find_in_script(program, qemu, sizeof qemu))
            return other_user ? refuse_user(other_user, error)
                              : refuse_script(command[i], qemu, error);
        if (changes_user(command[i]))
            other_user = command[i];
        else if ((program || i == 0) && !runs_another(command[i]))
            return 0; /* another program; what is none is a value, as in "nice -n 5" */
    }
    return 0;
}
