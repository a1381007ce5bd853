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

#include "runtime/ring_pool.h"

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

static void a_process_leaves_slots_to_others(void **state)
{
    unsigned slot;

    if (sizeof(void *) < 8) /* an address space of 4 GiB rarely has 2.5 of them in one piece */
        skip();
    for (unsigned i = 0; i < POOL_SLOTS_EACH; i++) {
        assert_non_null(ring_pool_take(i, &slot));
        assert_int_equal(slot, i);
    }
    assert_null(ring_pool_take(POOL_SLOTS_EACH, &slot));
    ring_pool_give_back(7);
    assert_non_null(ring_pool_take(7, &slot));
    assert_int_equal(slot, 7);
    assert_null(ring_pool_take(POOL_SLOTS_EACH, &slot));
    /* A child has its own. */
    ring_pool_forget();
    assert_non_null(ring_pool_take(0, &slot));
    assert_int_equal(slot, POOL_SLOTS_EACH);
}

static void a_full_pool_does_not_count_against_a_process(void **state)
{
    unsigned slot;

    if (sizeof(void *) < 8) /* an address space of 4 GiB rarely has 2.5 of them in one piece */
        skip();
    ring_pool_forget();
    for (unsigned i = 0; i < POOL_SLOTS; i++)
        pool->slots[i].pid = 1;
    for (unsigned i = 0; i < 2 * POOL_SLOTS_EACH; i++)
        assert_null(ring_pool_take(0, &slot));
    pool->slots[POOL_SLOTS - 1].pid = 0;
    assert_non_null(ring_pool_take(0, &slot));
    assert_int_equal(slot, POOL_SLOTS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_leaves_slots_to_others),
        cmocka_unit_test(a_full_pool_does_not_count_against_a_process),
    };

    return cmocka_run_group_tests(tests, make_pool, remove_pool);
}
