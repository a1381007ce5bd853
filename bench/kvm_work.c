/* SPDX-License-Identifier: MIT */
/* What the guest of bench/kvm does: one line of standard input, one round of work, one line of standard output.
 *
 *     kvm-work DISK LOOPS READS
 *
 * A line "run COMMAND" is run by the shell instead, and answered with "done".
 *
 * A round: LOOPS times, all primes below 2,000 by trial division; then READS random pages of DISK, one after the other,
 * past the page cache. The line has the nanoseconds of both: "PRIMES READS". */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define PRIMES_BELOW 2000
#define N_PRIMES 303

static int64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static unsigned count_primes(void)
{
    unsigned n = 0;

    for (unsigned i = 2; i < PRIMES_BELOW; i++) {
        volatile unsigned divisor = 2;

        while (divisor * divisor <= i && i % divisor != 0)
            divisor++;
        n += divisor * divisor > i;
    }
    return n;
}

static void read_page(int disk, void *page, uint64_t n_pages)
{
    static uint64_t random = 1;

    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (pread(disk, page, PAGE, (off_t)((random >> 33) % n_pages * PAGE)) != PAGE)
        err(1, "read");
}

int main(int argc, char **argv)
{
    char line[1024];
    void *page;

    if (argc != 4)
        errx(2, "usage: kvm-work DISK LOOPS READS");
    long loops = atol(argv[2]), reads = atol(argv[3]);
    int disk = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (disk < 0)
        err(1, "%s", argv[1]);
    off_t size = lseek(disk, 0, SEEK_END);
    if (posix_memalign(&page, PAGE, PAGE) != 0)
        errx(1, "out of memory");
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "run ", 4) == 0) {
            if (system(line + 4) != 0)
                errx(1, "failed: %s", line + 4);
            puts("done");
            continue;
        }
        int64_t begin = now_ns();
        for (long i = 0; i < loops; i++)
            if (count_primes() != N_PRIMES)
                errx(1, "the processor counts wrong");
        int64_t middle = now_ns();
        for (long i = 0; i < reads; i++)
            read_page(disk, page, (uint64_t)size / PAGE);
        int64_t end = now_ns();
        printf("%lld %lld\n", (long long)(middle - begin), (long long)(end - middle));
    }
    return 0;
}
