// SPDX-License-Identifier: GPL-2.0
/* The tracepoints: a batch's phases come in order, from one task, with the right numbers. */
#include "lib/mem.h"

#define INSTANCE "/sys/kernel/tracing/instances/foliolift/"

struct event {
	char name[32], engine[16];
	unsigned int folios, copied;
	unsigned long pages;
	int mode, reason, ret;
};

static struct event events[64];
static int nr_events;

static unsigned long field(const char *line, const char *name)
{
	const char *p = strstr(line, name);

	return p ? strtoul(p + strlen(name), NULL, 10) : -1ul;
}

static void read_events(void)
{
	char line[512];
	FILE *f = fopen(INSTANCE "trace", "re");

	nr_events = 0;
	while (f && fgets(line, sizeof(line), f)) {
		struct event *e = &events[nr_events];
		char *p = strstr(line, ": foliolift_");

		if (*line == '#' || !p || nr_events == 64)
			continue;
		memset(e, 0, sizeof(*e));
		if (sscanf(p, ": foliolift_%31[a-z]", e->name) != 1)
			continue;
		e->folios = field(p, "nr_folios=");
		e->pages = field(p, "nr_pages=");
		e->mode = field(p, "mode=");
		e->reason = field(p, "reason=");
		e->copied = field(p, "nr_copied=");
		e->ret = field(p, "ret=");
		p = strstr(p, "engine=");
		if (p)
			sscanf(p, "engine=%15[a-z]", e->engine);
		nr_events++;
	}
	if (f)
		fclose(f);
}

static void clear(void)
{
	close(open(INSTANCE "trace", O_WRONLY | O_TRUNC));
}

/* One batch of @folios folios: its events, which begin at number @at; the number of the next one. */
static int batch(const char *what, int at, unsigned int folios, unsigned int order,
		 const char *engine)
{
	static const char *const phases[] = { "start", "unmap", "flush", "engine", "copy", "move" };
	struct event *e;
	int i;

	for (i = 0; i < 6; i++) {
		unsigned int left = i == 5 ? 0 : folios;

		if (i == 3 && !engine)
			continue;
		if (!ok(at < nr_events && !strcmp(events[at].name, phases[i]), "%s: event %d is %s",
			what, at, phases[i])) {
			diag("it is '%s'", at < nr_events ? events[at].name : "missing");
			return nr_events;
		}
		e = &events[at++];
		is(e->folios, left, "%s: %s nr_folios", what, phases[i]);
		is(e->pages, left << order, "%s: %s nr_pages", what, phases[i]);
		if (i == 3) {
			ok(!strcmp(e->engine, engine), "%s: engine=%s", what, engine);
			is(e->copied, folios, "%s: nr_copied", what);
			is(e->ret, 0, "%s: ret", what);
		} else {
			is(e->mode, 0, "%s: %s mode is MIGRATE_ASYNC", what, phases[i]);
			is(e->reason, 3, "%s: %s reason is MR_SYSCALL", what, phases[i]);
		}
	}
	return at;
}

static void test(void)
{
	char *small, *thps;
	int at;

	lift_begin();
	mkdir(INSTANCE, 0700);
	put(INSTANCE "events/foliolift/enable", "1");
	alloc_on(0);
	small = map_anon(600 * PAGE, 0);
	thps = map_anon(6 * HUGE, 1);
	fill(small, 600 * PAGE, 1);
	fill(thps, 6 * HUGE, 2);
	alloc_on(-1);

	lift_set("cpu");
	clear();
	is(move(small, 512 * PAGE, PAGE, 1), 0, "512 pages move");
	read_events();
	at = batch("512 pages", 0, 512, 0, "cpu");
	is(nr_events, at, "512 pages: nothing else");

	clear();
	is(move(thps, 6 * HUGE, HUGE, 1), 0, "6 THPs move");
	read_events();
	at = batch("THPs, first batch", 0, 4, 9, "cpu");
	at = batch("THPs, second batch", at, 2, 9, "cpu");
	is(nr_events, at, "6 THPs: nothing else");

	lift_set(NULL);
	clear();
	is(move(small, 512 * PAGE, PAGE, 0), 0, "512 pages move back, with foliolift off");
	read_events();
	at = batch("off", 0, 512, 0, NULL);
	is(nr_events, at, "off: nothing else");

	/* one page fails: a second, synchronous batch of it alone */
	lift_set("test");
	tester_put("poison_addr", "0x%lx", (unsigned long)(small + 5 * PAGE));
	clear();
	is(move(small, 100 * PAGE, PAGE, 1), 1, "one of 100 pages fails");
	tester_put("poison_addr", "0");
	read_events();
	at = 5;
	ok(nr_events > 6 && !strcmp(events[3].name, "engine") && events[3].copied == 99,
	   "engine nr_copied=99");
	ok(nr_events > 6 && !strcmp(events[6].name, "start"), "then another batch begins");
	ok(nr_events > 6 && events[6].folios == 1 && events[6].mode == 2,
	   "of one folio, mode is MIGRATE_SYNC");

	put(INSTANCE "events/foliolift/enable", "0");
	rmdir(INSTANCE);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("trace", 30, test);
}
