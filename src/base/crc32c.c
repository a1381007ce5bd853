/* SPDX-License-Identifier: MIT */
#include "base/crc32c.h"

#include <pthread.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/bytes.h"
#include "base/macro.h"

/* The polynomial with its lowest power in the highest bit. */
#define POLYNOMIAL UINT32_C(0x82f63b78)

/* table[0][b]: what the byte B adds; table[n][b]: the same with N bytes of zeros behind it, so that
 * eight bytes are looked up at once. */
static uint32_t table[8][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t v = b;

        for (unsigned bit = 0; bit < 8; bit++)
            v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
        table[0][b] = v;
    }
    for (uint32_t b = 0; b < 256; b++)
        for (unsigned n = 1; n < 8; n++)
            table[n][b] = table[n - 1][b] >> 8 ^ table[0][table[n - 1][b] & 0xff];
}

#if defined(__x86_64__)
/* "TCGTCGTCGTCG", in three registers. */
#define TCGT UINT32_C(0x54474354)
#define CGTC UINT32_C(0x43544743)
#define GTCG UINT32_C(0x47435447)

/* The processor's own instruction, where there is a real one: six times as fast. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t v, const uint8_t *p,
                                                                 size_t size)
{
    uint64_t wide = v;

    for (; size >= 8; size -= 8, p += 8)
        wide = __builtin_ia32_crc32di(wide, load_u64(p));
    v = (uint32_t)wide;
    for (; size > 0; size--)
        v = __builtin_ia32_crc32qi(v, *p++);
    return v;
}

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static bool has_instruction;

/* QEMU's software emulation does the instruction bit by bit: the table is four times as fast
 * there. A guest sees where it is by leaf 0x40000000 of CPUID, which hypervisors sign. */
static void look(void)
{
    unsigned a, b, c, d;

    has_instruction = __builtin_cpu_supports("sse4.2");
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31))
        return;
    __cpuid(0x40000000, a, b, c, d);
    if (b == TCGT && c == CGTC && d == GTCG)
        has_instruction = false;
}
#endif

static uint32_t by_table(uint32_t v, const uint8_t *p, size_t size)
{
    for (; size >= 8; size -= 8, p += 8) {
        uint32_t low = load_le32(p) ^ v;
        uint32_t high = load_le32(p + 4);

        v = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
            table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
            table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; size > 0; size--)
        v = v >> 8 ^ table[0][(v ^ *p++) & 0xff];
    return v;
}

uint32_t crc32c_by_table(uint32_t before, const void *p, size_t size);

/* Only for tests, on machines that have the instruction. */
uint32_t crc32c_by_table(uint32_t before, const void *p, size_t size)
{
    pthread_once(&made, make_table);
    return ~by_table(~before, p, size);
}

uint32_t crc32c(uint32_t before, const void *p, size_t size)
{
#if defined(__x86_64__)
    pthread_once(&looked, look);
    if (likely(has_instruction))
        return ~by_instruction(~before, p, size);
#endif
    return crc32c_by_table(before, p, size);
}
