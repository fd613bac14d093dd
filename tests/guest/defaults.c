// SPDX-License-Identifier: GPL-2.0
/* What foliolift is when the kernel has booted, before anybody has touched it. Has to be the first test of a boot. */
#include "lib/sys.h"

static void shows(const char *file, const char *want)
{
	char path[96], buf[64];

	snprintf(path, sizeof(path), LIFT "%s", file);
	if (!ok(!strcmp(read_file(path, buf, sizeof(buf)), want), "%s shows '%s'", file, want))
		diag("it shows '%s'", buf);
}

static void test(void)
{
	static const char *const copied[] = { "compaction",	 "memory_hotplug", "syscall",
					      "mempolicy_mbind", "contig_range",   "longterm_pin",
					      "demotion",	 "damon" };
	char path[64];
	size_t i;

	shows("enabled", "0");
	shows("engine", "auto");
	shows("active_engine", "cpu");
	shows("available_engines", "cpu mt auto");
	shows("batch_bytes", "8388608");
	shows("batch_folios", "512");
	shows("engines/mt/threads", "0");
	shows("engines/mt/pull", "1");
	shows("engines/mt/helper_us", "0");
	for (i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
		snprintf(path, sizeof(path), "reasons/%s", copied[i]);
		shows(path, "1");
	}
	/* a program waits in a fault for these, or memory is failing */
	shows("reasons/numa_misplaced", "0");
	shows("reasons/memory_failure", "0");
	/* nobody has asked for it */
	shows("engines/cpu/speed/1", "0");
	shows("engines/mt/speed/1", "0");
}

int main(void)
{
	return tap_main("defaults", 20, test);
}
