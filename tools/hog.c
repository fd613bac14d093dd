// SPDX-License-Identifier: GPL-2.0
/* hog CPU: keeps one CPU busy with a real-time task that never sleeps, until it is killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 10 };
	volatile unsigned long turns = 0;
	cpu_set_t set;
	char *end;
	long cpu;

	cpu = argc == 2 ? strtol(argv[1], &end, 10) : -1;
	if (cpu < 0 || *end || cpu >= CPU_SETSIZE) {
		fputs("usage: hog CPU\n", stderr);
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param)) {
		fprintf(stderr, "hog: CPU %ld cannot be kept busy: %s.\n", cpu, strerror(errno));
		return 1;
	}
	for (;;)
		turns++;
}
