/* SPDX-License-Identifier: MIT */
#pragma once

/* Whole pages of the kernel's ring on their way to a virtio-serial port without passing through this process: from
 * tracefs into a pipe, and from there into the port. The kernel copies them once, which is half of what reading
 * and writing them costs.
 *
 * A port takes what is in a pipe all at once or not at all, and only all of it: the kernel counts the pipe's
 * pages, not those that it is asked for (port_fops_splice_write() in Linux's virtio_console.c, 2.6.39 to 6.x). What it then
 * has no descriptor for is lost, which happens only to devices without indirect descriptors: those are not
 * spliced to. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracefs_page;

/* The most pages at once. A port holds up to 128 pieces that the host has not taken, and each costs the guest
 * an interrupt. Where they are nothing but pages, 8 MB at most; … */
#define SPLICE_PAGES 15u
/* … and where every other one is the head of a frame, likewise. */
#define SPLICE_PAGES_FRAMED 31u

/* Whether FD is a virtio-serial port that takes pages so. */
bool splice_suits(int fd);

/* SIZE bytes, which are all that is in PIPE, into FD, which never blocks. 1: all are out; 0: no more fit, the others
 * are still in the pipe; -ENOBUFS: the others are lost, and none should be spliced there again; -errno. *RET_SENT
 * is how many are out, whatever is returned. */
int splice_out(int pipe, int fd, size_t size, size_t *ret_sent);

/* Takes SIZE bytes out of PIPE, which has them. */
int splice_read(int pipe, void *p, size_t size);

/* Makes of N pages at P, which are lost, pages without events before which an unknown number was missed. TIME is of the
 * trace's clock. */
void splice_blank(const struct tracefs_page *page, uint8_t *p, unsigned n, uint64_t time);
