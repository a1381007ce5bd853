/* SPDX-License-Identifier: MIT */
#include "filter/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/macro.h"

/* Like pattern_match(), but `\` makes the next character plain, and of TEXT, which need not end, SIZE
 * bytes are looked at. */
static bool match(const char *pattern, const char *text, size_t size)
{
    const char *end = text + size;
    const char *behind_star = NULL;
    const char *taken = NULL;

    for (;;) {
        char c = text < end ? *text : '\0';
        bool plain = *pattern == '\\' && pattern[1];

        if (*pattern == '*') {
            behind_star = ++pattern;
            taken = text;
        } else if (c && (plain ? pattern[1] == c : *pattern == c || *pattern == '?')) {
            pattern += 1 + plain;
            text++;
        } else if (!c && !*pattern) {
            return true;
        } else if (behind_star && taken < end && *taken) {
            pattern = behind_star;
            text = ++taken;
        } else {
            return false;
        }
    }
}

static bool match_string(const char *pattern, uint64_t string)
{
    const char *text = (const char *)(uintptr_t)string;

    return text ? match(pattern, text, STRATA_STRING_MAX) : match(pattern, "", 0);
}

/* Asks the kernel each time: a change of a thread's name is not notified. */
static _cold_ bool match_thread(const char *pattern)
{
    int saved_errno = errno;
    char name[16] = "";

    (void)prctl(PR_GET_NAME, name);
    errno = saved_errno;
    return match(pattern, name, sizeof(name));
}

static bool same(uint64_t a, uint64_t b)
{
    const char *first = a ? (const char *)(uintptr_t)a : "";
    const char *second = b ? (const char *)(uintptr_t)b : "";

    return strncmp(first, second, STRATA_STRING_MAX) == 0;
}

/* That values are there to be taken is the verifier's matter, of which the analyzer knows nothing.
 * NOLINTBEGIN(clang-analyzer-core.uninitialized.Assign,clang-analyzer-core.uninitialized.Branch,clang-analyzer-core.uninitialized.UndefReturn) */
bool filter_run(const struct filter_program *program, const uint64_t *values,
                uint32_t (*thread_number)(void))
{
    const struct filter_instruction *code = filter_instructions(program);
    const struct filter_instruction *at = code;
    const char *patterns = filter_patterns(program);
    uint64_t stack[FILTER_STACK_MAX + 1];
    uint64_t *top = stack; /* below the first value */

    for (;; at++) {
        switch ((enum filter_operation)at->operation) {
        case OPERATION_RETURN: return *top;
        case OPERATION_CONSTANT: *++top = program->constants[at->b]; break;
        case OPERATION_LOAD_U: *++top = values[at->a] << at->b >> at->b; break;
        case OPERATION_LOAD_S:
            *++top = (uint64_t)((int64_t)(values[at->a] << at->b) >> at->b);
            break;
        case OPERATION_THREAD: *++top = thread_number(); break;
        case OPERATION_MATCH: *++top = match_string(patterns + at->b, values[at->a]); break;
        case OPERATION_MATCH_THREAD: *++top = match_thread(patterns + at->b); break;
        case OPERATION_SAME: *++top = same(values[at->a], values[at->b]); break;
        case OPERATION_AND:
            if (*top)
                top--;
            else
                at = code + at->b - 1;
            break;
        case OPERATION_OR:
            if (*top) {
                *top = 1;
                at = code + at->b - 1;
            } else {
                top--;
            }
            break;
#define DIVISION(name, value)     \
    case OPERATION_##name: {      \
        uint64_t r = *top--;      \
        uint64_t l = *top;        \
                                  \
        if (unlikely(r == 0))     \
            return false;         \
        *top = (uint64_t)(value); \
        break;                    \
    }
            DIVISION(DIVIDE_U, l / r)
            DIVISION(MODULO_U, l % r)
            /* The least number by -1 is one too many for the processor. */
            DIVISION(DIVIDE_S, r == UINT64_MAX ? 0 - l : (uint64_t)((int64_t)l / (int64_t)r))
            DIVISION(MODULO_S, r == UINT64_MAX ? 0 : (uint64_t)((int64_t)l % (int64_t)r))
#undef DIVISION
#define X(name, value)            \
    case OPERATION_##name: {      \
        uint64_t l = *top;        \
        *top = (uint64_t)(value); \
        break;                    \
    }
            FILTER_UNARY(X)
#undef X
#define X(name, value)            \
    case OPERATION_##name: {      \
        uint64_t r = *top--;      \
        uint64_t l = *top;        \
        *top = (uint64_t)(value); \
        break;                    \
    }
            FILTER_BINARY(X)
#undef X
        case OPERATIONS: __builtin_unreachable();
        }
    }
}
/* NOLINTEND(clang-analyzer-core.uninitialized.Assign,clang-analyzer-core.uninitialized.Branch,clang-analyzer-core.uninitialized.UndefReturn) */
