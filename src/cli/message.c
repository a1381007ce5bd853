/* SPDX-License-Identifier: MIT */
#include "cli/message.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/shell_word.h"
#include "cli/output.h"
#include "cli/service.h"

/* The journal's priorities; syslog(3). */
#define PRIORITY_ERROR "<3>"
#define PRIORITY_WARNING "<4>"
#define PRIORITY_INFO "<6>"

void cli_message(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_vline(stderr, service_logs_to_journal() ? PRIORITY_INFO : "", format, args);
    va_end(args);
}

void cli_print_command(const char *verb, const char *path)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    shell_put_shown_word(&text, path);
    if (text.error)
        (void)cli_no_memory();
    else
        cli_message("  strata %s %.*s", verb, (int)text_len(&text), text.start);
}

void cli_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_vline(stderr, service_logs_to_journal() ? PRIORITY_ERROR "strata: " : "strata: ", format,
                 args);
    va_end(args);
}

void cli_warning(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_vline(
        stderr, service_logs_to_journal() ? PRIORITY_WARNING "strata: " : "strata: ", format, args);
    va_end(args);
}

void cli_print_error(const struct error *error)
{
    char text[sizeof error->path + sizeof error->what + 64];

    error_print(error, text, sizeof text);
    cli_error("%s", text);
}

int cli_print_failure(struct error *error, int err)
{
    error_set(error, err, NULL, "%s", error_text(err));
    cli_print_error(error);
    return EXIT_FAILURE;
}

int cli_no_memory(void)
{
    cli_error("out of memory");
    return EXIT_FAILURE;
}

int cli_output_error(int error)
{
    if (error == -EPIPE) {
        /* The parent process ignores SIGPIPE; end by it all the same. */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (error == -ENOMEM)
        cli_error("out of memory");
    else
        cli_error("cannot write to standard output: %s", strerror(-error));
    return EXIT_FAILURE;
}

int cli_usage_error(const char *verb, const char *format, ...)
{
    char before[64];
    va_list args;

    snprintf(before, sizeof before,
             "%sstrata %s: ", service_logs_to_journal() ? PRIORITY_ERROR : "", verb);
    va_start(args, format);
    output_vline(stderr, before, format, args);
    va_end(args);
    cli_message("Try 'strata %s --help'.", verb);
    return EXIT_USAGE;
}
