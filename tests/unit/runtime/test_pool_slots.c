/* SPDX-License-Identifier: MIT */
/* A process's side of its recorder's ring pool. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/ring/ring_pool.h"

static char parent[] = "/dev/shm/strata-test-pool-XXXXXX";
static struct pool_file *pool;

/* As its recorder makes it. */
static int make_pool(void **state)
{
    char path[128];
    int fd;

    (void)state;
    if (!mkdtemp(parent))
        return -1;
    snprintf(path, sizeof path, "%s/" POOL_DIR_NAME, parent);
    if (mkdir(path, 0700) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/" POOL_DIR_NAME "/" POOL_FILE_NAME, parent);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)POOL_SIZE) < 0)
        return -1;
    pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (pool == MAP_FAILED)
        return -1;
    memcpy(pool->magic, POOL_MAGIC, sizeof pool->magic);
    pool->version = POOL_VERSION;
    pool->n_slots = POOL_SLOTS;
    pool->slot_size = POOL_SLOT_SIZE;
    ring_pool_map(parent);
    return ring_pool_is_mapped() ? 0 : -1;
}

static int remove_pool(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/" POOL_DIR_NAME "/" POOL_FILE_NAME, parent);
    (void)unlink(path);
    snprintf(path, sizeof path, "%s/" POOL_DIR_NAME, parent);
    (void)rmdir(path);
    return rmdir(parent);
}

static unsigned first_slot(void)
{
    return (unsigned)getpid() * POOL_SLOTS_MAPPED % POOL_SLOTS;
}

static void a_process_leaves_slots_to_others(void **state)
{
    unsigned first = first_slot(), most = MIN(POOL_SLOTS_EACH, POOL_SLOTS_MAPPED), slot;

    (void)state;
    for (unsigned i = 0; i < most; i++) {
        assert_non_null(ring_pool_take(i, &slot));
        assert_int_equal(slot, first + i);
    }
    assert_null(ring_pool_take(most, &slot));
    ring_pool_give_back(first + 7);
    assert_non_null(ring_pool_take(7, &slot));
    assert_int_equal(slot, first + 7);
    assert_null(ring_pool_take(most, &slot));
    /* A child has its own. */
    ring_pool_forget();
    if (POOL_SLOTS_MAPPED == most) {
        assert_null(ring_pool_take(0, &slot));
    } else {
        assert_non_null(ring_pool_take(0, &slot));
        assert_int_equal(slot, most);
    }
}

static void a_full_pool_does_not_count_against_a_process(void **state)
{
    unsigned last = first_slot() + POOL_SLOTS_MAPPED - 1, slot;

    (void)state;
    ring_pool_forget();
    for (unsigned i = 0; i < POOL_SLOTS; i++)
        pool->slots[i].pid = 1;
    for (unsigned i = 0; i < 2 * POOL_SLOTS_EACH; i++)
        assert_null(ring_pool_take(0, &slot));
    pool->slots[last].pid = 0;
    assert_non_null(ring_pool_take(0, &slot));
    assert_int_equal(slot, last);
}

/* A 32-bit program keeps most of its address space. */
static void few_slots_are_mapped_where_addresses_are_short(void **state)
{
    (void)state;
    assert_true(POOL_SLOTS_MAPPED * POOL_SLOT_SIZE < UINTPTR_MAX / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_leaves_slots_to_others),
        cmocka_unit_test(a_full_pool_does_not_count_against_a_process),
        cmocka_unit_test(few_slots_are_mapped_where_addresses_are_short),
    };

    return cmocka_run_group_tests(tests, make_pool, remove_pool);
}
