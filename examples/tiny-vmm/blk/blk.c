/* SPDX-License-Identifier: MIT */

/* A disk: the sectors of a file. For each vCPU one request at a time, which a thread carries out:
 *
 *     0   the sector          8   a command: 1 reads, 2 writes
 *     4   address in RAM      12  read: 0 idle, 1 busy, 2 done, 3 failed; written: lowers the interrupt */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../machine.h"
#include "trace-blk.h"

#define SECTOR 512

enum status { IDLE, BUSY, DONE, FAILED };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t submitted = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool stopping;
static int fd = -1;
static struct request {
    struct vcpu *vcpu;
    uint32_t sector, address, command;
    enum status status;
} requests[VCPUS_MAX];

static const char *name_of(uint32_t command)
{
    return command == 1 ? "read" : "write";
}

static int carry_out(const struct request *request)
{
    uint8_t *buffer = machine_ram(request->vcpu->machine, request->address, SECTOR);
    off_t offset = (off_t)request->sector * SECTOR;
    ssize_t n;

    if (!buffer)
        return -EFAULT;
    n = request->command == 1 ? pread(fd, buffer, SECTOR, offset)
                              : pwrite(fd, buffer, SECTOR, offset);
    if (n < 0)
        return -errno;
    return n == SECTOR ? 0 : -EIO;
}

static struct request *find_busy(void)
{
    for (unsigned i = 0; i < VCPUS_MAX; i++)
        if (requests[i].status == BUSY)
            return &requests[i];
    return NULL;
}

static void *run(void *unused)
{
    pthread_setname_np(pthread_self(), "blk");
    pthread_mutex_lock(&lock);
    while (!stopping) {
        struct request *request = find_busy();
        int r;

        if (!request) {
            pthread_cond_wait(&submitted, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock); /* a request that is busy stays as it is */
        r = carry_out(request);
        trace_blk_complete(request->vcpu->number, name_of(request->command), request->sector,
                           r < 0 ? strerror(-r) : "fine");
        pthread_mutex_lock(&lock);
        request->status = r < 0 ? FAILED : DONE;
        vcpu_set_irq(request->vcpu, IRQ_BLK, true);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int blk_start(const char *path)
{
    struct stat st;

    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    trace_blk_open(path, (uint64_t)st.st_size / SECTOR);
    return -pthread_create(&thread, NULL, run, NULL);
}

void blk_stop(void)
{
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&submitted);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    close(fd);
}

uint32_t blk_read(struct vcpu *vcpu, uint32_t offset)
{
    uint32_t value = 0;

    pthread_mutex_lock(&lock);
    if (offset == 12)
        value = requests[vcpu->number].status;
    pthread_mutex_unlock(&lock);
    return value;
}

static void submit(struct request *request, struct vcpu *vcpu, uint32_t command)
{
    request->vcpu = vcpu;
    request->command = command;
    request->status = BUSY;
    trace_blk_submit(vcpu->number, name_of(command), request->sector,
                     machine_ram(vcpu->machine, request->address, SECTOR));
    pthread_cond_signal(&submitted);
}

void blk_write(struct vcpu *vcpu, uint32_t offset, uint32_t value)
{
    struct request *request = &requests[vcpu->number];

    pthread_mutex_lock(&lock);
    if (request->status != BUSY) {
        if (offset == 0)
            request->sector = value;
        else if (offset == 4)
            request->address = value;
        else if (offset == 8 && (value == 1 || value == 2))
            submit(request, vcpu, value);
        else if (offset == 12) {
            request->status = IDLE;
            vcpu_set_irq(vcpu, IRQ_BLK, false);
        }
    }
    pthread_mutex_unlock(&lock);
}
