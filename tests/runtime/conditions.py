#!/usr/bin/env python3
"""conditions.py N SEED: writes random.trace-events and random.c, a program that sets N random conditions
on an event, one after the other, emits it with random arguments, and compares whether it was recorded
with what the C compiler makes of the same condition. C's int is made 64 bits wide by casts; where C
leaves open what happens, or differs on purpose (a negative number compared with an unsigned one), a
function says it."""
import random
import sys

FIELDS = [("u8", "uint8_t"), ("s8", "int8_t"), ("u16", "uint16_t"), ("s16", "int16_t"), ("u32", "uint32_t"),
          ("s32", "int32_t"), ("u64", "uint64_t"), ("s64", "int64_t"), ("b", "bool"), ("p", "void *")]
UNSIGNED = {"u64", "p"}
LITERALS = [0, 1, 2, 3, 7, 8, 31, 63, 64, 100, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, 2**31, 2**32 - 1,
            2**32, 2**63 - 1, 2**63, 2**64 - 1]
PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, "<=": 7, ">": 7, ">=": 7,
              "==": 6, "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
UNARY = 11


def literal(r):
    value = r.choice(LITERALS) if r.random() < 0.7 else r.getrandbits(r.choice([4, 8, 32, 64]))
    form = r.randrange(4)
    if form == 0:
        text = hex(value)
    elif form == 1:
        text = "0%o" % value
    elif form == 2 and 32 < value < 127 and chr(value) not in "'\\":
        return "'%c'" % value, "((int64_t)%d)" % value, False
    else:
        text = str(value)
    unsigned = value > 2**63 - 1
    if r.random() < 0.1:
        text += "u"
        unsigned = True
    return text, "((%s)%dull)" % ("uint64_t" if unsigned else "int64_t", value), unsigned


def tree(r, depth):
    """The condition's text, its precedence, C's text, whether its value is unsigned."""
    if depth == 0 or r.random() < 0.15:
        if r.random() < 0.5:
            name = r.choice(FIELDS)[0]
            unsigned = name in UNSIGNED
            return name, 12, "((%s)%s)" % ("uint64_t" if unsigned else "int64_t", name), unsigned
        text, c, unsigned = literal(r)
        return text, 12, c, unsigned
    if r.random() < 0.2:
        op = r.choice("-!~+")
        text, precedence, c, unsigned = tree(r, depth - 1)
        if precedence < UNARY:
            text = "(%s)" % text
        if op == "!":
            return "!" + text, UNARY, "((int64_t)!%s)" % c, False
        return op + " " * r.randrange(2) + text, UNARY, "(%s %s)" % (op, c), unsigned
    op = r.choice(list(PRECEDENCE))
    mine = PRECEDENCE[op]
    left, left_precedence, left_c, left_unsigned = tree(r, depth - 1)
    right, right_precedence, right_c, right_unsigned = tree(r, depth - 1)
    # No more parentheses than it takes, so that precedence is tested; sometimes more.
    if left_precedence < mine or r.random() < 0.1:
        left = "(%s)" % left
    if right_precedence <= mine or r.random() < 0.1:
        right = "(%s)" % right
    space = " " * r.randrange(1, 2)
    text = left + space + op + " " + right
    signs = ("u" if left_unsigned else "s") + ("u" if right_unsigned else "s")
    if op in NAMES:
        return text, mine, "%s_%s(%s, %s)" % (NAMES[op], signs, left_c, right_c), False
    if op in ("&&", "||"):
        return text, mine, "((int64_t)(%s %s %s))" % (left_c, op, right_c), False
    if op in ("<<", ">>"):
        name = ("shl" if op == "<<" else "shr") + "_" + signs[0]
        return text, mine, "%s(%s, (uint64_t)%s)" % (name, left_c, right_c), left_unsigned
    unsigned = left_unsigned or right_unsigned
    if op in ("/", "%"):
        name = ("div" if op == "/" else "mod") + "_" + ("u" if unsigned else "s")
        return text, mine, "%s(%s, %s)" % (name, left_c, right_c), unsigned
    return text, mine, "(%s %s %s)" % (left_c, op, right_c), unsigned


HEAD = r"""
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "trace-t.h"
typedef uint64_t u;
typedef int64_t s;
static jmp_buf divided;
#define RELATION(name, op) \
    static s name##_uu(u l, u r) { return l op r; } \
    static s name##_ss(s l, s r) { return l op r; } \
    static s name##_us(u l, s r) { return (__int128)l op (__int128)r; } \
    static s name##_su(s l, u r) { return (__int128)l op (__int128)r; }
RELATION(lt, <) RELATION(le, <=) RELATION(gt, >) RELATION(ge, >=) RELATION(eq, ==) RELATION(ne, !=)
static u shl_u(u l, u r) { return r < 64 ? l << r : 0; }
static s shl_s(s l, u r) { return r < 64 ? (s)((u)l << r) : 0; }
static u shr_u(u l, u r) { return r < 64 ? l >> r : 0; }
static s shr_s(s l, u r) { return r < 64 ? l >> r : l < 0 ? -1 : 0; }
static void divisor(u r) { if (r == 0) longjmp(divided, 1); }
static u div_u(u l, u r) { divisor(r); return l / r; }
static u mod_u(u l, u r) { divisor(r); return l % r; }
static s div_s(s l, s r) { divisor(r); return (s)((__int128)l / r); }
static s mod_s(s l, s r) { divisor(r); return (s)((__int128)l % r); }
static u seed = 88172645463325252;
static u number(void)
{
    static const u edges[] = {0, 1, 2, 7, 63, 64, 127, 128, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff,
                              0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff};
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    u n = seed >> 8;
    switch (seed & 7) {
    case 0: case 1: case 2: return edges[n % 16];
    case 3: return edges[n % 16] + 1;
    case 4: return n % 200;
    case 5: return -(n % 200);
    default: return n * 0x9e3779b97f4a7c15;
    }
}
"""


def main():
    r = random.Random(int(sys.argv[2]))
    conditions = []
    while len(conditions) < int(sys.argv[1]):
        text, _, c, _ = tree(r, r.randrange(1, 6))
        if len(text) < 1000:
            conditions.append((text, c))
    params = ", ".join("%s %s" % (t, n) if t != "void *" else "void *" + n for n, t in FIELDS)
    with open("random.trace-events", "w", encoding="ascii") as f:
        f.write('case_one(%s) "%s"\n' % (params, " ".join("%p" if t == "void *" else "%d" if t not in (
            "uint64_t", "int64_t") else '%" PRI' + ("u" if t[0] == "u" else "d") + '64 "' for _, t in FIELDS)))
    with open("random.c", "w", encoding="ascii") as f:
        f.write(HEAD)
        for i, (_, c) in enumerate(conditions):
            f.write("static bool c%d(%s) { return !!%s; }\n" % (i, params, c))
        f.write("static const struct { const char *text; bool (*c)(%s); } conditions[] = {\n" % params)
        for i, (text, _) in enumerate(conditions):
            f.write("    {\"%s\", c%d},\n" % (text.replace("\\", "\\\\"), i))
        f.write("""};
static void quiet(const char *message, void *userdata) {}
int main(void)
{
    unsigned held = 0, n = 0;
    int log[2];
    pipe(log);
    dup2(log[1], 2);
    strata_trace_opt_parse(",log"); /* standard error is that from now on */
    strata_trace_set_message(quiet, NULL);
    for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
        if (strata_event_set_filter("case_one", conditions[i].text) != 1)
            return printf("%s: is not taken\\n", conditions[i].text), 1;
        for (int k = 0; k < 40; k++) {
            bool expected = false;
            char text[4096];
            ssize_t len = 0;
""")
        for name, kind in FIELDS:
            f.write("            %s %s = (%s)number();\n" % (kind, name, kind))
        f.write("""            if (setjmp(divided) == 0)
                expected = conditions[i].c(NAMES);
            /* What was recorded stands between two marks. */
            trace_case_one(NAMES);
            write(2, "|", 1);
            while ((len += read(log[0], text + len, sizeof text - 1 - len)) > 0 && text[len - 1] != '|')
                ;
            n++;
            held += expected;
            if (expected != (len > 1))
                return printf("%s: is %d in C, with u8 %d s8 %d u16 %d s16 %d u32 %u s32 %d u64 %#lx s64 %ld b %d p %p\\n",
                    conditions[i].text, expected, u8, s8, u16, s16, u32, s32, (long)u64, (long)s64, b, p), 1;
        }
    }
    printf("%u conditions, %u times, %u held\\n", (unsigned)(sizeof(conditions) / sizeof(*conditions)), n, held);
    return held < n / 10 || held > n - n / 10;
}
""".replace("NAMES", ", ".join(n for n, _ in FIELDS)))


main()
