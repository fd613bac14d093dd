// SPDX-License-Identifier: GPL-2.0
/*
 * Engine "auto": the policy is in charge, samples while folios migrate and sleeps while none do, never picks the
 * test's engine, and gives way to whoever picks one by hand. And what migrates for which reason is copied early.
 */
#include "lib/work.h"

#define LEN (400 * PAGE)
#define WHILE 700 /* ms */
#define UNBOUND "/sys/devices/virtual/workqueue/cpumask"

static char *small, *thps;
static uint64_t seed;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* Move without a pause for so long; pages that are wrong or did not move. */
static size_t migrate_for(long long ms)
{
	long long end = now_ms() + ms;
	size_t bad = 0;
	int node = 1;

	do {
		bad += move(small, LEN, PAGE, node) != 0;
		bad += move(thps, 2 * HUGE, HUGE, node) != 0;
		node = !node;
	} while (now_ms() < end || !node); /* ends on node 0 */
	return bad + check(small, LEN, seed) + check(thps, 2 * HUGE, seed + 1);
}

static unsigned int samples(void)
{
	return work_ran("foliolift_sample", NULL);
}

/* ----- calibration ----- */

static void test_calibrate(void)
{
	static const char *const measured[] = { "cpu/speed/1", "mt/speed/1", "mt/speed/2" };
	char path[96], buf[32];
	size_t i;

	is(write_file(LIFT "calibrate", "1"), 0, "calibrate takes '1'");
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), LIFT "engines/%s", measured[i]);
		ok(exists(path) && get(path) > 0, "%s is more than 0", measured[i]);
	}
	read_file(LIFT "engines/mt/start_ns/2", buf, sizeof(buf));
	ok(*buf && strspn(buf, "0123456789") == strlen(buf), "mt/start_ns/2 is a number");
	ok(!exists(LIFT "engines/cpu/speed/2"), "cpu has one width");
	ok(!exists(LIFT "engines/mt/speed/32"), "mt has no more than there are CPUs");
	ok(choice_is(LIFT "engine", "auto"), "calibration changes no choice");
}

/* ----- the sampler ----- */

/* Does it come to rest? Not at once: whoever migrated last is seen by the next sample. */
static int rests(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		work_forget();
		usleep(WHILE * 1000);
		if (!samples())
			return 1;
	}
	return 0;
}

static void test_sampler(void)
{
	long long took;
	unsigned int n, quiet;
	cpu_set_t one;
	char was[32];
	int i;

	ok(rests(), "nothing migrates: nobody samples");

	work_forget();
	took = now_ms();
	is(migrate_for(2 * WHILE), 0, "folios migrate");
	took = now_ms() - took;
	n = samples();
	diag("%u samples in %lld ms", n, took);
	ok(n >= 3, "they do: samples are taken");
	ok(n <= took / 100 + 2, "ten a second at most");
	ok(rests(), "they do not any more: nobody samples");

	/*
	 * The sampler runs on a CPU that has nothing else to do, not even to look after this test, while another one
	 * migrates: it has to wake that CPU.
	 */
	CPU_ZERO(&one);
	CPU_SET(1, &one);
	sched_setaffinity(getppid(), sizeof(one), &one);
	on_cpu(1);
	read_file(UNBOUND, was, sizeof(was));
	put(UNBOUND, "8");
	move(small, LEN, PAGE, 1);
	usleep(300000);
	/* A host that has other things to do may keep a CPU waiting, but hardly three times. */
	for (i = 0, quiet = 0; i < 3 && quiet < n / 2; i++) {
		work_forget();
		migrate_for(2 * WHILE);
		quiet = samples();
		diag("%u samples", quiet);
	}
	ok(quiet >= n / 2, "whoever migrates: as many samples are taken");
	put(UNBOUND, "%s", was);

	ok(rests(), "nobody samples again");
	work_forget();
	move(small, LEN, PAGE, 1);
	for (i = 0; i < 500 && !samples(); i++)
		usleep(10000);
	ok(samples(), "one batch is enough to wake the sampler");
}

/* Whoever chooses an engine by hand relieves the policy, whatever that is doing at the moment. */
static void test_by_hand(void)
{
	int i;

	rests();
	put(LIFT "engine", "cpu");
	ok(choice_is(LIFT "engine", "cpu"), "an engine is chosen by hand");
	work_forget();
	migrate_for(WHILE);
	is(samples(), 0, "nobody samples then");
	ok(choice_is(LIFT "active_engine", "cpu"), "and the choice is left alone");

	/* in the middle of a sample, which is long if there is an engine that takes long to measure */
	tester_load();
	tester_put("delay_us", "50000");
	for (i = 0; i < 3; i++) {
		tester_put("registered", "0");
		tester_put("registered", "1");
		put(LIFT "engine", "auto");
		usleep(20000 * i);
		put(LIFT "engine", "cpu");
		migrate_for(300); /* one that is under way ends */
		work_forget();
		migrate_for(500);
		if (samples())
			break;
	}
	is(i, 3, "nor if it was chosen in the middle of a sample");
	tester_reset();
}

/* ----- the choice ----- */

static int active_is_real(void)
{
	return choice_is(LIFT "active_engine", "cpu") || choice_is(LIFT "active_engine", "mt") ||
	       choice_is(LIFT "active_engine", "dma");
}

static void test_choice(void)
{
	long long calls, switches = lift_count("stats/engine_switches"), took;
	struct spinner spinners[3];
	unsigned int round;
	int i, real = 1;

	lift_set("cpu");
	put(LIFT "engine", "mt");
	put(LIFT "engine", "cpu");
	is(lift_count("stats/engine_switches") - switches, 2, "engine_switches counts");
	put(LIFT "engine", "cpu");
	is(lift_count("stats/engine_switches") - switches, 2, "but not what is no change");

	lift_set("test");
	put(LIFT "engine", "auto");
	migrate_for(500);
	ok(active_is_real(), "the test's engine is not kept when the policy takes over");
	calls = tester_get("calls");
	switches = lift_count("stats/engine_switches");
	took = now_ms();
	for (round = 0; round < rounds(2); round++) {
		is(migrate_for(WHILE), 0, "under the policy: no page differs");
		real &= active_is_real();
		for (i = 0; i < 3; i++)
			spin_on(&spinners[i], i + 1);
		migrate_for(WHILE);
		real &= active_is_real();
		for (i = 0; i < 3; i++)
			spin_end(&spinners[i]);
		for (i = 0; i < 20; i++) /* single pages, and pauses */
			move(small, PAGE, PAGE, !(i & 1));
		usleep(200000);
	}
	took = now_ms() - took;
	switches = lift_count("stats/engine_switches") - switches;
	diag("%lld switches in %lld ms; at the end the policy has chosen %s", switches, took,
	     choice_is(LIFT "active_engine", "mt") ? "mt" : "another engine than mt");
	ok(switches <= took / 1000 + 5, "it switches once a second at most");
	ok(real, "it never chooses the test's engine");
	is(tester_get("calls"), calls, "which copies nothing");

	/* the engine that copies is lost while the policy is in charge */
	put(LIFT "engine", "test");
	is(write_file(TESTER "registered", "0"), 0, "an engine can be lost");
	put(LIFT "engine", "auto");
	is(migrate_for(500), 0, "the policy goes on without it");
	ok(choice_is(LIFT "engine", "auto") && active_is_real(), "with one that is there");
	is(write_file(TESTER "registered", "1"), 0, "it can come back");
	is(migrate_for(500), 0, "which is no reason to choose it");
	ok(active_is_real(), "and it is not");
	lift_set(NULL);
	is(tester_unload(), 0, "its module is not in use");
}

/* ----- reasons ----- */

static void test_reasons(void)
{
	unsigned long mask = 1;
	struct lift_counts c;

	lift_set("cpu");
	move(small, LEN, PAGE, 0);
	put(LIFT "reasons/syscall", "0");
	c = lift_counts();
	is(move(small, LEN, PAGE, 1), 0, "reasons/syscall 0: move_pages");
	c = lift_since(c);
	is(c.pages, 0, "reasons/syscall 0: no engine copies");
	is(c.reason, LEN / PAGE, "reasons/syscall 0: fallback_reason");
	is(check(small, LEN, seed), 0, "reasons/syscall 0: no page differs");
	c = lift_counts();
	is(syscall(SYS_mbind, small, LEN, MPOL_BIND, &mask, 64ul, MPOL_MF_MOVE | MPOL_MF_STRICT), 0,
	   "reasons/syscall 0: mbind");
	c = lift_since(c);
	is(c.pages, LEN / PAGE, "reasons/syscall 0: is another reason");
	is(c.reason, 0, "reasons/syscall 0: which is not left alone");
	put(LIFT "reasons/syscall", "1");
	put(LIFT "reasons/mempolicy_mbind", "0");
	c = lift_counts();
	mask = 2;
	is(syscall(SYS_mbind, small, LEN, MPOL_BIND, &mask, 64ul, MPOL_MF_MOVE | MPOL_MF_STRICT), 0,
	   "reasons/mempolicy_mbind 0: mbind");
	c = lift_since(c);
	is(c.pages, 0, "reasons/mempolicy_mbind 0: no engine copies");
	is(c.reason, LEN / PAGE, "reasons/mempolicy_mbind 0: fallback_reason");
	put(LIFT "reasons/mempolicy_mbind", "1");
	syscall(SYS_mbind, small, LEN, MPOL_DEFAULT, NULL, 0ul, 0);
	c = lift_counts();
	is(move(small, LEN, PAGE, 0), 0, "reasons/syscall 1: move_pages");
	c = lift_since(c);
	is(c.pages, LEN / PAGE, "reasons/syscall 1: the engine copies");
}

/* Promote the THPs by hinting faults of a thread on the other node; what was counted meanwhile. */
static struct lift_counts hinting(int on)
{
	struct lift_counts c;
	int i;
	size_t k;

	move(thps, 2 * HUGE, HUGE, 0);
	put(LIFT "reasons/numa_misplaced", "%d", on);
	write_file("/proc/sys/kernel/numa_balancing", "1");
	on_cpu(2);
	c = lift_counts();
	for (i = 0; i < 3000 && on_node(thps, 2 * HUGE, 1) < 1024; i++)
		for (k = 0; k < 2 * HUGE; k += PAGE)
			*(volatile char *)(thps + k);
	c = lift_since(c);
	write_file("/proc/sys/kernel/numa_balancing", "0");
	on_cpu(0);
	put(LIFT "reasons/numa_misplaced", "0");
	return c;
}

static void test_hinting(void)
{
	static const char *const knobs[][2] = {
		{ "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", "1" },
		{ "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", "10" },
	};
	struct lift_counts c;
	char was[2][32];
	int i;

	for (i = 0; i < 2; i++) {
		read_file(knobs[i][0], was[i], sizeof(was[i]));
		write_file(knobs[i][0], knobs[i][1]);
	}
	c = hinting(0);
	if (on_node(thps, 2 * HUGE, 1) < 1024) {
		skip("hinting faults", "they did not promote the THPs");
	} else {
		is(c.pages, 0, "hinting faults: THPs are not copied by the engine");
		ok(c.reason >= 2, "hinting faults: fallback_reason");
		c = hinting(1);
		if (on_node(thps, 2 * HUGE, 1) < 1024)
			skip("hinting faults", "they did not promote the THPs again");
		else
			ok(c.pages >= 1024, "hinting faults: they are if they shall be");
	}
	is(check(thps, 2 * HUGE, seed + 1), 0, "hinting faults: no page differs");
	for (i = 0; i < 2; i++)
		write_file(knobs[i][0], was[i]);
}

static void test(void)
{
	lift_begin();
	seed = rnd();
	on_cpu(0);
	alloc_on(0);
	small = map_anon(LEN, 0);
	thps = map_anon(2 * HUGE, 1);
	fill(small, LEN, seed);
	fill(thps, 2 * HUGE, seed + 1);
	alloc_on(-1);

	lift_set("auto");
	ok(choice_is(LIFT "engine", "auto"), "auto reads back as auto");
	ok(active_is_real(), "some engine copies");
	work_trace("execute_start", 1);
	test_calibrate();
	test_sampler();
	test_by_hand();
	test_choice();
	work_trace_end();
	test_reasons();
	test_hinting();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("auto", 120, test);
}
