/* SPDX-License-Identifier: MIT */
#include "schema/trace_events/diagnose.h"

#include <inttypes.h>

#include "base/printable.h"
#include "base/text.h"
#include "base/utf8.h"

/* Cells of a terminal that a source line may take; of a longer one the part around the place is
 * shown. */
#define CELLS_MAX 100
/* What is shown in front of the place then. */
#define BYTES_BEFORE 40

#define ELLIPSIS "..."

struct range {
    uint32_t first;
    uint32_t last;
};

static bool in_ranges(const struct range *ranges, size_t n, uint32_t character)
{
    for (size_t i = 0; i < n; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

static unsigned cells_of(uint32_t character)
{
    static const struct range none[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
        {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    static const struct range two[] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
        {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };

    if (character < 0x300)
        return 1;
    return in_ranges(none, ARRAY_SIZE(none), character) ? 0
           : in_ranges(two, ARRAY_SIZE(two), character) ? 2
                                                        : 1;
}

/* Puts the character at P, with LEFT > 0 bytes, escaped if a terminal would obey it. Returns its length in bytes;
 * *RET_CELLS is its width on the terminal. */
static size_t put_character(struct text *text, unsigned printing, const char *p, size_t left,
                            unsigned *ret_cells)
{
    char step[PRINTABLE_STEP_MAX];
    uint32_t character;
    size_t len, n = printable_step(p, left, printing, true, step, &len);

    text_put(text, step, len);
    /* What passes is one character; an escape is ASCII. */
    *ret_cells = (uint8_t)*step >= 0x80 && utf8_decode(step, len, &character) > 0
                     ? cells_of(character)
                     : (unsigned)len;
    return n;
}

static void put_repeated(struct text *text, char c, unsigned n)
{
    while (n-- > 0)
        text_put_char(text, c);
}

/* Where the shown part of the line begins: at its start, if the place can then be seen. */
static size_t window_start(const struct declaration_problem *problem, size_t at)
{
    size_t start;

    if (problem->text_len <= CELLS_MAX || at + MIN(problem->length, 20u) < CELLS_MAX - 20)
        return 0;
    start = at - BYTES_BEFORE;
    while (start < at && ((uint8_t)problem->text[start] & 0xc0) == 0x80)
        start++;
    return start;
}

/* The source line, and the marks below what is wrong. */
static void put_source(struct text *text, unsigned printing,
                       const struct declaration_problem *problem)
{
    _cleanup_(text_done) struct text marks = TEXT_IN_MEMORY;
    size_t at = problem->column - 1;
    size_t end = at + MAX(problem->length, 1u);
    size_t p = window_start(problem, at);
    unsigned cells = 0;

    text_printf(text, "%5" PRIu32 " | ", problem->line);
    if (p > 0) {
        text_put_literal(text, ELLIPSIS);
        put_repeated(&marks, ' ', sizeof ELLIPSIS - 1);
        cells = sizeof ELLIPSIS - 1;
    }
    while (p < problem->text_len && cells < CELLS_MAX) {
        unsigned width;
        char mark = p < at || p >= end ? ' ' : p == at ? '^' : '~';

        if (problem->text[p] == '\t') {
            width = 8 - cells % 8;
            put_repeated(text, ' ', width);
            p++;
        } else {
            p += put_character(text, printing, problem->text + p, problem->text_len - p, &width);
        }
        cells += width;
        if (p <= end || mark != ' ') {
            put_repeated(&marks, mark, MIN(width, 1u));
            put_repeated(&marks, mark == '^' ? '~' : mark, width - MIN(width, 1u));
        }
    }
    if (p < problem->text_len)
        text_put_literal(text, ELLIPSIS);
    if (at >= problem->text_len)
        text_put_char(&marks, '^');
    text_put_literal(text, "\n      | ");
    while (marks.next > marks.start && marks.next[-1] == ' ')
        marks.next--;
    text_put(text, marks.start ? marks.start : "", text_len(&marks));
}

void diagnose_put(struct text *text, enum diagnose_style style, unsigned printing,
                  const struct declaration_problem *problem)
{
    if (style == DIAGNOSE_TRACETOOL)
        text_put_str(text, problem->warning ? "Warning at " : "Error at ");
    text_put_safe_str(text, problem->file);
    text_printf(text, ":%" PRIu32, problem->line);
    if (style == DIAGNOSE_STRATA)
        text_printf(text, ":%" PRIu32 ": %s", problem->column,
                    problem->warning ? "warning" : "error");
    text_put_literal(text, ": ");
    text_put_safe_str(text, problem->what);
    text_put_char(text, '\n');
    put_source(text, printing, problem);
    if (problem->instead) {
        text_put_char(text, ' ');
        text_put_safe_str(text, problem->instead);
    }
    text_put_char(text, '\n');
    if (problem->first_file) {
        text_put_safe_str(text, problem->first_file);
        text_printf(text, ":%" PRIu32 ": the first one is here\n", problem->first_line);
    }
}

void diagnose_show(void *arg, const struct declaration_problem *problem)
{
    struct diagnose *diagnose = arg;
    uint64_t *n = problem->warning ? &diagnose->n_warnings : &diagnose->n_errors;
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    (*n)++;
    if (diagnose->max && *n > diagnose->max)
        return;
    diagnose_put(&text, diagnose->style, diagnose->printing, problem);
    if (!text.error)
        diagnose->print(diagnose->arg, text.start, text_len(&text));
}

int diagnose_read(struct diagnose *diagnose, struct declarations *declarations, const char *path,
                  struct error *error)
{
    uint64_t before = diagnose->n_errors;
    int r = declarations_read(declarations, path, diagnose_show, diagnose, error);

    if (r < 0 && diagnose->n_errors == before)
        diagnose->n_errors++;
    else
        error_clear(error);
    return r;
}

void diagnose_end(const struct diagnose *diagnose)
{
    uint64_t errors = diagnose->n_errors - MIN(diagnose->n_errors, diagnose->max);
    uint64_t warnings = diagnose->n_warnings - MIN(diagnose->n_warnings, diagnose->max);
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    if (!diagnose->max || errors + warnings == 0)
        return;
    text_put_literal(&text, ELLIPSIS " and ");
    if (errors)
        text_printf(&text, "%" PRIu64 " more error%s%s", errors, errors > 1 ? "s" : "",
                    warnings ? ", " : "\n");
    if (warnings)
        text_printf(&text, "%" PRIu64 " more warning%s\n", warnings, warnings > 1 ? "s" : "");
    if (!text.error)
        diagnose->print(diagnose->arg, text.start, text_len(&text));
}
