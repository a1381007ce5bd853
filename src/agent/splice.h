/* SPDX-License-Identifier: MIT */
#pragma once

/* Moves whole pages of the kernel's ring to a virtio-serial port without copying them through this
 * process: from tracefs into a pipe, and from there into the port. The kernel copies them once, which
 * costs half of reading and writing them.
 *
 * A port accepts the contents of a pipe as a whole or not at all: the kernel counts the pipe's pages,
 * not the requested ones (port_fops_splice_write() in Linux's virtio_console.c, 2.6.39 to 6.x). Pages
 * for which it then has no descriptor are lost; that happens only on devices without indirect
 * descriptors, to which nothing is spliced. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tracefs_page;

/* Limit of bytes per splice, or one page. Each piece costs the guest a notification of the host and an interrupt. A
 * port holds up to 128 pieces that the host has not read: at most 8 MB if the pieces are only pages. */
#define SPLICE_SIZE 61440u
/* The limit if every other piece is a frame header. */
#define SPLICE_SIZE_FRAMED 126976u
/* The limit while the host is known to read: until SPLICE_UNREAD_MAX bytes were spliced since the last byte that it has
 * certainly read. So a port never holds more than these bytes plus 8 MB. A piece must not have more pages than the
 * queue has descriptors, which is 128 (Virtual I/O Device 1.2, 2.7.5.3.1 "Driver Requirements: Indirect
 * Descriptors"). */
#define SPLICE_SIZE_READ 520192u
#define SPLICE_UNREAD_MAX (UINT64_C(8) << 20)

/* True if FD is a virtio-serial port that supports splicing. */
bool splice_supported(int fd);

/* Splices SIZE bytes, the whole contents of PIPE, to FD, which is non-blocking. Returns 1: all sent; 0:
 * FD is full, the rest is still in the pipe; -ENOBUFS: the rest is lost, do not splice to FD again; or
 * -errno. *RET_SENT is always set to the number of bytes sent. */
int splice_out(int pipe, int fd, size_t size, size_t *ret_sent);

/* Reads SIZE bytes, which PIPE has, into P. */
int splice_read(int pipe, void *p, size_t size);

/* Replaces N lost pages at P by pages without events that report an unknown number of missed events.
 * TIME is in the trace clock's ticks. */
void splice_fill_lost(const struct tracefs_page *page, uint8_t *p, unsigned n, uint64_t time);
