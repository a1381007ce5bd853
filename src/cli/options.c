/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/message.h"
#include "cli/option_rules.h"
#include "cli/output.h"
#include "cli/version.h"

struct found {
    const struct cli_option *option;
    char *group; /* the structure of its group */
};

static struct found find_long(const struct command *command, void *options, const char *name,
                              size_t len)
{
    for (const struct option_group *group = command->groups; group->title; group++)
        for (const struct cli_option *option = group->options; option->kind != OPTION_END; option++)
            if (strlen(option->name) == len && memcmp(option->name, name, len) == 0)
                return (struct found){option, options ? (char *)options + group->offset : NULL};
    return (struct found){0};
}

static struct found find_letter(const struct command *command, void *options, char letter)
{
    for (const struct option_group *group = command->groups; group->title; group++)
        for (const struct cli_option *option = group->options; option->kind != OPTION_END; option++)
            if (option->letter && option->letter == letter)
                return (struct found){option, options ? (char *)options + group->offset : NULL};
    return (struct found){0};
}

const struct cli_option *options_find(const struct command *command, const char *name, size_t len)
{
    return find_long(command, NULL, name, len).option;
}

const struct cli_option *options_suggest(const struct command *command, const char *name,
                                         size_t len)
{
    const struct cli_option *best = NULL;
    size_t best_distance = 3;

    if (len < 2)
        return NULL;
    for (const struct option_group *group = command->groups; group->title; group++) {
        for (const struct cli_option *option = group->options; option->kind != OPTION_END;
             option++) {
            size_t d = suggest_distance(name, len, option->name, strlen(option->name));

            if (!option->help)
                continue;
            if (strncmp(option->name, name, len) == 0)
                d = 0;
            if (d < best_distance) {
                best_distance = d;
                best = option;
            }
        }
    }
    return best;
}

static int parse_choice(const struct cli_option *option, unsigned *member, const char *value,
                        struct error *error)
{
    char all[160] = "";

    for (unsigned i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *member = i;
            return 0;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i == 0 ? "" : (option->choices[i + 1] ? ", " : " or "), option->choices[i]);
    }
    return error_set(error, -EINVAL, NULL, "is not one of %s", all);
}

static int parse_number(uint64_t *member, const char *value, struct error *error)
{
    char *end;
    uint64_t v;

    errno = 0;
    v = strtoull(value, &end, 10);
    if (value[0] == '-' && isdigit((unsigned char)value[1]))
        return error_set(error, -EINVAL, NULL, "is less than 0");
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return error_set(error, -EINVAL, NULL, "is not a whole number");
    *member = v;
    return 0;
}

static int set(const struct found *found, const char *value, struct error *error)
{
    const struct cli_option *option = found->option;
    void *member = found->group + option->offset;

    switch (option->kind) {
    case OPTION_FLAG: *(bool *)member = true; return 0;
    case OPTION_STRING: *(const char **)member = value; return 0;
    case OPTION_STRINGS:
    case OPTION_MAYBE: return strings_add(member, value);
    case OPTION_LIST: return strings_split(member, (char *)(uintptr_t)value, error);
    case OPTION_NUMBER: return parse_number(member, value, error);
    case OPTION_CHOICE: return parse_choice(option, member, value, error);
    case OPTION_PARSED: return option->parse(member, value, error);
    case OPTION_HELP:
    case OPTION_RENAMED:
    case OPTION_END: break;
    }
    return 0;
}

/* The parser's position in argv. */
struct walk {
    const struct command *command;
    void *options; /* NULL: … */
    int (*visit)(const struct cli_option *option, const char *value, void *userdata);
    void *userdata; /* … of visit() */
    int argc;
    char **argv;
    int next;
    int n; /* operands so far, at argv[1]… */
    int status;
    struct given_option *given;
    unsigned n_given;
};

static int note_given(struct walk *walk, const struct cli_option *option, const char *value)
{
    struct given_option *bigger = realloc(walk->given, (walk->n_given + 1) * sizeof *walk->given);

    if (!bigger)
        return -ENOMEM;
    walk->given = bigger;
    bigger[walk->n_given++] = (struct given_option){option, value};
    return 0;
}

/* Not an option, a number or a path: the argument of an option that can be without. */
static bool could_be_words(const char *word)
{
    return word[0] != '-' && word[0] != '\0' && !strchr(word, '/') &&
           word[strspn(word, "0123456789")] != '\0';
}

bool options_has_optional_argument(const struct cli_option *option)
{
    return option->kind == OPTION_MAYBE;
}

/* Whether NEXT, the word after such an option, is its argument. */
static bool is_argument(const struct cli_option *option, const char *next)
{
    const char *equals = strchr(next, '=');

    return could_be_words(next) || (option->kind == OPTION_MAYBE && equals && equals > next &&
                                    next[0] != '-' && !memchr(next, '/', (size_t)(equals - next)));
}

/* Sets an option. Its argument is VALUE (NULL: the next word, if it requires one). False: finished. */
static bool take(struct walk *walk, const struct found *found, const char *shown, const char *value)
{
    const struct cli_option *option = found->option;
    struct error error = {0};
    int r;

    if (option->kind == OPTION_HELP) {
        options_help(walk->command, stdout);
        walk->status = EXIT_SUCCESS;
        return false;
    }
    if (option->kind == OPTION_RENAMED) {
        walk->status =
            cli_usage_error(walk->command->name, "%s is %s now", shown, option->argument);
        return false;
    }
    if (options_has_optional_argument(option) && !value) {
        const char *next = walk->next < walk->argc ? walk->argv[walk->next] : "-";

        value = is_argument(option, next) ? walk->argv[walk->next++] : "";
    }
    if (option->argument && !value) {
        if (walk->next >= walk->argc) {
            walk->status =
                cli_usage_error(walk->command->name, "%s requires %s", shown, option->argument);
            return false;
        }
        value = walk->argv[walk->next++];
    }
    r = walk->visit ? walk->visit(option, value, walk->userdata) : set(found, value, &error);
    if (r >= 0)
        r = note_given(walk, option, value);
    if (r == -ENOMEM) {
        cli_error("out of memory");
        walk->status = EXIT_FAILURE;
    } else if (r < 0) {
        walk->status = cli_usage_error(walk->command->name, "%s '%s' %s", shown, value, error.what);
    }
    return r >= 0;
}

static bool show_version(struct walk *walk)
{
    cli_print_version();
    walk->status = EXIT_SUCCESS;
    return false;
}

/* Reports an unknown option that may belong to a command typed without "--", if the verb runs commands. */
static bool report_unknown(struct walk *walk, const char *shown, const struct cli_option *near)
{
    const char *verb = walk->command->name;

    if (walk->n > 0 && strstr(walk->command->operands, "-- "))
        walk->status = cli_usage_error(
            verb, "unknown option '%s'; if it is an option of '%s', put '--' before the command",
            shown, walk->argv[1]);
    else if (near)
        walk->status =
            cli_usage_error(verb, "unknown option '%s'; did you mean '--%s'?", shown, near->name);
    else
        walk->status = cli_usage_error(verb, "unknown option '%s'", shown);
    return false;
}

static bool take_long(struct walk *walk, char *word)
{
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    struct found found = find_long(walk->command, walk->options, word + 2, len - 2);
    char shown[64];

    snprintf(shown, sizeof shown, "%.*s", (int)MIN(len, sizeof shown - 1), word);
    if (!found.option && len == strlen("--version") && memcmp(word, "--version", len) == 0)
        return show_version(walk);
    if (!found.option)
        return report_unknown(walk, shown, options_suggest(walk->command, word + 2, len - 2));
    if (equals && !found.option->argument) {
        const char *instead = found.option->instead;

        walk->status = cli_usage_error(walk->command->name, "%s accepts no argument%s%s", shown,
                                       instead ? "; use " : "", instead ? instead : "");
        return false;
    }
    return take(walk, &found, shown, equals ? equals + 1 : NULL);
}

static bool take_letters(struct walk *walk, const char *word)
{
    for (const char *p = word + 1; *p; p++) {
        struct found found = find_letter(walk->command, walk->options, *p);
        char shown[3] = {'-', *p, '\0'};

        if (!found.option && strcmp(word, "-V") == 0)
            return show_version(walk);
        if (!found.option)
            return report_unknown(walk, shown, NULL);
        if (found.option->argument)
            return take(walk, &found, shown, p[1] ? p + 1 : NULL);
        if (!take(walk, &found, shown, NULL))
            return false;
    }
    return true;
}

static bool walk_words(struct walk *walk, int *ret_n, int *ret_status)
{
    bool options_ended = false;

    while (walk->next < walk->argc) {
        char *word = walk->argv[walk->next++];
        bool fine = true;

        if (options_ended || word[0] != '-' || word[1] == '\0')
            walk->argv[1 + walk->n++] = word;
        else if (strcmp(word, "--") == 0)
            options_ended = true;
        else if (word[1] == '-')
            fine = take_long(walk, word);
        else
            fine = take_letters(walk, word);
        if (!fine) {
            *ret_status = walk->status;
            return false;
        }
    }
    *ret_n = walk->n;
    return true;
}

bool options_parse_beside(const struct command *command, const struct given_option *before,
                          unsigned n_before, int argc, char **argv, void *options, int *ret_n,
                          int *ret_status)
{
    struct walk walk = {
        .command = command, .options = options, .argc = argc, .argv = argv, .next = 1};
    struct error error = {0};
    int r = 0;
    bool goes_on;

    for (unsigned i = 0; r >= 0 && i < n_before; i++)
        r = note_given(&walk, before[i].option, before[i].value);
    if (r < 0)
        *ret_status = cli_no_memory();
    goes_on = r >= 0 && walk_words(&walk, ret_n, ret_status);
    if (goes_on && option_rules_check(walk.given, walk.n_given, &error) < 0) {
        *ret_status = cli_usage_error(command->name, "%s", error.what);
        goes_on = false;
    }
    free(walk.given);
    return goes_on;
}

bool options_parse(const struct command *command, int argc, char **argv, void *options, int *ret_n,
                   int *ret_status)
{
    return options_parse_beside(command, NULL, 0, argc, argv, options, ret_n, ret_status);
}

bool options_visit(const struct command *command, int argc, char **argv,
                   int (*visit)(const struct cli_option *option, const char *value, void *userdata),
                   void *userdata, int *ret_n, int *ret_status)
{
    struct walk walk = {.command = command,
                        .visit = visit,
                        .userdata = userdata,
                        .argc = argc,
                        .argv = argv,
                        .next = 1};
    bool goes_on = walk_words(&walk, ret_n, ret_status);

    free(walk.given);
    return goes_on;
}

int options_set(const struct command *command, void *options, const struct cli_option *option,
                const char *value, struct error *error)
{
    struct found found = find_long(command, options, option->name, strlen(option->name));

    return set(&found, value, error);
}

/* "  -e, --event=GLOB" and the help beside it, or below if that is too long. */
#define HELP_COLUMN 26
#define HELP_WIDTH 80

/* Puts words at *COLUMN, and goes on in the next line if one does not fit. */
static void help_words(const char *text, int *column, FILE *out)
{
    while (*text) {
        size_t len = strcspn(text, " ");

        if (*column > HELP_COLUMN && *column + 1 + (int)len > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_COLUMN, "");
            *column = HELP_COLUMN;
        } else if (*column > HELP_COLUMN) {
            fputc(' ', out);
            *column += 1;
        }
        fwrite(text, 1, len, out);
        *column += (int)len;
        text += len + (text[len] == ' ');
    }
}

static void help_option(const struct cli_option *option, FILE *out)
{
    char left[128], text[256];
    int n, column = HELP_COLUMN;

    n = snprintf(left, sizeof left, "  %c%c%s--%s%s%s%s", option->letter ? '-' : ' ',
                 option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
                 !option->argument                       ? ""
                 : options_has_optional_argument(option) ? "[="
                                                         : "=",
                 option->argument ? option->argument : "",
                 options_has_optional_argument(option) ? "]" : "");
    if (n >= HELP_COLUMN)
        fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
    else
        fprintf(out, "%-*s", HELP_COLUMN, left);
    snprintf(text, sizeof text, "%s%s%s%s%s", option->help,
             options_is_repeatable(option) ? "; repeatable" : "",
             option->default_text ? " (default: " : "",
             option->default_text ? option->default_text : "", option->default_text ? ")" : "");
    help_words(text, &column, out);
    fputc('\n', out);
}

static void put_help(const struct command *command, FILE *out)
{
    fprintf(out, "Usage: strata %s [OPTION...]%s%s\n\n%s\n", command->name,
            *command->operands ? " " : "", command->operands, command->about);
    for (const struct option_group *group = command->groups; group->title; group++) {
        if (group == command->groups || strcmp(group->title, group[-1].title) != 0)
            fprintf(out, "\n%s:\n", group->title);
        for (const struct cli_option *option = group->options; option->kind != OPTION_END; option++)
            if (option->help)
                help_option(option, out);
    }
    if (command->examples)
        fprintf(out, "\nExamples:\n%s\n", command->examples);
}

void options_help(const struct command *command, FILE *out)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);

    if (memory)
        put_help(command, memory);
    /* glibc's fclose() does not report that it had no memory for the end. */
    if (memory && fclose(memory) == 0 && text)
        output_put(out, text, len);
    else /* no memory for it: as it is */
        put_help(command, out);
    free(text);
}
