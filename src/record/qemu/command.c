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

/* A longer file is not a script that starts a machine. */
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

/* Whether OPTION, of PROGRAM, has it do that. */
static bool option_changes_user(const char *program, const char *option)
{
    static const struct {
        const char *program, *option;
    } options[] = {
        {"setpriv", "--reuid"},   {"setpriv", "--euid"},    {"setpriv", "--ruid"},
        {"chroot", "--userspec"}, {"systemd-run", "--uid"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(name_of(program), options[i].program) == 0 &&
            strncmp(option, options[i].option, strlen(options[i].option)) == 0)
            return true;
    return false;
}

/* Programs that have another process run a program, or run it where this machine's files are not. */
static bool runs_elsewhere(const char *word)
{
    static const char *const names[] = {
        "bwrap",      "chroot",      "crictl",     "docker",         "firejail",    "kubectl",
        "lxc-attach", "lxc-execute", "machinectl", "nerdctl",        "nsenter",     "podman",
        "proot",      "runc",        "ssh",        "systemd-nspawn", "systemd-run",
    };

    return is_among(word, names, ARRAY_SIZE(names));
}

/* *RET_PROGRAM is unchanged if WORD is not a program. */
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

static int refuse_elsewhere(const char *word, struct error *error)
{
    return error_set(error, -EINVAL, word,
                     "starts QEMU out of the recorder's reach; start it without strata, "
                     "with -qmp unix:PATH,server=on,wait=off, and run: strata record --attach PID");
}

static int refuse_unknown(const char *word, const char *qemu, struct error *error)
{
    return error_set(error, -EINVAL, word,
                     "may start %s, which needs further options to be recorded; add --qemu=%s if "
                     "it passes its last arguments on to QEMU",
                     name_of(qemu), qemu);
}

/* ---- Behind a program that is not known ---- */

/* Whether WORD is the name of a QEMU, which may be a file of another machine's. */
static bool names_qemu(const char *word)
{
    const char *name = name_of(word);

    if (strncmp(name, "qemu-system-", 12) != 0)
        return strcmp(name, "qemu-kvm") == 0;
    name += 12;
    return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* An option whose operand is a command for a shell: -c, -lc. */
static bool is_shell_command(const char *option)
{
    return option[0] == '-' && option[1] != '-' && option[1] && option[strlen(option) - 1] == 'c';
}

/* The QEMU that PROGRAM, WORDS[0], may start, as its other N - 1 words say. False: they name none. *RET_USER: as another
 * user. */
static bool find_in_operands(const char *const *words, unsigned n, char *buf, size_t size,
                             bool *ret_user)
{
    *ret_user = changes_user(words[0]);
    for (unsigned i = 1; i < n; i++) {
        *ret_user |= option_changes_user(words[0], words[i]);
        if (is_shell_command(words[i - 1]) && find_in_line(words[i], buf, size))
            return true;
        if (!names_qemu(words[i]))
            continue;
        snprintf(buf, size, "%s", words[i]);
        return true;
    }
    return false;
}

/* OTHER_USER: the program before them that runs them as another user; NULL: none does. */
static int refuse_operands(const char *const *words, unsigned n, const char *other_user,
                           struct error *error)
{
    char qemu[256];
    bool user;

    if (!find_in_operands(words, n, qemu, sizeof qemu, &user))
        return 0;
    return other_user                 ? refuse_user(other_user, error)
           : user                     ? refuse_user(words[0], error)
           : runs_elsewhere(words[0]) ? refuse_elsewhere(words[0], error)
                                      : refuse_unknown(words[0], qemu, error);
}

bool qemu_command_is_tool(const char *program)
{
    static const char *const names[] = {"qemu-img", "qemu-io", "qemu-nbd", "qemu-storage-daemon"};

    return is_among(program, names, ARRAY_SIZE(names));
}

/* ---- Commands ---- */

int qemu_command_find(const char *const *command, unsigned n, const char *path,
                      struct qemu_command *ret, struct error *error)
{
    const char *other_user = NULL;
    unsigned last = 0; /* the last program */

    for (unsigned i = 0; i < n; i++) {
        _cleanup_free_ char *program = NULL;
        char qemu[256];
        int r;

        if (i > 0 && strncmp(command[i], "PATH=", 5) == 0)
            path = command[i] + 5; /* as env(1) has it */
        if (i > 0 && option_changes_user(command[last], command[i]))
            other_user = command[last];
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
        if (program || i == 0)
            last = i;
        if (changes_user(command[i]))
            other_user = command[i];
        else if ((program || i == 0) && !runs_another(command[i]))
            break; /* another program; what is none is a value, as in "nice -n 5" */
    }
    return refuse_operands(command + last, n - last, other_user, error);
}
