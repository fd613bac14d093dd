// SPDX-License-Identifier: GPL-2.0
/*
 * window: runs a command between the marks of lab/plugin/mark.h, so that the profile plugin counts what the whole
 * machine executes meanwhile, starting and ending of the command included.
 *
 *   window COMMAND [ARG...]
 *
 * Take the difference of two windows to be rid of what both have. The status is the command's, 2 if it was not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lab/plugin/mark.h"
#include "options.h"

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2)
		fail("wants a command.");
	profile_begin();
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(2);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("cannot run %s: %s.", argv[1], strerror(errno));
	profile_end();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
