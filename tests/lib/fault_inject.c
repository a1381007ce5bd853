/* SPDX-License-Identifier: MIT */

/* A library to be preloaded, or linked first, that makes one call of the program fail: the N-th allocation, the
 * N-th write, ... Who preloads it shares a file with the program, $FAULT_STATE, that holds a struct fault_state
 * (fault_inject.h): what is to fail, and then how many such calls there were. Of the programs that inherit this, those
 * of the name $FAULT_PROGRAM alone, if that is set.
 *
 * Nothing fails before main() and after exit() has begun: `armed` says so. */

#include "fault_inject.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The C library has names of its own for what it declares. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,bugprone-reserved-identifier,cert-dcl*) */

/* glibc's own, under other names. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static struct fault_state *state;
static atomic_long live_blocks;
static _Thread_local bool inside;
static _Thread_local bool is_last; /* the program ends after this call */
static char *program_base;

/* The module that an address lies in. */
struct module {
    char *base;
    const char *path; /* may be empty for the program itself */
};

static bool find_module(void *address, struct module *ret)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35: dladdr() compares all symbols of the module, each time */
    struct dl_find_object found;

    if (_dl_find_object(address, &found) != 0)
        return false;
    *ret = (struct module){found.dlfo_map_start, found.dlfo_link_map->l_name};
    return true;
#else
    Dl_info info;

    if (!dladdr(address, &info) || !info.dli_fbase)
        return false;
    *ret = (struct module){info.dli_fbase, info.dli_fname};
    return true;
#endif
}

struct fault_state *fault_state(void)
{
    static struct fault_state own;

    return state ? state : &own;
}

long fault_live_blocks(void)
{
    return live_blocks;
}

static __attribute__((constructor)) void open_state(void)
{
    const char *path = getenv("FAULT_STATE");
    const char *only = getenv("FAULT_PROGRAM");
    void *frames[2];
    struct module program;
    int fd;

    backtrace(frames, 2); /* loads what it needs */
    if (find_module((void *)getauxval(AT_PHDR), &program))
        program_base = program.base;
    if (!path) {
        state = fault_state();
        return;
    }
    if (only && strcmp(only, program_invocation_short_name) != 0) {
        state = fault_state();
        return;
    }
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        abort();
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (state == MAP_FAILED)
        abort();
    syscall(SYS_close, fd);
}

/* ---- Which call fails ---- */

/* FNV-1a over numbers. */
#define HASH_START 14695981039346656037U
static uint64_t hash_add(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * 1099511628211U;
}

/* Whether it is the program itself, or one of the libraries that are tested. */
static bool is_ours(const struct module *module)
{
    const char *name = strrchr(module->path, '/');

    return module->base == program_base || (name && strncmp(name, "/libstrata", 10) == 0);
}

/* A point is a call together with those that it was made from: its stack. A site is the innermost part of a stack that
 * lies in the program itself: what foreign libraries do inside makes no difference. */
static void find_point(unsigned kind, struct fault_point *ret)
{
    void *frames[FAULT_FRAMES];
    int n = backtrace(frames, FAULT_FRAMES);
    struct fault_point point = {.hash = hash_add(HASH_START, kind), .kind = kind};
    int n_site = 0;

    point.site = point.hash;
    for (int i = 3; i < n; i++) {
        struct module module;
        uint64_t offset;

        /* Where code lies is another place in each run. */
        if (!find_module(frames[i], &module))
            continue;
        offset = (uint64_t)((char *)frames[i] - module.base);
        point.hash = hash_add(point.hash, offset);
        if (n_site < FAULT_SITE_FRAMES && is_ours(&module)) {
            if (n_site == 0)
                point.in_library = module.base != program_base;
            point.site = hash_add(point.site, offset);
            n_site++;
        }
    }
    point.hash |= 1;
    point.site |= 1;
    *ret = point;
}

/* The first call of each point is noted. */
static void note_point(const struct fault_point *point, uint64_t number)
{
    uint32_t at = (uint32_t)(point->hash % FAULT_POINTS_MAX);

    for (uint32_t i = 0; i < FAULT_POINTS_MAX; i++, at = (at + 1) % FAULT_POINTS_MAX) {
        struct fault_point *place = &state->points[at];
        uint64_t none = 0;

        if (atomic_compare_exchange_strong(&place->hash, &none, point->hash)) {
            place->site = point->site;
            place->first = number;
            place->kind = point->kind;
            place->in_library = point->in_library;
            return;
        }
        if (none == point->hash)
            return;
    }
}

/* Notes from where the call came that fails, as "FILE+OFFSET" lines. */
static void note_stack(void)
{
    void *frames[FAULT_FRAMES];
    int n = backtrace(frames, FAULT_FRAMES);
    size_t len = 0;

    for (int i = 2; i < n && len < sizeof state->stack - 1; i++) {
        Dl_info info;

        if (!dladdr(frames[i], &info) || !info.dli_fbase)
            continue;
        len +=
            (size_t)snprintf(state->stack + len, sizeof state->stack - len, "%s+0x%zx\n",
                             info.dli_fname, (size_t)((char *)frames[i] - (char *)info.dli_fbase));
    }
}

/* Whether this call, which is of KIND, fails. It then has errno set. */
static bool fails(unsigned kind)
{
    uint64_t number;
    bool now;

    if (!state || inside || !state->armed)
        return false;
    inside = true;
    number = atomic_fetch_add(&state->calls, 1) + 1;
    now = state->at > 0 && (state->kinds & kind) &&
          (state->from_then_on ? number >= state->at : number == state->at);
    if (state->note_points || (state->site && state->kinds & kind)) {
        struct fault_point point;

        find_point(kind, &point);
        if (state->note_points)
            note_point(&point, number);
        if (state->site)
            now =
                state->kinds & kind && (point.site == state->site ||
                                        (state->from_then_on && state->fired && point.in_library));
    }
    if (now && atomic_fetch_add(&state->fired, 1) == 0)
        note_stack();
    inside = false;
    if (now && state->kills) {
        is_last = true;
        return false;
    }
    if (now)
        errno = (int)state->error;
    return now;
}

/* The result of a call that may be the last one. */
#define LAST(result)                           \
    ({                                         \
        __typeof__(result) result_ = (result); \
        if (is_last)                           \
            (void)raise(SIGKILL);              \
        result_;                               \
    })

/* A transfer of SIZE bytes: it fails with -1, or with `short_count` goes on with fewer. */
static bool transfer_fails(unsigned kind, size_t *size)
{
    if (!fails(kind))
        return false;
    if (!state->short_count)
        return true;
    if (*size > 1)
        *size = (*size + 1) / 2;
    return false;
}

/* ---- Memory ---- */

static void *counted(void *p)
{
    if (p)
        live_blocks++;
    return p;
}

void *malloc(size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    void *q;

    if (fails(FAULT_ALLOC))
        return NULL;
    q = __libc_realloc(p, size);
    if (!p && q)
        live_blocks++;
    else if (p && size == 0 && !q)
        live_blocks--;
    return q;
}

void *reallocarray(void *p, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, total);
}

void *memalign(size_t alignment, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *p = memalign(alignment, size);

    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

void free(void *p)
{
    if (p)
        live_blocks--;
    __libc_free(p);
}

/* The library's own call of the function that it stands before. */
#define NEXT(name) ((__typeof__(&(name)))next_of(#name))
static void *next_of(const char *name)
{
    bool was = inside;
    void *p;

    inside = true;
    p = dlsym(RTLD_NEXT, name);
    inside = was;
    if (!p)
        abort();
    return p;
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
    if (fails(FAULT_MAP))
        return MAP_FAILED;
    return LAST((void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset));
}

void *mmap64(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
    return mmap(addr, length, prot, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg)
{
    return fails(FAULT_THREAD) ? errno : NEXT(pthread_create)(thread, attributes, start, arg);
}

/* ---- Writing ---- */

ssize_t write(int fd, const void *buf, size_t size)
{
    if (fd != STDERR_FILENO && transfer_fails(FAULT_WRITE, &size))
        return -1;
    return LAST(NEXT(write)(fd, buf, size));
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    return transfer_fails(FAULT_WRITE, &size) ? -1 : LAST(NEXT(pwrite)(fd, buf, size, offset));
}

ssize_t pwrite64(int fd, const void *buf, size_t size, off_t offset)
{
    return pwrite(fd, buf, size, offset);
}

ssize_t writev(int fd, const struct iovec *pieces, int n)
{
    if (fd == STDERR_FILENO || !fails(FAULT_WRITE))
        return LAST(NEXT(writev)(fd, pieces, n));
    if (!state->short_count)
        return -1;
    for (int i = 0; i < n; i++)
        if (pieces[i].iov_len > 0)
            return NEXT(write)(fd, pieces[i].iov_base, (pieces[i].iov_len + 1) / 2);
    return 0;
}

ssize_t pwritev(int fd, const struct iovec *pieces, int n, off_t offset)
{
    if (!fails(FAULT_WRITE))
        return LAST(NEXT(pwritev)(fd, pieces, n, offset));
    if (!state->short_count)
        return -1;
    for (int i = 0; i < n; i++)
        if (pieces[i].iov_len > 0)
            return NEXT(pwrite)(fd, pieces[i].iov_base, (pieces[i].iov_len + 1) / 2, offset);
    return 0;
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int n, off_t offset)
{
    return pwritev(fd, pieces, n, offset);
}

int ftruncate(int fd, off_t length)
{
    return !(state && state->short_count) && fails(FAULT_WRITE) ? -1
                                                                : LAST(NEXT(ftruncate)(fd, length));
}

int ftruncate64(int fd, off_t length)
{
    return ftruncate(fd, length);
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    if (!(state && state->short_count) && fails(FAULT_WRITE))
        return errno;
    return LAST(NEXT(posix_fallocate)(fd, offset, length));
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (!(state && state->short_count) && fails(FAULT_WRITE))
        return -1;
    return LAST(NEXT(fallocate)(fd, mode, offset, length));
}

int fallocate64(int fd, int mode, off_t offset, off_t length)
{
    return fallocate(fd, mode, offset, length);
}

int fsync(int fd)
{
    return !(state && state->short_count) && fails(FAULT_WRITE) ? -1 : LAST(NEXT(fsync)(fd));
}

int fdatasync(int fd)
{
    return !(state && state->short_count) && fails(FAULT_WRITE) ? -1 : LAST(NEXT(fdatasync)(fd));
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                        unsigned flags)
{
    if (transfer_fails(FAULT_WRITE, &size))
        return -1;
    return LAST(NEXT(copy_file_range)(from, from_at, to, to_at, size, flags));
}

/* ---- Files made, opened, and given names ---- */

static bool open_fails(int flags)
{
    return fails(flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? FAULT_MAKE : FAULT_OPEN);
}

#define MODE_OF(flags)                         \
    ({                                         \
        mode_t mode_ = 0;                      \
        if ((flags) & (O_CREAT | O_TMPFILE)) { \
            va_list args_;                     \
            va_start(args_, flags);            \
            mode_ = va_arg(args_, mode_t);     \
            va_end(args_);                     \
        }                                      \
        mode_;                                 \
    })

int open(const char *path, int flags, ...)
{
    mode_t mode = MODE_OF(flags);

    return open_fails(flags) ? -1 : LAST((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = MODE_OF(flags);

    return open_fails(flags) ? -1 : LAST((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode = MODE_OF(flags);

    return open_fails(flags) ? -1 : LAST((int)syscall(SYS_openat, dir, path, flags, mode));
}

int openat64(int dir, const char *path, int flags, ...)
{
    mode_t mode = MODE_OF(flags);

    return open_fails(flags) ? -1 : LAST((int)syscall(SYS_openat, dir, path, flags, mode));
}

int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int __open64_2(const char *path, int flags)
{
    return open(path, flags);
}

int __openat_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

int __openat64_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

FILE *fopen(const char *path, const char *mode)
{
    return fails(strchr(mode, 'r') ? FAULT_OPEN : FAULT_MAKE) ? NULL
                                                              : LAST(NEXT(fopen)(path, mode));
}

FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}

DIR *opendir(const char *path)
{
    return fails(FAULT_OPEN) ? NULL : LAST(NEXT(opendir)(path));
}

DIR *fdopendir(int fd)
{
    return fails(FAULT_OPEN) ? NULL : LAST(NEXT(fdopendir)(fd));
}

int mkdir(const char *path, mode_t mode)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(mkdir)(path, mode));
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(mkdirat)(dir, path, mode));
}

int mkostemp(char *template, int flags)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(mkostemp)(template, flags));
}

int mkostemp64(char *template, int flags)
{
    return mkostemp(template, flags);
}

int mkstemp(char *template)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(mkstemp)(template));
}

char *mkdtemp(char *template)
{
    return fails(FAULT_MAKE) ? NULL : LAST(NEXT(mkdtemp)(template));
}

int memfd_create(const char *name, unsigned flags)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(memfd_create)(name, flags));
}

int rename(const char *from, const char *to)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(rename)(from, to));
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(renameat)(from_dir, from, to_dir, to));
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(renameat2)(from_dir, from, to_dir, to, flags));
}

int link(const char *from, const char *to)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(link)(from, to));
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(linkat)(from_dir, from, to_dir, to, flags));
}

int symlink(const char *target, const char *path)
{
    return fails(FAULT_MAKE) ? -1 : LAST(NEXT(symlink)(target, path));
}

/* ---- Reading ---- */

ssize_t read(int fd, void *buf, size_t size)
{
    return transfer_fails(FAULT_READ, &size) ? -1 : NEXT(read)(fd, buf, size);
}

ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
    if (size > room)
        abort();
    return read(fd, buf, size);
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
    return transfer_fails(FAULT_READ, &size) ? -1 : NEXT(pread)(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t offset)
{
    return pread(fd, buf, size, offset);
}

ssize_t __pread_chk(int fd, void *buf, size_t size, off_t offset, size_t room)
{
    if (size > room)
        abort();
    return pread(fd, buf, size, offset);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name,bugprone-reserved-identifier,cert-dcl*) */
