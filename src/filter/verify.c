/* SPDX-License-Identifier: MIT */
#include "filter/filter.h"

#include <string.h>

/* Programs are made in this process only, from a text. They are checked all the same, by code that
 * knows nothing of the compiler: what runs in a program's signal handler must not depend on the compiler
 * being correct. It costs a microsecond a program, and lets the fuzzer run any bytes that pass.
 *
 * As jumps only lead forward, one look at each instruction in order knows the stack's height there: it
 * is the same by all ways that lead to it, or the program is refused. */

#define UNKNOWN 0xff

struct verifier {
    const struct filter_program *program;
    const struct strata_field *fields;
    const char *patterns;
    size_t patterns_len;
    unsigned height;
};

static bool is_number(const struct verifier *verifier, unsigned field, unsigned shift)
{
    return field < verifier->program->n_fields &&
           verifier->fields[field].kind != STRATA_FIELD_STRING && shift < 64;
}

static bool is_string(const struct verifier *verifier, unsigned field)
{
    return field < verifier->program->n_fields &&
           verifier->fields[field].kind == STRATA_FIELD_STRING;
}

static bool is_pattern(const struct verifier *verifier, unsigned at)
{
    return at < verifier->patterns_len &&
           memchr(verifier->patterns + at, 0, verifier->patterns_len - at);
}

static bool pushes(struct verifier *verifier, unsigned n)
{
    verifier->height += n;
    return verifier->height <= verifier->program->depth;
}

static bool check_instruction(struct verifier *verifier,
                              const struct filter_instruction *instruction)
{
    switch (instruction->operation) {
    case OPERATION_CONSTANT:
        return instruction->b < verifier->program->n_constants && pushes(verifier, 1);
    case OPERATION_LOAD_U:
    case OPERATION_LOAD_S:
        return is_number(verifier, instruction->a, instruction->b) && pushes(verifier, 1);
    case OPERATION_THREAD: return pushes(verifier, 1);
    case OPERATION_MATCH:
        return is_string(verifier, instruction->a) && is_pattern(verifier, instruction->b) &&
               pushes(verifier, 1);
    case OPERATION_MATCH_THREAD: return is_pattern(verifier, instruction->b) && pushes(verifier, 1);
    case OPERATION_SAME:
        return is_string(verifier, instruction->a) && is_string(verifier, instruction->b) &&
               pushes(verifier, 1);
    case OPERATION_RETURN: return verifier->height == 1;
    case OPERATION_AND:
    case OPERATION_OR:
#define X(name, value) case OPERATION_##name:
        FILTER_UNARY(X)
#undef X
        return verifier->height >= 1;
    default:
        if (instruction->operation >= OPERATIONS || verifier->height < 2)
            return false;
        verifier->height--;
        return true;
    }
}

/* AT: the height behind each instruction that is jumped to, as far as jumps were seen. */
static bool check_code(struct verifier *verifier, uint8_t *at)
{
    const struct filter_instruction *code = filter_instructions(verifier->program);
    unsigned n = verifier->program->n_instructions;
    bool reached = true;

    for (unsigned i = 0; i < n; i++) {
        if (at[i] != UNKNOWN) {
            if (reached && verifier->height != at[i])
                return false;
            verifier->height = at[i];
            reached = true;
        }
        if (!reached || !check_instruction(verifier, &code[i]))
            return false;
        if (code[i].operation == OPERATION_RETURN) {
            reached = false;
        } else if (code[i].operation == OPERATION_AND || code[i].operation == OPERATION_OR) {
            unsigned aim = code[i].b;

            if (aim <= i || aim >= n || (at[aim] != UNKNOWN && at[aim] != verifier->height))
                return false;
            at[aim] = (uint8_t)verifier->height--;
        }
    }
    return !reached;
}

bool filter_verify(const struct filter_program *program, size_t size,
                   const struct strata_field *fields, unsigned n_fields)
{
    static const uint8_t zero[sizeof(program->zero)];
    uint8_t at[2 * (FILTER_TEXT_MAX + 1)];
    struct verifier verifier = {.program = program, .fields = fields};
    size_t fixed;

    if (size < sizeof(*program) || program->size != size || size % 8 != 0 ||
        program->n_instructions == 0 || program->n_instructions > sizeof(at) ||
        program->n_fields > n_fields || program->depth > FILTER_STACK_MAX ||
        memcmp(program->zero, zero, sizeof(zero)) != 0)
        return false;
    fixed = sizeof(*program) + program->n_constants * sizeof(uint64_t) +
            program->n_instructions * sizeof(struct filter_instruction);
    if (fixed > size)
        return false;
    verifier.patterns = filter_patterns(program);
    verifier.patterns_len = size - fixed;
    memset(at, UNKNOWN, program->n_instructions);
    return check_code(&verifier, at);
}
