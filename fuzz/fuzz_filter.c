/* SPDX-License-Identifier: MIT */

/* Conditions (filter/filter.h). A text is compiled and run on the arguments of an event, and the result
 * compared with that of an evaluator that goes by the tree and by numbers without an end. An input that
 * begins with a NUL is a program: what the verifier takes may do anything but harm. */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "filter/filter.h"
#include "runtime/process/thread_number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_FIELDS = 10, FIRST_STRING = 8, THREAD = N_FIELDS, N_STRINGS = 5 };

static const struct strata_field fields[N_FIELDS] = {
    {"a", "uint8_t", STRATA_FIELD_UNSIGNED, 1},    {"b", "int8_t", STRATA_FIELD_SIGNED, 1},
    {"c", "uint32_t", STRATA_FIELD_UNSIGNED, 4},   {"d", "int", STRATA_FIELD_SIGNED, 4},
    {"e", "uint64_t", STRATA_FIELD_UNSIGNED, 8},   {"f", "int64_t", STRATA_FIELD_SIGNED, 8},
    {"g", "bool", STRATA_FIELD_BOOL, 1},           {"h", "void *", STRATA_FIELD_POINTER, 8},
    {"s", "const char *", STRATA_FIELD_STRING, 0}, {"t", "char *", STRATA_FIELD_STRING, 0},
};

static const char *const strings[N_STRINGS] = {NULL, "", "disk0", "a*b?c\\d", "aaab"};

/* ---- The other evaluator ---- */

typedef __int128 wide;

struct result {
    bool is_unsigned;
    wide value; /* of an unsigned one 0 to 2^64 - 1 */
};

struct evaluator {
    const struct filter_condition *condition;
    const uint64_t *values;
    unsigned left[FILTER_TEXT_MAX + 1];
    unsigned right[FILTER_TEXT_MAX + 1];
    bool divided_by_zero;
};

static wide as_type(wide value, bool is_unsigned)
{
    return is_unsigned ? (wide)(uint64_t)value : (wide)(int64_t)(uint64_t)value;
}

static void proto_nodes(struct evaluator *evaluator)
{
    static unsigned stack[FILTER_TEXT_MAX + 1];
    unsigned n = 0;

    for (unsigned i = 0; i < evaluator->condition->n_nodes; i++) {
        const struct filter_node *node = &evaluator->condition->nodes[i];

        if (node->kind == NODE_BRANCH)
            continue;
        if (node->kind == NODE_BINARY)
            evaluator->right[i] = stack[--n];
        if (node->kind == NODE_BINARY || node->kind == NODE_UNARY)
            evaluator->left[i] = stack[--n];
        stack[n++] = i;
    }
}

static int field_of(const struct evaluator *evaluator, const struct filter_node *node)
{
    const char *name = evaluator->condition->text + node->start;

    for (int i = 0; i < N_FIELDS; i++)
        if (node->len == 1 && *name == *fields[i].name)
            return i;
    return memcmp(name, "thread.name", node->len) == 0 ? THREAD : -1;
}

static struct result value_of(const struct evaluator *evaluator, const struct filter_node *node)
{
    const char *name = evaluator->condition->text + node->start;
    int field = field_of(evaluator, node);
    uint64_t value;

    if (field < 0)
        return (struct result){.value = *name == 't' && name[1] == 'h'   ? thread_number()
                                        : *name == 't' && name[1] == 'r' ? 1
                                                                         : 0};
    value = evaluator->values[field];
    switch (field) {
    case 0: return (struct result){.value = (uint8_t)value};
    case 1: return (struct result){.value = (int8_t)value};
    case 2: return (struct result){.value = (uint32_t)value};
    case 3: return (struct result){.value = (int32_t)value};
    case 4:
    case 7: return (struct result){true, value};
    case 5: return (struct result){.value = (int64_t)value};
    default: return (struct result){.value = (uint8_t)value};
    }
}

/* By a table of which parts of the pattern match which beginnings of the text. */
static bool matches(const char *pattern, const char *text)
{
    size_t n = strnlen(text, STRATA_STRING_MAX);
    bool row[STRATA_STRING_MAX + 1] = {true};

    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            for (size_t i = 1; i <= n; i++)
                row[i] |= row[i - 1];
            continue;
        }
        bool any = *pattern == '?';

        if (*pattern == '\\')
            pattern++;
        for (size_t i = n; i > 0; i--)
            row[i] = row[i - 1] && (any || text[i - 1] == *pattern);
        row[0] = false;
    }
    return row[n];
}

static const char *string_of(const struct evaluator *evaluator, const struct filter_node *node)
{
    int field = field_of(evaluator, node);
    uint64_t value;

    if (field == THREAD) {
        static char name[16];

        (void)prctl(PR_GET_NAME, name);
        return name;
    }
    value = evaluator->values[field];
    return value ? (const char *)(uintptr_t)value : "";
}

static bool is_string(const struct evaluator *evaluator, const struct filter_node *node)
{
    return node->kind == NODE_TEXT ||
           (node->kind == NODE_NAME && field_of(evaluator, node) >= FIRST_STRING);
}

static bool same_strings(const struct evaluator *evaluator, const struct filter_node *left,
                         const struct filter_node *right)
{
    if (left->kind == NODE_TEXT)
        return matches(evaluator->condition->patterns + left->start, string_of(evaluator, right));
    if (right->kind == NODE_TEXT)
        return matches(evaluator->condition->patterns + right->start, string_of(evaluator, left));
    return strcmp(string_of(evaluator, left), string_of(evaluator, right)) == 0;
}

static struct result evaluate(struct evaluator *evaluator, unsigned at);

static struct result unary(const struct filter_node *node, struct result l)
{
    switch (node->op) {
    case OPERATOR_NEGATE: l.value = as_type(-l.value, l.is_unsigned); break;
    case OPERATOR_BIT_NOT: l.value = as_type(-l.value - 1, l.is_unsigned); break;
    case OPERATOR_NOT: l = (struct result){.value = l.value == 0}; break;
    default: break;
    }
    return l;
}

static wide shift(struct result l, wide count, bool to_the_left)
{
    /* A count below 0 is as a large one. */
    bool all = count < 0 || count > 63;

    if (to_the_left)
        return all ? 0 : as_type((wide)((unsigned __int128)l.value << count), l.is_unsigned);
    if (all)
        return l.value < 0 ? -1 : 0;
    return l.value >> count;
}

static struct result binary(struct evaluator *evaluator, const struct filter_node *node,
                            struct result l, struct result r)
{
    bool is_unsigned = l.is_unsigned || r.is_unsigned;
    wide a = as_type(l.value, is_unsigned);
    wide b = as_type(r.value, is_unsigned);
    wide value = 0;

    switch (node->op) {
    case OPERATOR_LESS: return (struct result){.value = l.value < r.value};
    case OPERATOR_LESS_EQUAL: return (struct result){.value = l.value <= r.value};
    case OPERATOR_GREATER: return (struct result){.value = l.value > r.value};
    case OPERATOR_GREATER_EQUAL: return (struct result){.value = l.value >= r.value};
    case OPERATOR_EQUAL: return (struct result){.value = l.value == r.value};
    case OPERATOR_NOT_EQUAL: return (struct result){.value = l.value != r.value};
    case OPERATOR_SHIFT_LEFT:
    case OPERATOR_SHIFT_RIGHT:
        return (struct result){l.is_unsigned, shift(l, r.value, node->op == OPERATOR_SHIFT_LEFT)};
    case OPERATOR_DIVIDE:
    case OPERATOR_MODULO:
        if (b == 0) {
            evaluator->divided_by_zero = true;
            return (struct result){0};
        }
        value = node->op == OPERATOR_DIVIDE ? a / b : a % b;
        break;
    case OPERATOR_MULTIPLY: value = (wide)((unsigned __int128)a * (unsigned __int128)b); break;
    case OPERATOR_ADD: value = a + b; break;
    case OPERATOR_SUBTRACT: value = a - b; break;
    case OPERATOR_BIT_AND: value = a & b; break;
    case OPERATOR_BIT_OR: value = a | b; break;
    case OPERATOR_BIT_XOR: value = a ^ b; break;
    default: abort();
    }
    return (struct result){is_unsigned, as_type(value, is_unsigned)};
}

static struct result evaluate(struct evaluator *evaluator, unsigned at)
{
    const struct filter_node *nodes = evaluator->condition->nodes;
    const struct filter_node *node = &nodes[at];
    struct result l;
    bool decides;

    switch (node->kind) {
    case NODE_NUMBER:
        return (struct result){node->is_unsigned, as_type(node->value, node->is_unsigned)};
    case NODE_NAME: return value_of(evaluator, node);
    case NODE_UNARY: return unary(node, evaluate(evaluator, evaluator->left[at]));
    default: break;
    }
    if (is_string(evaluator, &nodes[evaluator->left[at]]))
        return (struct result){.value = same_strings(evaluator, &nodes[evaluator->left[at]],
                                                     &nodes[evaluator->right[at]]) ==
                                        (node->op == OPERATOR_EQUAL)};
    l = evaluate(evaluator, evaluator->left[at]);
    if (evaluator->divided_by_zero)
        return l;
    if (node->op != OPERATOR_AND && node->op != OPERATOR_OR)
        return binary(evaluator, node, l, evaluate(evaluator, evaluator->right[at]));
    decides = (l.value != 0) == (node->op == OPERATOR_OR);
    if (!decides)
        l = evaluate(evaluator, evaluator->right[at]);
    return (struct result){.value = l.value != 0};
}

/* ---- Values ---- */

static uint64_t next(uint64_t *seed)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     63,
                                     64,
                                     127,
                                     128,
                                     255,
                                     256,
                                     0x7fffffff,
                                     0x80000000,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT64_MAX};
    uint64_t n;

    *seed = *seed * 6364136223846793005 + 1442695040888963407;
    n = *seed >> 33;
    switch (n & 3) {
    case 0: return edges[(n >> 2) % (sizeof(edges) / sizeof(*edges))];
    case 1: return (n >> 2) % 100;
    case 2: return -((n >> 2) % 100);
    default: return *seed * 0x9e3779b97f4a7c15;
    }
}

static void make_values(uint64_t *values, uint64_t *seed)
{
    for (int i = 0; i < FIRST_STRING; i++)
        values[i] = next(seed);
    values[6] &= 1;
    for (int i = FIRST_STRING; i < N_FIELDS; i++)
        values[i] = (uintptr_t)strings[next(seed) % N_STRINGS];
}

static void run_text(const uint8_t *data, size_t size)
{
    struct filter_condition *condition = NULL;
    struct filter_program *program = NULL;
    struct filter_error error = {0};
    struct filter_error warning;
    uint64_t seed = size;
    char *text = malloc(size + 1);

    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (filter_parse(text, &condition, &error) < 0 ||
        filter_compile(condition, fields, N_FIELDS, &program, &error, &warning) < 0) {
        if (error.column < 1 || error.column > strlen(text) + 1 || !*error.text)
            abort();
        goto end;
    }
    if (!filter_verify(program, program->size, fields, N_FIELDS))
        abort();
    for (int i = 0; i < 20; i++) {
        static struct evaluator evaluator;
        uint64_t values[N_FIELDS];
        struct result result;

        make_values(values, &seed);
        evaluator.condition = condition;
        evaluator.values = values;
        evaluator.divided_by_zero = false;
        proto_nodes(&evaluator);
        result = evaluate(&evaluator, condition->n_nodes - 1);
        if (filter_run(program, values, thread_number) !=
            (result.value != 0 && !evaluator.divided_by_zero))
            abort();
    }
end:
    free(program);
    free(condition);
    free(text);
}

static void run_program(const uint8_t *data, size_t size)
{
    struct filter_program *program = malloc(size); /* as large as it says, so that ASan sees */
    uint64_t values[N_FIELDS];
    uint64_t seed = 1;

    if (!program)
        return;
    memcpy(program, data, size);
    if (filter_verify(program, size, fields, N_FIELDS))
        for (int i = 0; i < 4; i++) {
            make_values(values, &seed);
            (void)filter_run(program, values, thread_number);
        }
    free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && *data == 0)
        run_program(data + 1, size - 1);
    else
        run_text(data, size);
    return 0;
}
