/* SPDX-License-Identifier: MIT */

/* Configuration files (cli/config.h). What one has, printed as a file, is the same again; it can be set, and printed as a
 * command line. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct settings {
    bool flag;
    const char *string;
    struct strings strings, list, maybes;
    uint64_t number, parsed;
    unsigned choice;
};

static int parse(void *member, const char *value, struct error *error)
{
    *(uint64_t *)member = strlen(value);
    return *value == 'x' ? error_set(error, -EINVAL, NULL, "begins with an x") : 0;
}

#define MEMBER(name) offsetof(struct settings, name)

static const char *const choices[] = {"text", "json", NULL};
static const struct cli_option options[] = {
    {OPTION_FLAG, 'a', "attach", NULL, "", MEMBER(flag)},
    {OPTION_STRING, 'o', "output", "DIR", "", MEMBER(string)},
    {OPTION_STRINGS, 'e', "event", "GLOB", "", MEMBER(strings)},
    {OPTION_LIST, 0, "list", "GLOB", "", MEMBER(list)},
    {OPTION_MAYBE, 0, "guest", "EVENTS", "", MEMBER(maybes)},
    {OPTION_NUMBER, 0, "number", "N", "", MEMBER(number)},
    {OPTION_CHOICE, 'f', "format", "text|json", "", MEMBER(choice), .choices = choices},
    {OPTION_PARSED, 0, "flight", "TIME", "", MEMBER(parsed), .parse = parse},
    {OPTION_FLAG, 0, "print-config", NULL, "", MEMBER(flag)},
    {OPTION_HELP, 'h', "help", NULL, "", 0},
    {OPTION_END},
};
static const struct option_group groups[] = {{"Options", options, 0}, {NULL}};
static const struct command command = {
    .name = "record", .summary = "", .operands = "", .about = "", .groups = groups};

static void print(const struct config *config, struct text *text)
{
    *text = TEXT_IN_MEMORY;
    config_print(config, "record", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config config = {0}, again = {0};
    struct settings settings = {0};
    struct error error = {0};
    struct text first, second, line = TEXT_IN_MEMORY;

    if (config_parse(&command, (const char *)data, size, "fuzz", &config, &error) >= 0) {
        print(&config, &first);
        if (config_parse(&command, first.start, (size_t)(first.next - first.start), "again", &again,
                         &error) < 0)
            abort();
        print(&again, &second);
        if (first.next - first.start != second.next - second.start ||
            memcmp(first.start, second.start, (size_t)(first.next - first.start)) != 0 ||
            config.command.n != again.command.n || config.operands.n != again.operands.n)
            abort();
        config_print_command(&config, "record", &line);
        if (config_set(&command, &config, &settings, &error) < 0 && (!error.line || !*error.what))
            abort();
        text_done(&first);
        text_done(&second);
        text_done(&line);
    } else if (!error.line || !*error.what) {
        abort();
    }
    strings_done(&settings.strings);
    strings_done(&settings.list);
    strings_done(&settings.maybes);
    config_done(&again);
    config_done(&config);
    return 0;
}
