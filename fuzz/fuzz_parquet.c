/* SPDX-License-Identifier: MIT */
/* Encodings of Parquet (export/parquet/encode.h): the input is the values, after a byte of their width. What is encoded
 * decodes to the same. */

#include <stdlib.h>
#include <string.h>

#include "export/parquet/encode.h"
#include "parquet_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t values[N_MAX], decoded[N_MAX];
    static uint64_t wide[N_MAX], decoded_wide[N_MAX];
    struct text rle = TEXT_IN_MEMORY, delta = TEXT_IN_MEMORY;
    unsigned width = size ? data[0] % 32 + 1 : 1;
    size_t n = size ? size - 1 : 0;

    n = n < N_MAX ? n : N_MAX;
    for (size_t i = 0; i < n; i++) {
        /* The low bit: as the one before. */
        bool again = i > 0 && data[1 + i] & 1;

        values[i] = again ? values[i - 1] : (uint32_t)(data[1 + i] * 0x01010101u) >> (32 - width);
        wide[i] = again ? wide[i - 1] : data[1 + i] * 0x0101010101010101u >> (data[1 + i] >> 2);
    }
    parquet_put_rle(&rle, values, n, width);
    parquet_put_delta(&delta, wide, n);
    if (rle.error || delta.error ||
        !decode_rle((const uint8_t *)rle.start, text_len(&rle), width, decoded, n) ||
        !decode_delta((const uint8_t *)delta.start, text_len(&delta), decoded_wide, n) ||
        (n > 0 && (memcmp(values, decoded, n * sizeof *values) != 0 ||
                   memcmp(wide, decoded_wide, n * sizeof *wide) != 0)))
        abort();
    text_done(&rle);
    text_done(&delta);
    return 0;
}
