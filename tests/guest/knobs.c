// SPDX-License-Identifier: GPL-2.0
/* The files below /sys/kernel/mm/foliolift: what they take, what they refuse and with which error, what they say. */
#include "lib/sys.h"

/* Written and read back; @shown is what reading gives. */
static void takes(const char *file, const char *text, const char *shown)
{
	char path[96], buf[64];

	snprintf(path, sizeof(path), LIFT "%s", file);
	is(write_file(path, text), 0, "%s takes '%s'", file, text);
	if (!ok(!strcmp(read_file(path, buf, sizeof(buf)), shown), "%s shows '%s' then", file,
		shown))
		diag("it shows '%s'", buf);
}

static void refuses(const char *file, const char *text, int err)
{
	char path[96], before[64], after[64];

	snprintf(path, sizeof(path), LIFT "%s", file);
	read_file(path, before, sizeof(before));
	is(write_file(path, text), err, "%s refuses '%.20s'", file, text);
	if (!ok(!strcmp(before, read_file(path, after, sizeof(after))), "%s is what it was", file))
		diag("it was '%s' and is '%s'", before, after);
}

static void test(void)
{
	static const char *const never[] = { "0",    "-1",  "1T",      "junk",
					     "4095", "1.5", "8M junk", "0x",
					     "257M", "",    " ",       "99999999999999999999" };
	static const char *const no_number[] = { "0",	  "-1",	   "1T", "junk", "1.5",
						 "10 10", "16385", "",	 " " };
	static const char *const reasons[] = {
		"compaction",	  "memory_failure", "memory_hotplug", "syscall",  "mempolicy_mbind",
		"numa_misplaced", "contig_range",   "longterm_pin",   "demotion", "damon",
	};
	static const char *const counters[] = {
		"stats/fallback_refs",
		"stats/fallback_callback",
		"stats/fallback_failed",
		"stats/fallback_declined",
		"stats/fallback_nomem",
		"stats/fallback_small",
		"stats/fallback_reason",
		"stats/poisoned",
		"stats/batches",
		"stats/pages",
		"stats/engine_switches",
		"engines/cpu/batches",
		"engines/cpu/folios",
		"engines/cpu/pages",
		"engines/cpu/failed_folios",
		"engines/cpu/declined_batches",
		"engines/cpu/copy_us",
		"engines/cpu/speed/1",
		"engines/cpu/start_ns/1",
		"engines/mt/batches",
		"engines/mt/folios",
		"engines/mt/pages",
		"engines/mt/failed_folios",
		"engines/mt/declined_batches",
		"engines/mt/copy_us",
		"engines/mt/speed/1",
		"engines/mt/start_ns/1",
		"engines/mt/helper_us",
	};
	char path[96], buf[64];
	size_t i;

	lift_begin();
	if (tester_loaded())
		is(tester_unload(), 0, "the test engine can be removed");

	takes("enabled", "1", "1");
	takes("enabled", "0", "0");
	takes("enabled", "1\n", "1");
	takes("enabled", "n", "0");
	refuses("enabled", "2", EINVAL);
	refuses("enabled", "-1", EINVAL);
	refuses("enabled", "junk", EINVAL);

	takes("batch_bytes", "4096", "4096");
	takes("batch_bytes", "64K", "65536");
	takes("batch_bytes", "16M\n", "16777216");
	takes("batch_bytes", "256M", "268435456");
	takes("batch_bytes", "5000", "4096"); /* whole pages */
	takes("batch_bytes", "8M", "8388608");
	for (i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (*never[i]) /* an empty write(2) writes nothing */
			refuses("batch_bytes", never[i], EINVAL);
	refuses("batch_bytes", "\n", EINVAL);

	takes("batch_folios", "1", "1");
	takes("batch_folios", "16384", "16384");
	takes("batch_folios", "512\n", "512");
	for (i = 0; i < sizeof(no_number) / sizeof(*no_number); i++)
		if (*no_number[i])
			refuses("batch_folios", no_number[i], EINVAL);
	refuses("batch_folios", "\n", EINVAL);
	refuses("batch_folios", "99999999999", ERANGE);

	takes("engine", "cpu", "cpu");
	takes("engine", "cpu\n", "cpu");
	refuses("engine", "nosuch", ENODEV);
	refuses("engine", "test", ENODEV);
	refuses("engine", "cp", ENODEV);
	refuses("engine", "cpux", ENODEV);
	refuses("engine", "\n", ENODEV);
	refuses("engine", "a name that is far too long to be the name of an engine", ENODEV);
	takes("engine", "auto", "auto");
	takes("engine", "mt", "mt");
	takes("engine", "auto\n", "auto");
	refuses("engine", "autox", ENODEV);
	refuses("engine", "nosuch", ENODEV);
	takes("engine", "cpu", "cpu");
	ok(choice_is(LIFT "available_engines", "cpu mt auto"), "cpu, mt and auto are available");
	ok(choice_is(LIFT "active_engine", "cpu"), "cpu is the one that copies");
	ok(write_file(LIFT "active_engine", "cpu"), "active_engine cannot be written");
	ok(write_file(LIFT "available_engines", "cpu"), "nor available_engines");

	takes("engines/mt/threads", "1", "1");
	takes("engines/mt/threads", "32", "32");
	takes("engines/mt/threads", "3\n", "3");
	takes("engines/mt/threads", "0", "0");
	refuses("engines/mt/threads", "33", EINVAL);
	refuses("engines/mt/threads", "-1", EINVAL);
	refuses("engines/mt/threads", "junk", EINVAL);
	refuses("engines/mt/threads", "2 threads", EINVAL);
	refuses("engines/mt/threads", "\n", EINVAL);
	refuses("engines/mt/threads", "99999999999", ERANGE);
	takes("engines/mt/pull", "0", "0");
	takes("engines/mt/pull", "y", "1");
	takes("engines/mt/pull", "n\n", "0");
	takes("engines/mt/pull", "1", "1");
	refuses("engines/mt/pull", "2", EINVAL);
	refuses("engines/mt/pull", "junk", EINVAL);

	for (i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
		snprintf(path, sizeof(path), "reasons/%s", reasons[i]);
		takes(path, "0", "0");
		takes(path, "1", "1");
		refuses(path, "2", EINVAL);
		refuses(path, "junk", EINVAL);
	}
	put(LIFT "reasons/numa_misplaced", "0");
	put(LIFT "reasons/memory_failure", "0");

	is(write_file(LIFT "calibrate", "1"), 0, "calibrate takes '1'");
	is(write_file(LIFT "calibrate", "0"), EINVAL, "calibrate refuses '0'");
	is(write_file(LIFT "calibrate", "2"), EINVAL, "calibrate refuses '2'");
	is(write_file(LIFT "calibrate", "junk"), EINVAL, "calibrate refuses 'junk'");
	ok(!*read_file(LIFT "calibrate", buf, sizeof(buf)), "calibrate says nothing");

	tester_load();
	ok(choice_is(LIFT "available_engines", "cpu mt test auto"), "with the module, test is too");
	takes("engine", "test", "test");
	refuses("engine", "nosuch", ENODEV);
	takes("engine", "cpu", "cpu");

	for (i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		snprintf(path, sizeof(path), LIFT "%s", counters[i]);
		read_file(path, buf, sizeof(buf));
		ok(*buf && strspn(buf, "0123456789") == strlen(buf), "%s is a number", counters[i]);
		ok(write_file(path, "0"), "%s cannot be written", counters[i]);
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("knobs", 30, test);
}
