/* SPDX-License-Identifier: GPL-2.0 */
/* What the measuring programs share: ending with one sentence, and numbers from the command line. */
#ifndef FOLIOLIFT_OPTIONS_H
#define FOLIOLIFT_OPTIONS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static inline void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

/* A whole number from lo to hi, or the program ends before anything is moved. */
static inline unsigned long number(const char *what, const char *s, unsigned long lo,
				   unsigned long hi)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || v < lo || v > hi)
		fail("%s wants a number from %lu to %lu, not '%s'.", what, lo, hi, s);
	return v;
}

#endif /* FOLIOLIFT_OPTIONS_H */
