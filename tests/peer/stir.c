// SPDX-License-Identifier: GPL-2.0
/*
 * stir COMMAND [ARG...]: runs a program, and meanwhile moves the memory of it and of its descendants from node
 * to node with migrate_pages(2), so that a selftest which knows nothing of migration meets a lot of it.
 *
 * Ends with the program's status.  The number of rounds and of pages that could not be moved goes to standard
 * error; whether all could be moved is no matter here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_TASKS	256
#define NODES		2	/* the topologies that this runs on */

static pid_t parent_of(const char *pid)
{
	char path[300], line[512], *end;
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	/* the name is in parentheses, and may hold some itself */
	if (fgets(line, sizeof(line), f)) {
		end = strrchr(line, ')');
		if (!end || sscanf(end, ") %*c %d", &parent) != 1)
			parent = 0;
	}
	fclose(f);
	return parent;
}

/* @top and those that come from it, which stand behind their parents in /proc as a rule. */
static int descendants(pid_t top, pid_t *tasks)
{
	int nr = 1, i;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	tasks[0] = top;
	while (proc && nr < MAX_TASKS) {
		pid_t parent;

		entry = readdir(proc);
		if (!entry)
			break;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		parent = parent_of(entry->d_name);
		for (i = 0; i < nr; i++) {
			if (tasks[i] == parent) {
				tasks[nr++] = atoi(entry->d_name);
				break;
			}
		}
	}
	if (proc)
		closedir(proc);
	return nr;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	unsigned long rounds = 0, left = 0;
	pid_t tasks[MAX_TASKS], child;
	int status, i, nr;

	if (argc < 2) {
		fprintf(stderr, "stir: the command is missing.\n");
		return 2;
	}
	child = fork();
	if (child < 0) {
		perror("stir: fork");
		return 2;
	}
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}

	while (!waitpid(child, &status, WNOHANG)) {
		unsigned long from = 1UL << rounds % NODES;
		unsigned long to = 1UL << (rounds + 1) % NODES;

		nr = descendants(child, tasks);
		for (i = 0; i < nr; i++) {
			long ret = syscall(SYS_migrate_pages, tasks[i], 8 * sizeof(from), &from, &to);

			if (ret > 0)
				left += ret;
		}
		rounds++;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "# stirred %lu times, %lu pages stayed\n", rounds, left);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
