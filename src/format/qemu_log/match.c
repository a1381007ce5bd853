/* SPDX-License-Identifier: MIT */
/* Converts text back to values, by backtracking over a short list of steps. Hostile text cannot make this explode: a
 * step that matches a string without width or precision can end anywhere, so if the following steps match nowhere, no
 * longer choice of an earlier string helps either. So at such a step, all earlier choices are dropped, and each string
 * is searched for once. What remains are adjacent numbers ("%x%x"), which a budget of steps limits. */
#include "format/qemu_log/steps.h"

#include <string.h>

#include "base/bytes.h"
#include "event/program.h"

struct capture {
    union {
        uint64_t u;
        const char *s;
    };
    uint32_t len;
};

/* A step that could have been matched in another way. */
struct choice {
    const char *start;
    const char *tried; /* STEP_STRING: the end tried last */
    unsigned digits;   /* a number: digits tried last */
    unsigned step;
};

struct log_matcher {
    struct capture captures[FIELDS_MAX];
    struct choice choices[2 * FIELDS_MAX];
    unsigned n_choices;
    size_t budget;
    struct text scratch;
};

int log_matcher_new(struct log_matcher **ret_matcher)
{
    struct log_matcher *m = calloc(1, sizeof *m);

    if (!m)
        return -ENOMEM;
    m->scratch = TEXT_IN_MEMORY;
    text_room(&m->scratch, TEXT_ROOM_MAX);
    if (m->scratch.error) {
        free(m);
        return -ENOMEM;
    }
    *ret_matcher = m;
    return 0;
}

struct log_matcher *log_matcher_free(struct log_matcher *matcher)
{
    if (matcher)
        text_done(&matcher->scratch);
    free(matcher);
    return NULL;
}

/* -- numbers -- */

/* The value of a digit, and one more; upper-case ones have 0x10 added. 0: not a digit. */
static const uint8_t digit_of[256] = {
    ['0'] = 1,    ['1'] = 2,    ['2'] = 3,    ['3'] = 4,    ['4'] = 5,    ['5'] = 6,
    ['6'] = 7,    ['7'] = 8,    ['8'] = 9,    ['9'] = 10,   ['a'] = 11,   ['b'] = 12,
    ['c'] = 13,   ['d'] = 14,   ['e'] = 15,   ['f'] = 16,   ['A'] = 0x1b, ['B'] = 0x1c,
    ['C'] = 0x1d, ['D'] = 0x1e, ['E'] = 0x1f, ['F'] = 0x20,
};

/* Up to LIMIT hexadecimal digits (LIMIT at most 16). */
static inline unsigned read_hex(const char *p, const char *end, unsigned limit, bool upper,
                                uint64_t *ret)
{
    uint64_t v = 0;
    unsigned n = 0;

    if ((size_t)(end - p) < limit)
        limit = (unsigned)(end - p);
    for (; n < limit; n++) {
        unsigned digit = digit_of[(uint8_t)p[n]] - 1u;
        if (upper && digit >= 10)
            digit ^= 0x10;
        if (digit > 15)
            break;
        v = v << 4 | digit;
    }
    *ret = v;
    return n;
}

/* Up to LIMIT decimal digits (LIMIT at most 20); UINT64_MAX with *RET_OVERFLOW beyond 64 bits. */
static inline unsigned read_dec(const char *p, const char *end, unsigned limit, uint64_t *ret,
                                bool *ret_overflow)
{
    uint64_t v = 0;
    unsigned n = 0;
    unsigned safe;

    if ((size_t)(end - p) < limit)
        limit = (unsigned)(end - p);
    safe = MIN(limit, 19u);
    for (; n < safe; n++) {
        unsigned digit = (unsigned)(uint8_t)p[n] - '0';
        if (digit > 9)
            break;
        v = v * 10 + digit;
    }
    *ret_overflow = false;
    if (n == 19 && limit > 19 && (unsigned)(uint8_t)p[19] - '0' <= 9) {
        *ret_overflow = __builtin_mul_overflow(v, 10, &v) ||
                        __builtin_add_overflow(v, (uint64_t)(p[19] - '0'), &v);
        n++;
    }
    *ret = v;
    return n;
}

static inline bool is_canonical(const char *digits, unsigned n, unsigned min_digits)
{
    return n == min_digits || (n > min_digits && digits[0] != '0');
}

/* V, which the conversion shows, as the declared type holds it; false when that type would have
 * been shown otherwise. */
static inline bool store_number(const struct step *step, uint64_t v, struct capture *captures)
{
    uint64_t held;
    unsigned unused = 64 - 8u * step->size;

    if (step->is_signed)
        held = (uint64_t)sign_extend(v, step->c_size);
    else
        held = v & (~UINT64_C(0) >> (64 - 8 * step->c_size));
    if ((held ^ v) << unused != 0 || (step->is_bool && held > 1))
        return false;
    captures[step->field].u = held;
    return true;
}

/* Reads what printf could have made of any integer conversion, formats the value again and compares.
 * The number of digits taken is at most LIMIT and stored. */
static const char *match_loose(struct log_matcher *m, const struct step *step, const char *p,
                               const char *end, unsigned *digits)
{
    struct spec spec = step->spec;
    unsigned base = spec.conversion == 'x' || spec.conversion == 'X' || spec.conversion == 'p' ? 16
                    : spec.conversion == 'o'                                                   ? 8
                                                                                               : 10;
    const char *q = p;
    const char *first;
    bool negative = false;
    uint64_t v = 0;
    unsigned n = 0;
    size_t len;

    while (q < end && *q == ' ')
        q++;
    if (q < end && (*q == '-' || *q == '+'))
        negative = *q++ == '-';
    if (base == 16 && end - q > 2 && q[0] == '0' && (q[1] | 0x20) == 'x')
        q += 2;
    first = q;
    if (spec.conversion == 'p' && (size_t)(end - q) >= 5 && memcmp(q, "(nil)", 5) == 0) {
        n = 1; /* not to be tried with fewer */
        q += 5;
    } else {
        while (q < end && n < *digits && n < 1024) {
            unsigned digit = digit_of[(uint8_t)*q] - 1u;
            if (digit < 0x20)
                digit &= 0xf;
            if (digit >= base)
                break;
            v = v * base + digit;
            q++;
            n++;
        }
        /* "%.0d" of 0 is nothing at all. */
        if (q == first && !(spec.precision_star || (spec.has_precision && spec.precision == 0)))
            return NULL;
    }
    *digits = n;

    if (negative)
        v = -v;
    if (spec.width_star) {
        if (spec.left)
            while (q < end && *q == ' ')
                q++;
        spec.width = (uint16_t)MIN(q - p, 1024);
        m->captures[step->width_field].u = spec.width;
    }
    if (spec.precision_star) {
        spec.has_precision = true;
        spec.precision = (uint16_t)MIN(n, 1024u);
        m->captures[step->precision_field].u = spec.precision;
    }

    m->scratch.next = m->scratch.start;
    spec_put_integer(&spec, v, &m->scratch);
    len = text_len(&m->scratch);
    if (len > (size_t)(end - p) || memcmp(p, m->scratch.start, len) != 0)
        return NULL;
    return store_number(step, v, m->captures) ? p + len : NULL;
}

/* Matches a number of at most *DIGITS digits, and stores how many there were. */
static inline const char *match_number(struct log_matcher *m, const struct step *step,
                                       const char *p, const char *end, unsigned *digits)
{
    bool overflow = false;
    bool negative = false;
    uint64_t v;
    unsigned n;

    switch (step->kind) {
    case STEP_HEX:
    case STEP_HEX_UPPER:
        n = read_hex(p, end, MIN(*digits, MAX(2u * step->size, step->min_digits)),
                     step->kind == STEP_HEX_UPPER, &v);
        *digits = n;
        if (!is_canonical(p, n, step->min_digits) || (step->size < 8 && v >> 8 * step->size))
            return NULL;
        return store_number(step, v, m->captures) ? p + n : NULL;
    case STEP_UNSIGNED:
        n = read_dec(p, end, MIN(*digits, 20u), &v, &overflow);
        *digits = n;
        if (overflow || !is_canonical(p, n, step->min_digits) ||
            (step->size < 8 && v >> 8 * step->size))
            return NULL;
        return store_number(step, v, m->captures) ? p + n : NULL;
    case STEP_SIGNED:
        if (p < end && *p == '-') {
            negative = true;
            p++;
        }
        n = read_dec(p, end, MIN(*digits, 20u), &v, &overflow);
        *digits = n;
        /* The range is symmetric but for the one more negative number; "-0" is not a number. */
        if (overflow || !is_canonical(p, n, 1) || (negative && v == 0) ||
            v > (UINT64_C(1) << (8 * step->size - 1)) - !negative)
            return NULL;
        return store_number(step, negative ? -v : v, m->captures) ? p + n : NULL;
    case STEP_POINTER:
        if (end - p >= 5 && memcmp(p, "(nil)", 5) == 0) {
            *digits = 1;
            m->captures[step->field].u = 0;
            return p + 5;
        }
        if (end - p < 3 || p[0] != '0' || p[1] != 'x' || p[2] == '0') {
            *digits = 0;
            return NULL;
        }
        p += 2;
        n = read_hex(p, end, MIN(*digits, 16u), false, &v);
        *digits = n;
        return n && store_number(step, v, m->captures) ? p + n : NULL;
    default: return match_loose(m, step, p, end, digits);
    }
}

/* -- strings and literals -- */

static inline bool match_literal(const struct step *step, const char *p, const char *end)
{
    size_t left = (size_t)(end - p);

    if (likely(left >= 8)) {
        if ((load_u64(p) ^ step->head) & step->head_mask)
            return false;
        return step->len <= 8 ||
               (step->len <= left && memcmp(p + 8, step->literal + 8, step->len - 8) == 0);
    }
    return step->len <= left && memcmp(p, step->literal, step->len) == 0;
}

/* Where a literal begins at or after P, or NULL. */
static const char *find_literal(struct log_matcher *m, const struct step *step, const char *p,
                                const char *end)
{
    const char *last;

    if ((size_t)(end - p) < step->len)
        return NULL;
    last = end - step->len;
    while (p <= last) {
        p = memchr(p, step->literal[0], (size_t)(last - p) + 1);
        if (!p)
            return NULL;
        if (match_literal(step, p, end))
            return p;
        if (m->budget == 0)
            return NULL;
        m->budget--;
        p++;
    }
    return NULL;
}

/* The end of the line that begins at P: before its newline and a carriage return in front. */
static const char *line_end(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));

    if (!newline)
        return end;
    return newline > p && newline[-1] == '\r' ? newline - 1 : newline;
}

static bool is_line_end(const char *p, const char *end)
{
    if (p < end && *p == '\r')
        p++;
    return p == end || *p == '\n';
}

/* The next place at or after FROM where the string of STEP may end, or NULL. */
static const char *string_end(struct log_matcher *m, const struct log_pattern *pattern, unsigned i,
                              const char *from, const char *end, bool lines, bool again)
{
    const struct step *next = &pattern->steps[i + 1];

    if (i + 1 == pattern->n_steps) {
        if (again)
            return NULL;
        return lines && !pattern->multiline ? line_end(from, end) : end;
    }
    if (next->kind == STEP_LITERAL) {
        if (i + 2 == pattern->n_steps && !lines) {
            /* Only at the very end. */
            if ((size_t)(end - from) < next->len)
                return NULL;
            return match_literal(next, end - next->len, end) ? end - next->len : NULL;
        }
        return find_literal(m, next, from, end);
    }
    return from <= end ? from : NULL;
}

/* The string of STEP without what a width added; false when the step cannot give this text. */
static bool store_string(struct log_matcher *m, const struct step *step, const char *s,
                         const char *end)
{
    const struct spec *spec = &step->spec;
    size_t len = (size_t)(end - s);

    if (unlikely(!step->plain)) {
        size_t width = spec->width;

        if (spec->width_star) {
            width = MIN(len, 1024u);
            m->captures[step->width_field].u = width;
        }
        if (len < width)
            return false;
        if (len == width && width > 0 && !spec->left)
            while (len > 0 && *s == ' ') {
                s++;
                len--;
            }
        else if (len == width && width > 0)
            while (len > 0 && s[len - 1] == ' ')
                len--;
        if (spec->precision_star)
            m->captures[step->precision_field].u = len;
        else if (spec->has_precision && len > spec->precision)
            return false;
    }
    m->captures[step->field] = (struct capture){.s = s, .len = (uint32_t)len};
    return true;
}

/* -- the walk -- */

/* Goes back to the choice made last that has another way; false when there is none. */
static bool next_choice(struct log_matcher *m, const struct log_pattern *pattern, const char *end,
                        bool lines, unsigned *i, const char **p)
{
    while (m->n_choices > 0) {
        struct choice *choice = &m->choices[m->n_choices - 1];
        const struct step *step = &pattern->steps[choice->step];
        const char *to = NULL;

        if (m->budget == 0)
            return false;
        m->budget--;
        if (step->kind == STEP_STRING) {
            if (choice->tried < end)
                to = string_end(m, pattern, choice->step, choice->tried + 1, end, lines, true);
            if (to) {
                choice->tried = to;
                if (!store_string(m, step, choice->start, to))
                    continue;
            }
        } else if (choice->digits > 1) {
            unsigned digits = choice->digits - 1;
            to = match_number(m, step, choice->start, end, &digits);
            choice->digits--;
            if (!to)
                continue;
        }
        if (!to) {
            m->n_choices--;
            continue;
        }
        *i = choice->step + 1;
        *p = to;
        return true;
    }
    return false;
}

static bool walk(struct log_matcher *m, const struct log_pattern *pattern, const char *text,
                 const char *end, bool lines, const char **ret_end)
{
    const char *p = text;
    unsigned i = 0;

    m->n_choices = 0;
    for (;;) {
        const struct step *step = &pattern->steps[i];
        const char *to;

        if (i == pattern->n_steps) {
            if (p == end || (lines && is_line_end(p, end))) {
                *ret_end = p;
                return true;
            }
            to = NULL;
        } else if (step->kind == STEP_LITERAL) {
            to = match_literal(step, p, end) ? p + step->len : NULL;
        } else if (step->kind == STEP_STRING) {
            if (step->plain)
                m->n_choices = 0;
            to = string_end(m, pattern, i, p, end, lines, false);
            if (to) {
                m->choices[m->n_choices++] = (struct choice){.start = p, .tried = to, .step = i};
                if (!store_string(m, step, p, to))
                    to = NULL;
            }
        } else if (step->kind == STEP_CHAR) {
            to = p < end && store_number(step, (uint8_t)*p, m->captures) ? p + 1 : NULL;
        } else {
            unsigned digits = UINT16_MAX;
            to = match_number(m, step, p, end, &digits);
            if (step->shrinks && digits > 1)
                m->choices[m->n_choices++] =
                    (struct choice){.start = p, .digits = digits, .step = i};
        }

        if (likely(to != NULL)) {
            p = to;
            i++;
        } else if (!next_choice(m, pattern, end, lines, &i, &p)) {
            return false;
        }
    }
}

static uint32_t encode(const struct log_matcher *m, const struct log_pattern *pattern,
                       uint8_t *payload)
{
    uint8_t *p = payload;

    for (unsigned i = 0; i < pattern->n_taken; i++) {
        const struct capture *capture = &m->captures[i];

        if (pattern->fields[i].type == FIELD_STRING) {
            store_u32(p, capture->len);
            memcpy(p + 4, capture->s, capture->len);
            p += 4 + capture->len;
        } else {
            store_u64(p, capture->u);
            p += 8;
        }
    }
    return (uint32_t)(p - payload);
}

bool log_pattern_match(struct log_matcher *matcher, const struct log_pattern *pattern,
                       const char *text, size_t len, bool lines, uint8_t *payload,
                       uint32_t *ret_size, size_t *ret_taken)
{
    const char *end;

    matcher->budget = 4096 + 8 * len;
    if (!walk(matcher, pattern, text, text + len, lines, &end))
        return false;
    *ret_size = encode(matcher, pattern, payload);
    *ret_taken = (size_t)(end - text);
    return true;
}
