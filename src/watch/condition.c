/* SPDX-License-Identifier: MIT */
#include "watch/condition.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "base/clock_ns.h"
#include "base/suggest.h"
#include "event/class.h"
#include "event/pattern.h"

#define TEXT_MAX 4096u
#define RULES_MAX 4u
#define STATUS_MAX 255
/* The longest stretch for a share, because it is kept in memory. */
#define SHARE_MAX_NS (INT64_C(60) * 1000000000)

struct parser {
    const char *text; /* the whole condition */
    const char *p;
    struct arena *arena;
    struct error *error;
    struct watch_condition *condition;
};

_printf_(2, 3) static int fail(const struct parser *parser, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return error_set(parser->error, -EINVAL, NULL, "invalid condition '%.100s': %s", parser->text,
                     what);
}

static void skip_blanks(struct parser *parser)
{
    parser->p += strspn(parser->p, " \t");
}

/* Takes WORD, unless more letters follow it. */
static bool take_word(struct parser *parser, const char *word)
{
    size_t len = strlen(word);

    skip_blanks(parser);
    if (strncmp(parser->p, word, len) != 0 ||
        (parser->p[len] && !strchr(" \t<>=!", parser->p[len])))
        return false;
    parser->p += len;
    return true;
}

static bool take(struct parser *parser, const char *sign)
{
    skip_blanks(parser);
    if (strncmp(parser->p, sign, strlen(sign)) != 0)
        return false;
    parser->p += strlen(sign);
    return true;
}

static int end_of_text(struct parser *parser)
{
    skip_blanks(parser);
    return *parser->p ? fail(parser, "unexpected '%.40s'", parser->p) : 0;
}

/* Takes an unsigned number, with or without a fraction. False if there is none. */
static bool take_number(struct parser *parser, double *ret)
{
    double value = 0, unit = 1;
    const char *p;

    skip_blanks(parser);
    for (p = parser->p; isdigit((unsigned char)*p); p++)
        value = value * 10 + (*p - '0');
    if (p == parser->p)
        return false;
    if (*p == '.' && isdigit((unsigned char)p[1]))
        for (p++; isdigit((unsigned char)*p); p++)
            value += (unit /= 10) * (*p - '0');
    parser->p = p;
    *ret = value;
    return isfinite(value);
}

static int take_time(struct parser *parser, int64_t max, int64_t *ret)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    const char *at;
    double value;

    skip_blanks(parser);
    at = parser->p;
    if (take_number(parser, &value))
        for (unsigned i = 0; i < ARRAY_SIZE(units); i++)
            if (take_word(parser, units[i].name)) {
                value *= units[i].ns;
                if (value < 1 || value > (double)max)
                    return fail(parser, "the time '%.40s' is not between 1ns and %llds", at,
                                (long long)(max / (int64_t)NSEC_PER_SEC));
                *ret = (int64_t)value;
                return 0;
            }
    return fail(parser, "invalid time '%.40s' (examples: 50ms, 1.5s)", at);
}

static bool is_relation(const char *p)
{
    return *p == '=' || *p == '!' || *p == '<' || *p == '>';
}

/* ---- Events ---- */

static const char *const words[] = {"latency", "exits",  "stolen", "runnable", "lost",
                                    "exit",    "signal", "at",     NULL};

/* The events are not known before recording. If PATTERN (LEN bytes) has no layer, condition or wildcards and is similar
 * to a word, it is refused as a misspelt word. */
static int check_word(const struct parser *parser, const char *pattern, size_t len)
{
    const char *similar =
        strpbrk(pattern, ":*?") || parser->p[0] == '{' ? NULL : suggest_find(pattern, len, words);

    if (!similar || strcmp(similar, "at") == 0)
        return 0;
    return fail(parser,
                "unknown word '%.40s'; did you mean '%s'? An event of this name is "
                "LAYER:%.40s",
                pattern, similar, pattern);
}

/* Checks in the same way what is before the first ':', a layer or a group. */
static int check_prefix(const struct parser *parser, const char *pattern)
{
    static const char *const prefixes[] = {"qmp",        "guest",   "host", "vmm",
                                           "hypervisor", "program", NULL};
    size_t len = strcspn(pattern, ":");
    const char *similar;
    enum layer layer;
    char prefix[16];

    if (!pattern[len] || len >= sizeof prefix)
        return 0;
    memcpy(prefix, pattern, len);
    prefix[len] = '\0';
    if (strpbrk(prefix, "*?") || layer_by_name(prefix, &layer) == 0)
        return 0;
    similar = suggest_find(prefix, len, prefixes);
    if (similar)
        return fail(parser,
                    "unknown '%s:'; did you mean '%s:'? An event of a group of this name is "
                    "LAYER:%.60s",
                    prefix, similar, pattern);
    return 0;
}

static int parse_event(struct parser *parser)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_.-*?:";
    size_t len = strspn(parser->p, letters), word_len = strcspn(parser->p, " \t{:=<>!");
    const char *similar = word_len > 0 ? suggest_find(parser->p, word_len, words) : NULL;
    const char *pattern = arena_strndup(parser->arena, parser->p, len);
    struct error why = {0};
    const char *start, *end;
    int r;

    if (!pattern)
        return -ENOMEM;
    parser->condition->kind = WATCH_EVENT;
    parser->condition->event.pattern = pattern;
    parser->p += len;
    skip_blanks(parser);
    if (len == 0 || (*parser->p && *parser->p != '{')) {
        if (similar)
            return fail(parser, "unknown word '%.*s'; did you mean '%s'?", (int)MIN(word_len, 40u),
                        pattern, similar);
        return fail(parser,
                    "not an event or one of latency, exits, stolen, runnable, lost, qmp:EVENT, "
                    "exit, signal, at");
    }
    if (pattern[0] == ':' || pattern[len - 1] == ':' || strstr(pattern, "::"))
        return fail(parser, "an event is [LAYER:][GROUP:]EVENT");
    r = check_word(parser, pattern, len);
    if (r == 0)
        r = check_prefix(parser, pattern);
    if (r < 0 || !take(parser, "{"))
        return r;
    start = parser->p;
    end = event_condition_end(start);
    if (!end)
        return fail(parser, "the '}' of the event's condition is missing");
    parser->p = end + 1;
    parser->condition->event.condition = arena_strndup(parser->arena, start, (size_t)(end - start));
    if (!parser->condition->event.condition)
        return -ENOMEM;
    r = condition_check(parser->condition->event.condition, &why);
    return r == -EINVAL ? fail(parser, "%s", why.what) : r;
}

/* ---- Spans ---- */

/* Finds the last '>' that is not a part of the rule's signs and conditions. NULL if there is none. */
static const char *find_limit(const char *p)
{
    const char *found = NULL;

    for (const char *start = p; *p; p++) {
        const char *end = *p == '{' ? event_condition_end(p + 1) : NULL;

        if (end)
            p = end;
        else if (*p == '>' && p > start && p[-1] != '-' && p[-1] != '>' && p[1] != '>')
            found = p;
    }
    return found;
}

/* Takes "p99" or "p99.9" before the rule. */
static int take_percentile(struct parser *parser, unsigned *ret)
{
    double value = 0;
    long permille = 0;

    skip_blanks(parser);
    if (parser->p[0] != 'p' || !isdigit((unsigned char)parser->p[1]))
        return 0;
    parser->p++;
    if (take_number(parser, &value) && value < 100)
        permille = lround(
            value * 10); /* whole: a 32-bit machine compares with more digits than a double has */
    if (permille < 1 || permille > 999 || (*parser->p != ' ' && *parser->p != '\t'))
        return fail(parser, "a percentile is between p0.1 and p99.9");
    *ret = (unsigned)permille;
    return 0;
}

/* Finds all built-in rules called NAME. */
static int find_builtins(struct parser *parser, const char *name)
{
    struct span_rule *rules = arena_alloc(parser->arena, RULES_MAX * sizeof *rules);
    const char *names[64], *similar;
    unsigned n = 0, n_names = 0;

    if (!rules)
        return -ENOMEM;
    for (const struct span_builtin *builtin = span_builtins; builtin->rule; builtin++) {
        struct span_rule rule;
        int r = span_rule_parse(builtin->rule, NULL, parser->arena, &rule, parser->error);

        if (r < 0)
            return r;
        if (strcmp(rule.name, name) == 0 && n < RULES_MAX)
            rules[n++] = rule;
        if (n_names < ARRAY_SIZE(names) - 1)
            names[n_names++] = rule.name;
    }
    names[n_names] = NULL;
    parser->condition->latency.rules = rules;
    parser->condition->latency.n_rules = n;
    if (n > 0)
        return 0;
    similar = suggest_find(name, strlen(name), names);
    if (similar)
        return fail(parser, "no built-in rule is called '%.40s'; did you mean '%s'?", name,
                    similar);
    return fail(parser,
                "no built-in rule is called '%.40s'; 'strata latency --list' shows them, and "
                "'BEGIN -> END' is one of your own",
                name);
}

static int parse_rule(struct parser *parser, const char *text)
{
    struct span_rule *rule = arena_alloc(parser->arena, sizeof *rule);
    struct error why = {0};
    int r;

    if (!rule)
        return -ENOMEM;
    r = span_rule_parse(text, NULL, parser->arena, rule, &why);
    if (r < 0)
        return r == -EINVAL ? fail(parser, "%s", why.what) : r;
    parser->condition->latency.rules = rule;
    parser->condition->latency.n_rules = 1;
    return 0;
}

static int parse_latency(struct parser *parser)
{
    struct watch_condition *condition = parser->condition;
    const char *limit, *rule;
    size_t len;
    int r;

    condition->kind = WATCH_LATENCY;
    r = take_percentile(parser, &condition->latency.permille);
    if (r < 0)
        return r;
    skip_blanks(parser);
    limit = find_limit(parser->p);
    if (!limit)
        return fail(parser, "'> TIME' is missing (example: latency block > 50ms)");
    for (len = (size_t)(limit - parser->p); len > 0 && isblank((unsigned char)parser->p[len - 1]);)
        len--;
    rule = arena_strndup(parser->arena, parser->p, len);
    if (!rule)
        return -ENOMEM;
    parser->p = limit + 1;
    r = strstr(rule, "->") ? parse_rule(parser, rule) : find_builtins(parser, rule);
    return r < 0 ? r : take_time(parser, INT64_C(600) * NSEC_PER_SEC, &condition->latency.ns);
}

/* ---- Rates, shares and numbers ---- */

static int parse_exits(struct parser *parser)
{
    double value;

    parser->condition->kind = WATCH_EXITS;
    if (!take(parser, ">") || !take_number(parser, &value))
        return fail(parser, "'> Nx' or '> N/s' is missing (examples: exits > 2x, exits > 50000/s)");
    if (take(parser, "/s")) {
        parser->condition->exits.rate = value;
        return value >= 1 ? 0 : fail(parser, "a rate is at least 1/s");
    }
    if (!take_word(parser, "x"))
        return fail(parser, "the number of exits is followed by 'x' or '/s'");
    parser->condition->exits.factor = value;
    return value > 1 ? 0 : fail(parser, "a factor is more than 1x");
}

static int parse_share(struct parser *parser, enum watch_kind kind)
{
    struct watch_condition *condition = parser->condition;
    double value;
    int r;

    condition->kind = kind;
    condition->share.ns = NSEC_PER_SEC;
    skip_blanks(parser);
    if (*parser->p != '>') {
        size_t len = strcspn(parser->p, " \t>");
        const char *task = arena_strndup(parser->arena, parser->p, len);

        if (!task)
            return -ENOMEM;
        parser->p += len;
        if (strcmp(task, "vcpu") != 0) {
            if (kind == WATCH_STOLEN)
                return fail(parser, "time is stolen from a vcpu, not from '%.40s'", task);
            condition->share.task = task;
        }
    } else if (kind == WATCH_RUNNABLE) {
        condition->share.task = "*";
    }
    if (!take(parser, ">") || !take_number(parser, &value) || !take(parser, "%") || value <= 0 ||
        value >= 100)
        return fail(parser, "'> N%%' is missing, N between 0 and 100 (example: %s)",
                    kind == WATCH_STOLEN ? "stolen vcpu > 20% for 1s"
                                         : "runnable qemu* > 20% for 1s");
    condition->share.permille = (unsigned)MAX(1L, lround(value * 10));
    if (!take_word(parser, "for"))
        return 0;
    r = take_time(parser, SHARE_MAX_NS, &condition->share.ns);
    if (r == 0 && condition->share.ns < (int64_t)(10 * NSEC_PER_MSEC))
        return fail(parser, "a share is of 10ms at least");
    return r;
}

static int parse_lost(struct parser *parser)
{
    double value = 0;

    parser->condition->kind = WATCH_LOST;
    if (take(parser, ">") && (!take_number(parser, &value) || value > 1e18))
        return fail(parser, "a number of events is missing (example: lost > 1000)");
    parser->condition->lost.more_than = (uint64_t)value;
    return 0;
}

/* ---- Without events ---- */

static int parse_qmp(struct parser *parser)
{
    size_t len = strspn(parser->p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    parser->condition->kind = WATCH_QMP;
    if (len == 0)
        return fail(parser, "an event of QEMU's monitor has capital letters (example: "
                            "qmp:GUEST_PANICKED)");
    parser->condition->qmp.event = arena_strndup(parser->arena, parser->p, len);
    parser->p += len;
    return parser->condition->qmp.event ? 0 : -ENOMEM;
}

static int parse_exit(struct parser *parser)
{
    /* Longer ones first. */
    static const struct {
        const char *sign;
        enum watch_relation relation;
    } signs[] = {
        {"==", WATCH_EQUAL},         {"!=", WATCH_NOT_EQUAL}, {"<=", WATCH_LESS_EQUAL},
        {">=", WATCH_GREATER_EQUAL}, {"<", WATCH_LESS},       {">", WATCH_GREATER},
    };
    double value;

    parser->condition->kind = WATCH_EXIT;
    skip_blanks(parser);
    if (!*parser->p)
        return 0;
    for (unsigned i = 0; i < ARRAY_SIZE(signs); i++)
        if (take(parser, signs[i].sign)) {
            if (!take_number(parser, &value) || value > STATUS_MAX || value != floor(value))
                return fail(parser, "an exit status is between 0 and 255");
            parser->condition->exit.relation = signs[i].relation;
            parser->condition->exit.status = (int)value;
            return 0;
        }
    return fail(parser, "'exit' is followed by ==, !=, <, <=, > or >= and a status");
}

static int parse_signal(struct parser *parser)
{
    parser->condition->kind = WATCH_SIGNAL;
    skip_blanks(parser);
    if (strncmp(parser->p, "SIG", 3) == 0)
        parser->p += 3;
    if (take_word(parser, "USR1"))
        parser->condition->signal = SIGUSR1;
    else if (take_word(parser, "USR2"))
        parser->condition->signal = SIGUSR2;
    else
        return fail(parser, "the signals are USR1 and USR2");
    return 0;
}

/* Takes two digits, at most MAX. */
static bool take_pair(struct parser *parser, unsigned max, unsigned *ret)
{
    const char *p = parser->p;

    if (!isdigit((unsigned char)p[0]) || !isdigit((unsigned char)p[1]))
        return false;
    *ret = (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0');
    parser->p += 2;
    return *ret <= max;
}

static int parse_at(struct parser *parser)
{
    struct watch_condition *condition = parser->condition;

    condition->kind = WATCH_AT;
    skip_blanks(parser);
    if (!take_pair(parser, 23, &condition->at.hour) || *parser->p++ != ':' ||
        !take_pair(parser, 59, &condition->at.minute) ||
        (*parser->p == ':' && (parser->p++, !take_pair(parser, 59, &condition->at.second))))
        return fail(parser, "a time of day is HH:MM or HH:MM:SS");
    return 0;
}

bool watch_exit_matches(const struct watch_condition *condition, int status)
{
    int than = condition->exit.status;

    switch (condition->exit.relation) {
    case WATCH_EQUAL: return status == than;
    case WATCH_NOT_EQUAL: return status != than;
    case WATCH_LESS: return status < than;
    case WATCH_LESS_EQUAL: return status <= than;
    case WATCH_GREATER: return status > than;
    case WATCH_GREATER_EQUAL: return status >= than;
    default: return true;
    }
}

/* ---- All ---- */

static int parse(struct parser *parser)
{
    const char *start;

    if (take(parser, "qmp:"))
        return parse_qmp(parser);
    start = parser->p;
    if (take_word(parser, "latency"))
        return parse_latency(parser);
    if (take_word(parser, "exits"))
        return parse_exits(parser);
    if (take_word(parser, "stolen"))
        return parse_share(parser, WATCH_STOLEN);
    if (take_word(parser, "runnable"))
        return parse_share(parser, WATCH_RUNNABLE);
    if (take_word(parser, "lost") || take_word(parser, "loss"))
        return parse_lost(parser);
    if (take_word(parser, "signal"))
        return parse_signal(parser);
    if (take_word(parser, "at"))
        return parse_at(parser);
    if (take_word(parser, "exit")) {
        skip_blanks(parser);
        if (!*parser->p || is_relation(parser->p))
            return parse_exit(parser);
    }
    parser->p = start;
    return parse_event(parser);
}

int watch_condition_parse(const char *text, struct arena *arena, struct watch_condition *ret,
                          struct error *error)
{
    struct watch_condition condition = {0};
    struct parser parser = {.arena = arena, .error = error, .condition = &condition};
    size_t len;
    int r;

    text += strspn(text, " \t");
    for (len = strlen(text); len > 0 && isblank((unsigned char)text[len - 1]);)
        len--;
    condition.text = parser.text = parser.p = arena_strndup(arena, text, MIN(len, TEXT_MAX));
    if (!parser.text)
        return -ENOMEM;
    if (len == 0)
        return error_set(error, -EINVAL, NULL, "the condition is empty");
    if (len > TEXT_MAX)
        return fail(&parser, "longer than %u bytes", TEXT_MAX);
    r = parse(&parser);
    if (r >= 0)
        r = end_of_text(&parser);
    if (r >= 0)
        *ret = condition;
    return r;
}
