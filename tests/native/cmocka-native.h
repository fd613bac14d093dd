/* SPDX-License-Identifier: GPL-2.0 */
/* cmocka with all that it wants included before it. */
#ifndef _NATIVE_CMOCKA_H
#define _NATIVE_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

/*
 * The end of every main().  A test that failed has jumped out of what it was doing,
 * so what leaks then is no news.
 */
#define run_group(name, tests, setup, teardown) ({			\
	int nr_failed = cmocka_run_group_tests_name(name, tests,	\
						    setup, teardown);	\
									\
	fflush(NULL);							\
	if (nr_failed)							\
		_exit(1);						\
	0;								\
})

#endif /* _NATIVE_CMOCKA_H */
