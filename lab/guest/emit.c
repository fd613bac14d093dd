// SPDX-License-Identifier: GPL-2.0
/*
 * emit NAME: sends standard input to the host, where it is appended to NAME.
 *
 * Each line travels as "NAME<TAB>text" on the second serial port. Whole lines are written by
 * one write(2), and a terminal serialises writes, so lines of several processes never mix.
 * Names of one punctuation character are the lab's own: "-" is the command's output, "=" its status.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#ifdef __aarch64__
#define PORT "/dev/ttyAMA1"
#else
#define PORT "/dev/ttyS1"
#endif

static char *line;
static size_t used, room;

static void add(const char *s, size_t n)
{
	if (used + n > room) {
		room = (used + n) * 2;
		line = realloc(line, room);
		if (!line)
			exit(3);
	}
	memcpy(line + used, s, n);
	used += n;
}

static void send_all(int fd)
{
	size_t done = 0;

	while (done < used) {
		ssize_t n = write(fd, line + done, used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			exit(3);
		done += n;
	}
	used = 0;
}

static int valid(const char *s)
{
	if (!strcmp(s, "-") || !strcmp(s, "="))
		return 1;
	return *s && *s != '.' && *s != '-' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == strlen(s);
}

int main(int argc, char **argv)
{
	static char buf[16384];
	int fd, inside = 0;
	ssize_t n;

	if (argc != 2 || !valid(argv[1])) {
		fprintf(stderr, "usage: emit NAME   (letters, digits, '.', '_' and '-')\n");
		return 2;
	}
	fd = open(PORT, O_WRONLY | O_NOCTTY);
	if (fd < 0) {
		fprintf(stderr, "emit: cannot open " PORT ": %s\n", strerror(errno));
		return 3;
	}
	while ((n = read(0, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)) {
		char *p = buf, *end = buf + (n > 0 ? n : 0), *nl;
		size_t whole = inside ? 0 : used;

		while (p < end) {
			if (!inside) {
				add(argv[1], strlen(argv[1]));
				add("\t", 1);
			}
			nl = memchr(p, '\n', end - p);
			inside = !nl;
			add(p, (nl ? nl + 1 : end) - p);
			p = nl ? nl + 1 : end;
			if (!inside)
				whole = used;
		}
		if (whole) {	/* keep the unfinished line, send the rest */
			size_t rest = used - whole;

			used = whole;
			send_all(fd);
			memmove(line, line + whole, rest);
			used = rest;
		}
	}
	if (inside) {
		add("\n", 1);
		send_all(fd);
	}
	tcdrain(fd);
	return 0;
}
