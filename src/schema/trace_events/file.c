/* SPDX-License-Identifier: MIT */
/* trace-events files: from bytes to lines. */
#include <string.h>

#include "base/input.h"
#include "base/text.h"
#include "base/utf8.h"
#include "schema/trace_events/parser.h"

/* The largest file that is read; QEMU's own have half a megabyte. */
#define FILE_MAX ((size_t)64 * 1024 * 1024)

/* What is looked for once in all bytes, as nearly no file has any of it. */
struct oddities {
    bool has_cr;            /* lines may end in "\r\n" or "\r" */
    const char *nul;        /* the next one, or NULL */
    const char *wrong_utf8; /* the first, or NULL */
};

static struct oddities find_oddities(const char *text, size_t len, unsigned rules)
{
    return (struct oddities){
        .has_cr = memchr(text, '\r', len) != NULL,
        .nul = memchr(text, '\0', len),
        .wrong_utf8 = rules & DECLARE_GENERATE ? utf8_find_wrong(text, len) : NULL,
    };
}

/* The line at TEXT into PARSER; where the next one begins. Python's lines, as its programs read the
 * same files: a carriage return by itself ends one. */
static const char *next_line(struct parser *parser, const char *text, const char *end, bool has_cr,
                             bool *ret_ended)
{
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    const char *cr = NULL;

    parser->number++;
    parser->line = text;
    parser->end = newline ? newline : end;
    parser->p = text;
    if (has_cr)
        cr = memchr(text, '\r', (size_t)(parser->end - text));
    *ret_ended = newline || cr;
    if (!cr)
        return parser->end + (newline != NULL);
    parser->end = cr;
    return cr + 1 < end && cr[1] == '\n' ? cr + 2 : cr + 1;
}

/* 1: go on with the line; 0: it says nothing; -EINVAL: go no further. */
static int check_bytes(struct parser *parser, struct oddities *oddities, const char *end)
{
    bool says_nothing;

    parser_skip_blanks(parser);
    says_nothing = parser->p == parser->end || *parser->p == '#';
    if (oddities->wrong_utf8 && oddities->wrong_utf8 < parser->end) {
        parser_suggest(parser, "save the file as UTF-8");
        parser_error(parser, (struct place){oddities->wrong_utf8, 1},
                     "the byte 0x%02x, here at first, is not UTF-8",
                     (unsigned char)*oddities->wrong_utf8);
        oddities->wrong_utf8 = NULL; /* in a file of another encoding there are many */
    }
    if (oddities->nul && oddities->nul < parser->end) {
        if (!says_nothing)
            return parser_error(parser, (struct place){oddities->nul, 1},
                                "a NUL byte: is it a file of text?");
        oddities->nul = memchr(parser->end, '\0', (size_t)(end - parser->end));
    }
    return says_nothing ? 0 : 1;
}

/* A byte order mark, which QEMU's tool rejects; it is skipped. */
static const char *skip_mark(struct parser *parser, const char *text, const char *end)
{
    parser->number = 1;
    parser->line = text;
    parser->end = text;
    if (end - text >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        parser_suggest(parser, "save the file as UTF-8");
        parser_error(parser, (struct place){text, 0}, "the file is in UTF-16");
        return end;
    }
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        parser_suggest(parser, "save the file without");
        parser_error(parser, (struct place){text, 0}, "the file begins with a byte order mark");
        text += 3;
    }
    parser->number = 0;
    return text;
}

int declarations_parse(struct declarations *declarations, const char *name, const char *text,
                       size_t len, declaration_report report, void *arg, struct error *error)
{
    struct parser parser = {
        .declarations = declarations,
        .file = arena_strdup(&declarations->arena, name),
        .report = report,
        .arg = arg,
        .error = error,
    };
    const char *end = text + len;
    struct oddities oddities;

    if (!parser.file)
        return error_set(error, -ENOMEM, name, "out of memory");
    if (len == 0)
        return 0;
    text = skip_mark(&parser, text, end);
    oddities = find_oddities(text, (size_t)(end - text), declarations->rules);
    while (text < end && (parser.errors == 0 || report)) {
        bool ended;
        int r;

        text = next_line(&parser, text, end, oddities.has_cr, &ended);
        r = check_bytes(&parser, &oddities, end);
        if (r < 0)
            break;
        if (r > 0)
            r = parser_line(&parser);
        if (r == -ENOMEM)
            return error_set(error, r, name, "out of memory");
        if (!ended && (parser.errors == 0 || report))
            parser_error(&parser, (struct place){parser.end, 0},
                         "the file does not end with a newline");
    }
    return parser.errors ? -EINVAL : 0;
}

static int read_all(struct input *in, struct text *text, struct error *error)
{
    int r;

    while ((r = input_refill(in, error)) > 0) {
        size_t n = input_buffered(in);

        if (text_len(text) + n > FILE_MAX)
            return error_set(error, -EFBIG, in->path, "larger than %zu MB: not a trace-events file",
                             FILE_MAX >> 20);
        text_put(text, (const char *)input_at(in), n);
        input_skip(in, n);
        if (text->error)
            return error_set(error, text->error, in->path, "out of memory");
    }
    return r;
}

int declarations_read(struct declarations *declarations, const char *path,
                      declaration_report report, void *arg, struct error *error)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    struct input in;
    int r;

    r = input_open(&in, path, INPUT_BUFFER_SIZE, error);
    if (r < 0)
        return r;
    r = read_all(&in, &text, error);
    if (r >= 0)
        r = declarations_parse(declarations, in.path, text.start, text_len(&text), report, arg,
                               error);
    input_done(&in);
    return r;
}

void declarations_done(struct declarations *declarations)
{
    free(declarations->events);
    map_done(&declarations->names);
    arena_done(&declarations->arena);
    *declarations = (struct declarations){.rules = declarations->rules};
}
