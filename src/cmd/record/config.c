/* SPDX-License-Identifier: MIT */
#include "cmd/record/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cmd/cmd.h"

#define OUT_SIZE ((size_t)4 * 1024)

#define MEMBER(name) offsetof(struct record_config_options, name)

const struct cli_option record_config_options[] = {
    {OPTION_STRINGS, 0, "config", "FILE|NAME",
     "read options from FILE or " RECORD_CONFIG_DIR "/NAME.conf; strata-record.conf(5)",
     MEMBER(files),
     .page = "A FILE has a '/' or ends in '.conf'. An option of the command line replaces the "
             "option of the file, or is "
             "added to it if it is repeatable. Operands and a command replace the operands and the "
             "command of the file."},
    {OPTION_FLAG, 0, "print-config", NULL, "print a file for --config and exit", MEMBER(prints),
     .page =
         "The command line is checked. Comments at the end of the file list the default events and "
         "limits."},
    {OPTION_FLAG, 0, "print-command", NULL, "print the command line without --config and exit",
     MEMBER(prints_command),
     .page = "It is one line for a shell, with the options from the files."},
    {OPTION_END},
};

/* Puts the words after the options: of the command line, or of the files. */
static int put_words(struct record_config *config, int argc, char *const *argv, int n)
{
    struct config *files = &config->config;
    int n_command = -1;
    unsigned at = 0;

    for (int i = 1; i < argc && n_command < 0; i++)
        if (strcmp(argv[i], "--") == 0)
            n_command = argc - i - 1;
    if (n > 0 || n_command >= 0) {
        char **first = (char **)(uintptr_t)(config->copy.items + 1);
        int n_operands = n - MAX(n_command, 0);

        strings_done(&files->operands);
        strings_done(&files->command);
        files->has_command = n_command >= 0;
        if (config_add_words(files, &files->operands, (unsigned)n_operands, first) < 0 ||
            config_add_words(files, &files->command, (unsigned)MAX(n_command, 0),
                             first + n_operands) < 0)
            return -ENOMEM;
    }
    config->words = calloc(files->operands.n + files->command.n + 1, sizeof(char *));
    if (!config->words)
        return -ENOMEM;
    for (unsigned i = 0; i < files->operands.n; i++)
        config->words[at++] = (char *)(uintptr_t)files->operands.items[i];
    for (unsigned i = 0; i < files->command.n; i++)
        config->words[at++] = (char *)(uintptr_t)files->command.items[i];
    config->n = (int)files->operands.n;
    config->n_command = files->has_command ? (int)files->command.n : -1;
    return 0;
}

static int note_file(const struct cli_option *option, const char *value, void *userdata)
{
    return strcmp(option->name, "config") == 0 ? strings_add(userdata, value) : 0;
}

static int note_option(const struct cli_option *option, const char *value, void *userdata)
{
    return config_add(userdata, option, value);
}

/* Reads a path, or a name of a file in RECORD_CONFIG_DIR. */
static int read_file(const struct command *command, const char *word, struct config *config,
                     struct error *error)
{
    size_t len = strlen(word);
    bool is_path = strchr(word, '/') || (len > 5 && strcmp(word + len - 5, ".conf") == 0);
    char *path = NULL;
    const char *kept;

    if (!is_path && asprintf(&path, RECORD_CONFIG_DIR "/%s.conf", word) < 0)
        return -ENOMEM;
    kept = arena_strdup(&config->arena, path ? path : word);
    free(path);
    return kept ? config_read(command, kept, config, error) : -ENOMEM;
}

/* Copies argv, whose words are moved while it is read. */
static int copy_words(struct strings *copy, int argc, char *const *argv)
{
    strings_done(copy);
    for (int i = 0; i < argc; i++)
        if (strings_add(copy, argv[i]) < 0)
            return -ENOMEM;
    return 0;
}

static bool
visit(const struct command *command, struct record_config *config, int argc, char *const *argv,
      int (*visitor)(const struct cli_option *option, const char *value, void *userdata),
      void *userdata, int *ret_n, int *ret_status)
{
    if (copy_words(&config->copy, argc, argv) >= 0)
        return options_visit(command, argc, (char **)(uintptr_t)config->copy.items, visitor,
                             userdata, ret_n, ret_status);
    *ret_status = cli_no_memory();
    return false;
}

/* Notes which options the files have. -ENOMEM. */
static int note_given(struct record_config *config)
{
    const struct config *files = &config->config;

    config->given = calloc(files->n + 1, sizeof *config->given);
    if (!config->given)
        return -ENOMEM;
    for (unsigned i = 0; i < files->n; i++)
        config->given[config->n_given++] =
            (struct given_option){files->entries[i].option, files->entries[i].value};
    return 0;
}

bool record_config_read(const struct command *command, int argc, char **argv, void *options,
                        struct record_config *ret, int *ret_status)
{
    struct strings files = {0};
    struct error error = {0};
    int n = 0, r = 0;
    bool goes_on;

    *ret = (struct record_config){0};
    goes_on = visit(command, ret, argc, argv, note_file, &files, &n, ret_status);
    for (unsigned i = 0; goes_on && r >= 0 && i < files.n; i++)
        r = read_file(command, files.items[i], &ret->config, &error);
    strings_done(&files);
    if (!goes_on)
        return false;
    if (r >= 0)
        r = config_set(command, &ret->config, options, &error);
    if (r >= 0)
        r = note_given(ret);
    if (r < 0) {
        (void)cli_print_failure(&error, r);
        *ret_status = r == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
        return false;
    }
    if (!visit(command, ret, argc, argv, note_option, &ret->config, &n, ret_status))
        return false;
    if (put_words(ret, argc, argv, n) >= 0)
        return true;
    *ret_status = cli_no_memory();
    return false;
}

int record_config_print(const struct record_config_options *options,
                        const struct record_config *config, const struct record_plan *plan)
{
    struct text out;
    int r;

    /* A file and a command line have the bytes that were given: no escapes that the reader does not know. */
    if (output_open(&out, OUTPUT_RAW, OUT_SIZE) < 0)
        return cli_no_memory();
    if (options->prints) {
        config_print(&config->config, "record", &out);
        record_plan_print(plan, &out);
    }
    if (options->prints_command)
        config_print_command(&config->config, "record", &out);
    r = text_flush(&out);
    text_done(&out);
    return r < 0 ? cli_output_error(r) : EXIT_SUCCESS;
}

void record_config_done(struct record_config *config)
{
    strings_done(&config->copy);
    free(config->words);
    free(config->given);
    config_done(&config->config);
    *config = (struct record_config){0};
}
