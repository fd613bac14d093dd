/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long the copy stage of a migration takes: from the tracepoint foliolift_flush to foliolift_copy, summed over the
 * batches.  Where those are not to be had (a stock kernel, no tracefs) there is no such figure.
 */
#ifndef FL_COPYPHASE_H
#define FL_COPYPHASE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPYPHASE_DIR "/sys/kernel/tracing/instances/copyphase/"

static int copyphase_there;

static int copyphase_put(const char *file, const char *text)
{
	char path[128];
	int fd, ok;

	snprintf(path, sizeof(path), COPYPHASE_DIR "%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return 0;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static void copyphase_open(void)
{
	mkdir(COPYPHASE_DIR, 0700);
	copyphase_there = copyphase_put("trace_clock", "mono") &&
			  copyphase_put("events/foliolift/foliolift_flush/enable", "1") &&
			  copyphase_put("events/foliolift/foliolift_copy/enable", "1");
}

static void copyphase_close(void)
{
	rmdir(COPYPHASE_DIR);
}

static void copyphase_begin(void)
{
	if (copyphase_there)
		copyphase_put("trace", "\n");
}

/* Seconds of the copy stages since copyphase_begin(), which copied @pages; 0 if it cannot be told. */
static double copyphase_end(unsigned long pages)
{
	double at, flushed = 0, sum = 0;
	unsigned long n, seen = 0;
	char line[512], *p;
	FILE *f;

	if (!copyphase_there)
		return 0;
	f = fopen(COPYPHASE_DIR "trace", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		int copied;

		p = strstr(line, ": foliolift_");
		if (*line == '#' || !p)
			continue;
		copied = !strncmp(p + 12, "copy", 4);
		while (p > line && p[-1] != ' ')
			p--;
		if (sscanf(p, "%lf", &at) != 1)
			continue;
		if (!copied) {
			flushed = at;
			continue;
		}
		p = strstr(p, "nr_pages=");
		if (!p || sscanf(p, "nr_pages=%lu", &n) != 1)
			continue;
		sum += at - flushed;
		seen += n;
	}
	fclose(f);
	return seen == pages ? sum : 0; /* others migrated too, or events were lost */
}

#endif
