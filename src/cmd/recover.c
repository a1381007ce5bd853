/* SPDX-License-Identifier: MIT */
/* strata recover: writes what killed programs that were traced had not written yet. */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/date.h"
#include "base/proc.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/ring_drain.h"
#include "event/program.h"
#include "record/directory.h"
#include "record/rings/recover.h"
#include "record/rings/rings_dir.h"

struct recover_options {
    const char *output;
    bool list, all, keep, discard, strict;
};

static const struct cli_option recover_option_table[] = {
    {OPTION_FLAG, 'l', "list", NULL, "list processes and recover nothing",
     offsetof(struct recover_options, list)},
    {OPTION_FLAG, 0, "all", NULL, "recover all processes that --list shows",
     offsetof(struct recover_options, all),
     .page = "With operands, recover all dead processes that they select."},
    {OPTION_STRING, 'o', "output", "DIR", "write new traces to DIR instead",
     offsetof(struct recover_options, output),
     .page =
         "DIR must be empty or not exist. With --all, or if the operands select several processes, "
         "each process gets a directory 'DIR/PROGRAM-PID'. The rings of another user require this "
         "option, because that user's process chose the location of its trace."},
    {OPTION_FLAG, 0, "keep-rings", NULL, "do not remove the rings",
     offsetof(struct recover_options, keep),
     .page =
         "Rings that are damaged, or that hold events without a description, are never removed."},
    {OPTION_FLAG, 0, "discard", NULL, "remove the rings and save nothing",
     offsetof(struct recover_options, discard), .page = "This requires --all or an operand.",
     .excludes = "--output and --keep-rings"},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost",
     offsetof(struct recover_options, strict),
     .page = "These are events that were lost while the program ran."},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_RENAMED, 'a', "-a", "--all"},
    {OPTION_RENAMED, 'k', "-k", "--keep-rings"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Options", recover_option_table, 0},
    {NULL},
};

const struct command recover_command = {
    .name = "recover",
    .summary = "save the events that a killed program had not written",
    .operands = "[PID|DIR]...",
    .about = "Moves the events in the rings of a killed program into the CTF trace that it was\n"
             "writing, or into strata-PID in the working directory if it wrote none. Then\n"
             "removes the rings.\n\n"
             "PID or DIR selects a program; without one, this user's programs are listed.",
    .groups = groups,
    .examples = "  strata recover\n"
                "  strata recover 20144\n"
                "  strata recover --all -o saved\n"
                "  strata recover -o saved /dev/shm/strata-1000/20144-2641094",
};

/* The requested directories of processes. */
struct found {
    char **paths;
    unsigned n;
    uint32_t pid;       /* only its processes; 0: all */
    bool only_dead;     /* running processes are skipped */
    bool named;         /* the user named each */
    unsigned n_skipped; /* … number of skipped ones */
};

static void found_done(struct found *found)
{
    for (unsigned i = 0; i < found->n; i++)
        free(found->paths[i]);
    free(found->paths);
    *found = (struct found){0};
}

static int found_add(const char *path, void *userdata)
{
    struct found *found = userdata;
    struct process *process;
    char **paths;
    bool wanted = true;

    if (found->pid || found->only_dead) {
        if (process_open(path, false, &process, NULL) >= 0) {
            wanted = !found->pid || process->pid == found->pid;
            if (wanted && found->only_dead && process_is_alive(process, NULL) != 0) {
                wanted = false;
                found->n_skipped++;
            }
            process_free(process);
        } else if (found->pid) {
            wanted = false;
        }
    }
    if (!wanted)
        return 0;
    paths = realloc(found->paths, (found->n + 1) * sizeof(char *));
    if (!paths)
        return -ENOMEM;
    found->paths = paths;
    paths[found->n] = strdup(path);
    return paths[found->n++] ? 0 : -ENOMEM;
}

/* Finds processes by a PID, the directory of a process, or a directory with such directories. */
static int find(const char *operand, struct found *found)
{
    uint32_t pid = (uint32_t)proc_number(operand);
    _cleanup_free_ char *inside = NULL;
    unsigned before = found->n;
    struct stat st;
    int r;

    if (pid) {
        found->pid = pid;
        r = process_foreach(NULL, found_add, found);
        found->pid = 0;
        if (r >= 0 && found->n == before) {
            cli_error("process %" PRIu32 " has left nothing in " RINGS_PARENT "%u", pid,
                      (unsigned)geteuid());
            return -ENOENT;
        }
        return r;
    }
    if (asprintf(&inside, "%s/" PROCESS_FILE_NAME, operand) < 0)
        return -ENOMEM;
    if (process_is_slot(operand) || access(inside, F_OK) == 0)
        return found_add(operand, found);
    if (stat(operand, &st) < 0 || !S_ISDIR(st.st_mode)) {
        cli_error("%s: %s", operand,
                  stat(operand, &st) < 0 ? strerror(errno)
                                         : "not a ring directory of a traced process");
        return -ENOENT;
    }
    return process_foreach(operand, found_add, found);
}

/* Prints a line of the list. MAY_VANISH: the process or its recorder may have removed its rings since they were
 * found. */
static int show(const char *path, bool may_vanish, struct text *out)
{
    struct process *process;
    struct drain_stats taken = {0};
    struct error error = {0};
    char since[32];
    int r = process_open(path, false, &process, &error);

    if (r >= 0) {
        r = ring_drain_count(process, &taken, &error);
        if (r < 0)
            process_free(process);
    }
    if (r < 0 && !(r == -ENOENT && may_vanish))
        cli_print_error(&error);
    if (r < 0)
        return r == -ENOENT && may_vanish ? 0 : r;
    text_printf_safe(out, "%10" PRIu32 "  %-16s  ", process->pid, process->program);
    text_put_str(out, date_text(since, sizeof(since), process->clock_pair.realtime));
    text_printf(out, "  %10" PRIu64 "  ", taken.events);
    text_put_safe(out, process->path, strlen(process->path));
    text_put_char(out, '\n');
    process_free(process);
    return 0;
}

static int list(const struct found *found)
{
    struct text out;
    bool has_slots = false;
    int status = EXIT_SUCCESS;

    if (output_open(&out, OUTPUT_TEXT, (size_t)4 * 1024) < 0)
        return cli_no_memory();
    text_printf(&out, "%10s  %-16s  %-19s  %10s  %s\n", "PID", "PROGRAM", "SINCE", "UNWRITTEN",
                "DIR");
    for (unsigned i = 0; i < found->n; i++) {
        has_slots |= process_is_slot(found->paths[i]);
        if (show(found->paths[i], !found->named, &out) < 0)
            status = EXIT_FAILURE;
    }
    if (text_flush(&out) < 0)
        status = cli_output_error(out.error);
    text_done(&out);
    if (has_slots)
        cli_message(
            "…/pool/slot-N is a part of the file …/pool/rings, not a directory: a process that "
            "changed its user has its rings there; 'strata recover --all -o DIR' saves all");
    return status;
}

static void report(const struct process *process, const struct recovered *recovered)
{
    const char *into = "";

    if (recovered->path)
        into = recovered->completed ? " into its trace " : " into the new trace ";
    output_line(stdout, "%s (process %" PRIu32 "): %" PRIu64 " events recovered%s%s",
                process->program, process->pid, recovered->taken.events, into,
                recovered->path ? recovered->path : "");
}

static int discard_one(const char *path)
{
    struct error error = {0};
    struct process *process;
    uint64_t events;
    int r = process_open(path, true, &process, &error);

    if (r >= 0) {
        r = recover_discard(process, &events, &error);
        if (r >= 0)
            r = process_remove(process, &error);
        if (r >= 0)
            printf("%s (process %" PRIu32 "): %" PRIu64 " events discarded\n", process->program,
                   process->pid, events);
        process_free(process);
    }
    if (r < 0)
        cli_print_error(&error);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* OUTPUT is a directory for the trace; NULL: where the process wrote its trace. */
static int recover_one(const struct recover_options *options, const char *path, const char *output)
{
    struct recovered recovered = {0};
    struct error error = {0};
    struct process *process;
    char fallback[64];
    int r = process_open(path, true, &process, &error);
    int status = EXIT_SUCCESS;

    if (r >= 0) {
        snprintf(fallback, sizeof(fallback), "strata-%" PRIu32, process->pid);
        r = recover(process, output, fallback, &recovered, &error);
        if (r >= 0) {
            report(process, &recovered);
            drain_stats_report_dropped(&recovered.taken, " while it ran", "");
            drain_stats_report_unwritten(&recovered.taken);
            drain_stats_report_unreadable(&recovered.taken);
            if (recovered.taken.undecoded || recovered.taken.damaged)
                cli_message("  its rings stay in %s", process->path);
            else if (!options->keep)
                r = process_remove(process, &error);
            if (options->strict && !drain_stats_is_whole(&recovered.taken))
                status = EXIT_LOSSES;
        }
        recovered_done(&recovered);
        process_free(process);
    }
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    return status;
}

/* Makes the directory in OUTPUT for the process at PATH: PROGRAM-PID, with a number if that exists. NULL if out of
 * memory, or if the process does not exist any more, which recover_one() reports. */
static char *name_trace(const char *output, const char *path)
{
    struct process *process;
    char program[sizeof process->program];
    char *name = NULL;

    if (process_open(path, false, &process, NULL) < 0)
        return NULL;
    /* It is what the process says. */
    for (unsigned i = 0; i < sizeof program; i++)
        program[i] =
            (char)(process->program[i] == '\0' || isalnum((unsigned char)process->program[i])
                       ? process->program[i]
                       : '_');
    for (unsigned i = 1; i < UINT16_MAX; i++) {
        int r = i == 1 ? asprintf(&name, "%s/%s-%" PRIu32, output, program, process->pid)
                       : asprintf(&name, "%s/%s-%" PRIu32 ".%u", output, program, process->pid, i);

        if (r < 0)
            name = NULL;
        if (r < 0 || access(name, F_OK) != 0)
            break;
        free(name);
        name = NULL;
    }
    process_free(process);
    return name;
}

static int recover_into(const struct recover_options *options, const struct found *found)
{
    struct record_dir dir;
    struct error error = {0};
    int status = EXIT_SUCCESS;

    if (record_dir_open(options->output, &dir, &error) < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < found->n; i++) {
        _cleanup_free_ char *output = name_trace(dir.path, found->paths[i]);
        int one = recover_one(options, found->paths[i], output ? output : dir.path);

        status = status == EXIT_FAILURE || one == EXIT_SUCCESS ? status : one;
    }
    record_dir_close(&dir, true);
    return status;
}

static int run(const struct recover_options *options, char **operands, int n)
{
    struct found found = {.only_dead = options->all || n == 0};
    int r = 0, status = EXIT_SUCCESS;

    rings_dir_sweep_processes();
    found.named = n > 0;
    if (n == 0)
        r = process_foreach(NULL, found_add, &found);
    for (int i = 0; i < n && r >= 0; i++)
        r = find(operands[i], &found);
    if (r < 0) {
        if (r != -ENOENT)
            cli_error("cannot list the rings of processes: %s", error_text(r));
        found_done(&found);
        return EXIT_FAILURE;
    }
    if (found.n == 0) {
        cli_message("nothing to recover");
    } else if (n == 0 && !options->all && !options->list && options->output) {
        status = cli_usage_error("recover", "--output requires a process");
    } else if (options->list || (n == 0 && !options->all)) {
        status = list(&found);
    } else if (options->output && (options->all || found.n > 1)) {
        status = recover_into(options, &found);
        rings_dir_sweep();
    } else {
        for (unsigned i = 0; i < found.n; i++) {
            int one = options->discard ? discard_one(found.paths[i])
                                       : recover_one(options, found.paths[i], options->output);

            status = status == EXIT_FAILURE || one == EXIT_SUCCESS ? status : one;
        }
        rings_dir_sweep();
    }
    found_done(&found);
    return status;
}

int cmd_recover(int argc, char **argv)
{
    struct recover_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&recover_command, argc, argv, &options, &n, &status))
        status = run(&options, argv + 1, n);
    return status;
}
