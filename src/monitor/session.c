/* SPDX-License-Identifier: MIT */
#include "monitor/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/hmp.h"
#include "monitor/json_parse.h"
#include "monitor/json_tokens.h"
#include "monitor/qmp.h"

#define LINE_MAX_BYTES 4095 /* of a line of HMP */

struct strata_monitor_session {
    enum strata_monitor_dialect dialect;
    char *name;
    char *prompt;
    struct buffer out;
    bool ended;
    strata_monitor_write_function write; /* NULL: the caller takes from `out` by itself */
    void *userdata;
    /* HMP */
    struct buffer line;
    bool too_long;
    bool was_return; /* a '\n' right behind belongs to it */
    /* QMP */
    struct qmp qmp;
    struct tokens tokens;
};

static const char *program_name(void)
{
    return program_invocation_short_name ? program_invocation_short_name : "";
}

int session_new(enum strata_monitor_dialect dialect, const char *name, const char *prompt,
                struct strata_monitor_session **ret)
{
    struct strata_monitor_session *s;

    if (dialect != STRATA_MONITOR_HMP && dialect != STRATA_MONITOR_QMP)
        return -EINVAL;
    s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->dialect = dialect;
    s->name = strdup(name ? name : program_name());
    s->prompt = strdup(prompt ? prompt : "(qemu) ");
    if (!s->name || !s->prompt) {
        strata_monitor_session_free(s);
        return -ENOMEM;
    }
    /* Whatever the program is called, a reply is UTF-8. */
    s->qmp.name = s->name;
    if (dialect == STRATA_MONITOR_QMP) {
        struct buffer clean = {0};

        buffer_put_clean(&clean, s->name, strlen(s->name) + 1);
        if (clean.broken) {
            strata_monitor_session_free(s);
            return -ENOMEM;
        }
        free(s->name);
        s->name = clean.bytes;
        s->qmp.name = s->name;
        qmp_greet(&s->qmp, &s->out);
    } else {
        buffer_printf(&s->out, "%s monitor - type 'help' for more information\r\n%s", s->name,
                      s->prompt);
    }
    *ret = s;
    return 0;
}

void strata_monitor_session_free(struct strata_monitor_session *s)
{
    if (!s)
        return;
    buffer_done(&s->out);
    buffer_done(&s->line);
    tokens_done(&s->tokens);
    free(s->name);
    free(s->prompt);
    free(s);
}

/* ---- HMP ---- */

static void do_line(struct strata_monitor_session *s)
{
    struct buffer text = {0};

    if (s->too_long) {
        buffer_printf(&text, "the line is longer than %d bytes\n", LINE_MAX_BYTES);
    } else {
        buffer_put(&s->line, "", 1);
        if (!s->line.broken)
            s->ended = hmp_command(s->line.bytes, s->name, &text);
    }
    hmp_put_lines(&s->out, &text);
    buffer_done(&text);
    s->line.len = 0;
    s->too_long = false;
    if (!s->ended)
        buffer_text(&s->out, s->prompt);
}

static size_t read_line(struct strata_monitor_session *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        bool ends = c == '\r' || (c == '\n' && !s->was_return);

        s->was_return = c == '\r';
        if (ends) {
            do_line(s);
            return i + 1;
        }
        if (c == '\b' || c == 0x7f)
            s->line.len -= s->line.len > 0;
        else if ((uint8_t)c < ' ' && c != '\t') /* of no meaning here */
            ;
        else if (s->line.len == LINE_MAX_BYTES)
            s->too_long = true;
        else
            buffer_put(&s->line, &c, 1);
    }
    return n;
}

/* ---- QMP ---- */

static void do_message(struct strata_monitor_session *s)
{
    struct buffer what = {0};
    json_t *message;

    buffer_text(&what, "");
    message = json_parse(&s->tokens, &what);
    tokens_clear(&s->tokens);
    if (message) {
        s->ended = qmp_request(&s->qmp, message, &s->out);
    } else {
        struct buffer whole = {0};

        buffer_text(&whole, "JSON parse error, ");
        buffer_put(&whole, what.bytes, what.len);
        qmp_malformed(whole.bytes, whole.len, &s->out);
        s->out.broken |= whole.broken || what.broken;
        buffer_done(&whole);
    }
    json_decref(message);
    buffer_done(&what);
}

static void do_stray(struct strata_monitor_session *s)
{
    struct buffer what = {0};
    const char *text = s->tokens.text.bytes + s->tokens.begin;
    size_t len = s->tokens.text.len - s->tokens.begin;

    buffer_text(&what, "JSON parse error, stray '");
    buffer_put(&what, text, strnlen(text, len)); /* a NUL is not shown */
    buffer_text(&what, "'");
    qmp_malformed(what.bytes, what.len, &s->out);
    s->out.broken |= what.broken;
    buffer_done(&what);
    tokens_clear(&s->tokens);
}

static size_t read_message(struct strata_monitor_session *s, const char *bytes, size_t n)
{
    const char *at = bytes;
    const char *what = NULL;

    switch (tokens_read(&s->tokens, &at, bytes + n, &what)) {
    case TOKENS_MESSAGE: do_message(s); break;
    case TOKENS_STRAY: do_stray(s); break;
    case TOKENS_LIMIT:
        qmp_malformed(what, strlen(what), &s->out);
        tokens_clear(&s->tokens);
        break;
    case TOKENS_NO_MEMORY: s->out.broken = true; break;
    case TOKENS_MORE: break;
    }
    return (size_t)(at - bytes);
}

/* ---- Both ---- */

size_t session_read(struct strata_monitor_session *s, const char *bytes, size_t n)
{
    if (session_status(s) != 0)
        return n;
    return s->dialect == STRATA_MONITOR_HMP ? read_line(s, bytes, n) : read_message(s, bytes, n);
}

struct buffer *session_out(struct strata_monitor_session *s)
{
    return &s->out;
}

int session_status(const struct strata_monitor_session *s)
{
    return s->out.broken || s->line.broken ? -ENOMEM : s->ended;
}

static void write_out(struct strata_monitor_session *s)
{
    if (s->out.len)
        s->write(s->out.bytes, s->out.len, s->userdata);
    s->out.len = 0;
}

int strata_monitor_session_new(enum strata_monitor_dialect dialect, const char *name,
                               const char *prompt, strata_monitor_write_function write,
                               void *userdata, struct strata_monitor_session **ret)
{
    struct strata_monitor_session *s;
    int r;

    if (!write || !ret)
        return -EINVAL;
    r = session_new(dialect, name, prompt, &s);
    if (r < 0)
        return r;
    s->write = write;
    s->userdata = userdata;
    if (session_status(s) < 0) {
        strata_monitor_session_free(s);
        return -ENOMEM;
    }
    write_out(s);
    *ret = s;
    return 0;
}

int strata_monitor_session_feed(struct strata_monitor_session *s, const void *bytes, size_t n)
{
    const char *at = bytes;

    while (n && session_status(s) == 0) {
        size_t used = session_read(s, at, n);

        at += used;
        n -= used;
        write_out(s);
    }
    return session_status(s);
}
