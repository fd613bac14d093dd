// SPDX-License-Identifier: GPL-2.0
/*
 * A clock that runs faster, for a selftest whose run time is a constant in its source.
 *
 * Linked with --wrap=clock_gettime.  PEER_CLOCK=N makes a second last 1/N of one; without it the
 * clock is the real one, so the program is the unmodified selftest.
 */
#include <stdlib.h>
#include <time.h>

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	static unsigned long long speed;
	unsigned long long ns;
	int ret;

	if (!speed) {
		const char *s = getenv("PEER_CLOCK");

		speed = s ? strtoull(s, NULL, 10) : 1;
		if (!speed)
			speed = 1;
	}
	ret = __real_clock_gettime(id, ts);
	if (ret)
		return ret;
	ns = (ts->tv_sec * 1000000000ULL + ts->tv_nsec) * speed;
	ts->tv_sec = ns / 1000000000ULL;
	ts->tv_nsec = ns % 1000000000ULL;
	return 0;
}
