/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/types.h> and the small things that every kernel header
 * brings along.  The atomic accesses are C11's, so that ThreadSanitizer judges
 * the kernel code by the ordering that it asks for and by nothing stronger.
 */
#ifndef _NATIVE_LINUX_TYPES_H
#define _NATIVE_LINUX_TYPES_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef unsigned int gfp_t;
typedef unsigned long pgoff_t;
typedef unsigned short umode_t;

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define SZ_8M		0x00800000
#define SZ_256M		0x10000000

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max_t(type, a, b)	((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define __acquires(x)
#define __releases(x)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* ThreadSanitizer knows no fences; nothing here depends on this one. */
#ifdef __SANITIZE_THREAD__
#define smp_rmb()		__atomic_signal_fence(__ATOMIC_ACQUIRE)
#else
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

#endif /* _NATIVE_LINUX_TYPES_H */
