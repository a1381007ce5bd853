/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macro.h"

/* The name of the locale, by POSIX: the first of these variables that is set and not empty. */
static const char *locale_name(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
        const char *name = getenv(variables[i]);

        if (name && *name)
            return name;
    }
    return "C";
}

static bool is_utf8(void)
{
    const char *name = locale_name(), *dot;
    locale_t locale = newlocale(LC_CTYPE_MASK, name, (locale_t)0);
    bool utf8;

    if (locale) {
        utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
        freelocale(locale);
        return utf8;
    }
    /* A locale that is not installed here still names the terminal's character set. */
    dot = strchr(name, '.');
    return dot && (strncasecmp(dot, ".UTF-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
}

unsigned output_locale(void)
{
    static int passes = -1;

    if (passes < 0)
        passes = is_utf8() ? 0 : PRINTABLE_ASCII;
    return (unsigned)passes;
}

unsigned output_line_width(void)
{
    const char *columns = getenv("COLUMNS");
    unsigned long n =
        columns && *columns >= '0' && *columns <= '9' ? strtoul(columns, NULL, 10) : 0;
    struct winsize size;

    if (n > 0)
        return (unsigned)MIN(n, 100000ul);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int output_open(struct text *text, enum output_kind kind, size_t size)
{
    unsigned passes = kind == OUTPUT_DATA ? 0 : output_locale();

    if (kind == OUTPUT_RAW && !isatty(STDOUT_FILENO))
        return text_open_fd(text, STDOUT_FILENO, size);
    if (kind == OUTPUT_COLOR_TEXT)
        passes |= PRINTABLE_COLOR;
    return text_open_output(text, STDOUT_FILENO, size, passes);
}

void output_put(FILE *file, const char *text, size_t len)
{
    struct text safe = TEXT_IN_MEMORY;

    printable_put(&safe, text, len, PRINTABLE_LINES | output_locale(), true);
    if (safe.start)
        fwrite(safe.start, 1, text_len(&safe), file);
    text_done(&safe);
}

void output_vline(FILE *file, const char *before, const char *format, va_list args)
{
    char message[PATH_MAX + 2048];
    struct text safe = TEXT_IN_MEMORY;
    int n = vsnprintf(message, sizeof message, format, args);

    text_put_str(&safe, before);
    printable_put(&safe, message, MIN((size_t)MAX(n, 0), sizeof message - 1), output_locale(),
                  true);
    text_put_char(&safe, '\n');
    /* In one write, so that lines of several processes do not mix. */
    fwrite(safe.start, 1, text_len(&safe), file);
    text_done(&safe);
}

void output_line(FILE *file, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    output_vline(file, "", format, args);
    va_end(args);
    fflush(file);
}

bool output_has_color(int fd)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
