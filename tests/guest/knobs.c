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
	static const char *const counters[] = {
		"stats/fallback_refs",
		"stats/fallback_callback",
		"stats/fallback_failed",
		"stats/fallback_declined",
		"stats/fallback_nomem",
		"stats/poisoned",
		"engines/cpu/batches",
		"engines/cpu/folios",
		"engines/cpu/pages",
		"engines/cpu/failed_folios",
		"engines/cpu/declined_batches",
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
	ok(choice_is(LIFT "available_engines", "cpu"), "cpu is available");

	tester_load();
	ok(choice_is(LIFT "available_engines", "cpu test"), "with the module, test is too");
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
