/* SPDX-License-Identifier: MIT */
#include "analysis/diff_addresses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* Where Linux for x86-64 maps its image. */
#define IMAGE_BEGIN UINT64_C(0xffffffff80000000)
#define IMAGE_END UINT64_C(0xffffffffc0000000)
#define ALIGNMENT ((uint64_t)2 << 20) /* of the image */
/* By how many multiples two addresses can differ, in both directions. */
#define DISTANCES (2 * ((IMAGE_END - IMAGE_BEGIN) / ALIGNMENT))
/* One in 2^17 pairs of functions is equal by chance. At most COMPARED_MAX pairs are compared. Among more than FEW
 * pairs, a single equal one does not count. */
#define COMPARED_MAX 1000000
#define FEW 16

static bool parse(const char *key, uint64_t *ret)
{
    char *end;

    if (strncmp(key, "0x", 2) != 0 || strlen(key) > 18)
        return false;
    *ret = strtoull(key, &end, 16);
    return *end == '\0' && end > key + 2;
}

bool diff_is_address(const char *key)
{
    uint64_t address;

    return parse(key, &address) && address > UINT32_MAX;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Collects the addresses in the keys of RESULT, each once. The caller frees them. */
static int collect(const struct result *result, uint64_t **ret, unsigned *ret_n)
{
    uint64_t *list = malloc(((size_t)result->n_rows * result->n_keys + 1) * sizeof *list);
    unsigned n = 0, unique = 0;

    *ret = list;
    *ret_n = 0;
    if (!list)
        return -ENOMEM;
    for (unsigned i = 0; i < result->n_rows; i++)
        for (unsigned j = 0; j < result->n_keys; j++)
            if (parse(result->rows[i]->keys[j], &list[n]) && list[n] >= IMAGE_BEGIN &&
                list[n] < IMAGE_END)
                n++;
    qsort(list, n, sizeof *list, compare_numbers);
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || list[i] != list[i - 1])
            list[unique++] = list[i];
    *ret_n = unique;
    return 0;
}

static int add_pair(struct diff_addresses *addresses, uint64_t a, uint64_t b)
{
    struct address_pair *pairs =
        realloc(addresses->pairs, (addresses->n + 1) * sizeof *addresses->pairs);

    if (!pairs)
        return -ENOMEM;
    addresses->pairs = pairs;
    pairs[addresses->n] = (struct address_pair){a, b, ""};
    snprintf(pairs[addresses->n].text, sizeof pairs->text, "0x%" PRIx64, a);
    addresses->n++;
    return 0;
}

static bool is_alike(uint64_t a, uint64_t b)
{
    return (b - a) % ALIGNMENT == 0;
}

static unsigned get_distance(uint64_t a, uint64_t b)
{
    return (unsigned)((b - a + (IMAGE_END - IMAGE_BEGIN)) / ALIGNMENT);
}

/* For an address: how many pairs moved by the same distance as its best pair. */
struct best {
    unsigned votes;
    bool is_shared; /* several of its pairs are the best */
};

static void note_votes(struct best *best, unsigned votes)
{
    if (votes > best->votes)
        *best = (struct best){votes, false};
    else if (votes == best->votes)
        best->is_shared = true;
}

/* A pair is one function if at least MIN pairs, including itself, moved by its distance, and fewer by the distance of
 * any other pair of its two addresses. */
static int match(struct diff_addresses *ret, const uint64_t *a, unsigned n_a, const uint64_t *b,
                 unsigned n_b)
{
    unsigned votes[DISTANCES] = {0};
    unsigned min = (uint64_t)n_a * n_b > FEW ? 2 : 1;
    struct best *best;
    int r = 0;

    if (n_a == 0 || n_b == 0 || (uint64_t)n_a * n_b > COMPARED_MAX)
        return 0;
    best = calloc(n_a + n_b, sizeof *best);
    if (!best)
        return -ENOMEM;
    for (unsigned i = 0; i < n_a; i++)
        for (unsigned j = 0; j < n_b; j++)
            if (is_alike(a[i], b[j]))
                votes[get_distance(a[i], b[j])]++;
    for (unsigned i = 0; i < n_a; i++) {
        for (unsigned j = 0; j < n_b; j++) {
            if (is_alike(a[i], b[j])) {
                note_votes(&best[i], votes[get_distance(a[i], b[j])]);
                note_votes(&best[n_a + j], votes[get_distance(a[i], b[j])]);
            }
        }
    }
    for (unsigned i = 0; i < n_a && r >= 0; i++) {
        for (unsigned j = 0; j < n_b && r >= 0; j++) {
            if (a[i] != b[j] && is_alike(a[i], b[j])) {
                unsigned n = votes[get_distance(a[i], b[j])];

                if (n >= min && n == best[i].votes && !best[i].is_shared &&
                    n == best[n_a + j].votes && !best[n_a + j].is_shared)
                    r = add_pair(ret, a[i], b[j]);
            }
        }
    }
    free(best);
    return r;
}

int diff_addresses_init(struct diff_addresses *addresses, const struct result *a,
                        const struct result *b)
{
    uint64_t *lists[2] = {NULL, NULL};
    unsigned n[2];
    int r;

    *addresses = (struct diff_addresses){0};
    r = collect(a, &lists[0], &n[0]);
    if (r >= 0)
        r = collect(b, &lists[1], &n[1]);
    if (r >= 0)
        r = match(addresses, lists[0], n[0], lists[1], n[1]);
    free(lists[0]);
    free(lists[1]);
    return r;
}

void diff_addresses_done(struct diff_addresses *addresses)
{
    free(addresses->pairs);
    *addresses = (struct diff_addresses){0};
}

const char *diff_addresses_translate(const struct diff_addresses *addresses, const char *key)
{
    uint64_t address;

    if (addresses->n > 0 && parse(key, &address))
        for (unsigned i = 0; i < addresses->n; i++)
            if (addresses->pairs[i].b == address)
                return addresses->pairs[i].text;
    return key;
}
