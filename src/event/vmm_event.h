/* SPDX-License-Identifier: MIT */
#pragma once

/* Events whose names differ between versions of QEMU, for event_class_is_named() and rules of spans. The name of QEMU 7.2
 * comes first. Add other names here: every rule, analysis and list of events then knows them.
 *
 * Source: trace-events-all of QEMU 7.2, 10.0 and 11.1. */

/* _aio: from 10.0 on. */
#define VMM_POOL_SUBMIT "thread_pool_submit|thread_pool_submit_aio"
#define VMM_POOL_COMPLETE "thread_pool_complete|thread_pool_complete_aio"
/* 10.0 has all three, and the first event of a notification counts. 11.1 has no virtio_notify_irqfd. */
#define VMM_NOTIFY "virtio_notify|virtio_notify_irqfd|virtio_notify_irqfd_deferred_fn"
