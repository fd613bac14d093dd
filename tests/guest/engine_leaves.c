// SPDX-License-Identifier: GPL-2.0
/*
 * An engine that goes away while batches are in it (H9): threads move memory to and fro while the test engine is
 * selected and deselected, unregistered as a lost device is, its module removed and loaded again. Nothing hangs,
 * nothing is lost, and a module in use is not removed.
 */
#include "lib/mem.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop, pausing, paused;

struct mover {
	pthread_t thread;
	int cpu, huge;
	char *p;
	size_t len;
	unsigned long moves, bad, failed;
};

static void *mover(void *arg)
{
	struct mover *m = arg;
	uint64_t seed = mix(tap_seed + m->cpu);

	on_cpu(m->cpu);
	while (!atomic_load(&stop)) {
		int node = !(m->moves & 1);

		if (atomic_load(&pausing)) {
			atomic_fetch_add(&paused, 1);
			while (atomic_load(&pausing))
				usleep(200);
			atomic_fetch_sub(&paused, 1);
		}
		if (m->moves % 4 == 0)
			fill(m->p, m->len, ++seed);
		m->failed += move(m->p, m->len, m->huge ? HUGE : PAGE, node) != 0;
		m->failed += on_node(m->p, m->len, node) != m->len / PAGE;
		m->bad += check(m->p, m->len, seed);
		m->moves++;
	}
	return NULL;
}

static void start(struct mover *m, int n)
{
	int i;

	stop = 0;
	for (i = 0; i < n; i++) {
		m[i] = (struct mover){ .cpu = i % nr_cpus(),
				       .huge = i == 1,
				       .len = i == 1 ? 5 * HUGE : 300 * PAGE };
		m[i].p = map_anon(m[i].len, m[i].huge);
		if (pthread_create(&m[i].thread, NULL, mover, &m[i]))
			fatal("a thread can be had");
	}
}

static void finish(const char *what, struct mover *m, int n)
{
	unsigned long moves = 0, bad = 0, failed = 0;
	int i;

	stop = 1;
	for (i = 0; i < n; i++) {
		pthread_join(m[i].thread, NULL);
		moves += m[i].moves;
		bad += m[i].bad;
		failed += m[i].failed;
		munmap(m[i].p, m[i].len);
	}
	diag("%s: %lu moves", what, moves);
	is(bad, 0, "%s: no page differs", what);
	is(failed, 0, "%s: every move moved everything", what);
}

static void in_use(void)
{
	int err;

	lift_set("test");
	err = tester_unload();
	if (!ok(err == EAGAIN || err == EBUSY,
		"the module of the selected engine cannot be removed"))
		diag("errno %d", err);
	ok(choice_is(LIFT "engine", "test"), "and the engine stays selected");
	is(write_file(LIFT "engine", "cpu"), 0, "another can be selected");
	is(tester_unload(), 0, "then it can be removed");
	ok(!exists(LIFT "engines/test"), "its counters go with it");
	is(write_file(LIFT "engine", "test"), ENODEV, "it cannot be selected any more");
	tester_load();
	ok(exists(LIFT "engines/test"), "it can come back");
}

/* As with a device that is unplugged: "cpu" takes over. */
static void lost(void)
{
	lift_set("test");
	is(write_file(TESTER "registered", "0"), 0, "the selected engine can be lost");
	ok(choice_is(LIFT "engine", "cpu"), "cpu takes over");
	ok(choice_is(LIFT "enabled", "1"), "and is on");
	ok(choice_is(LIFT "available_engines", "cpu mt auto"), "it is not available");
	is(write_file(LIFT "engine", "test"), ENODEV, "the lost one cannot be selected");
	is(write_file(TESTER "registered", "1"), 0, "it can come back");
	ok(choice_is(LIFT "engine", "cpu"), "but is not selected by itself");
	is(tester_unload(), 0, "its module is not in use");
}

/*
 * Emulated CPUs with a thread each (QEMU's TCG) may go on executing a breakpoint that another CPU has already
 * taken out of the code, which a kernel that changes its code under way cannot survive ("Oops: int3", with no
 * int3 in the code it shows). So there whatever changes code that the movers run finds them waiting: the static
 * key behind "enabled", and the module if it comes with a probe that is armed.
 */
static void pause_movers(int n)
{
	const char *accel = getenv("LAB_ACCEL");

	if (accel && !strcmp(accel, "kvm"))
		return;
	atomic_store(&pausing, 1);
	while (atomic_load(&paused) < n)
		usleep(200);
}

static void resume_movers(void)
{
	atomic_store(&pausing, 0);
	while (atomic_load(&paused))
		usleep(200);
}

static int module_has_armed_probe(void)
{
	char line[256];
	int armed = 0;
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "re");

	while (f && fgets(line, sizeof(line), f))
		armed |= strstr(line, "folio_mc_copy") && !strstr(line, "[DISABLED]");
	if (f)
		fclose(f);
	return armed;
}

/* Errors are part of the game: an engine that is not there cannot be selected. */
static void disturb(unsigned int cycles, int movers)
{
	static const char *const others[] = { "cpu", "mt", "auto" };
	unsigned int i, selected = 0, unloads = 0, loads = 0, odd = 0;
	int probe = module_has_armed_probe();

	diag("the module's probe is %s", probe ? "armed" : "not armed");
	for (i = 0; i < cycles; i++) {
		char text[16];
		int err = 0;

		switch (rnd() % 9) {
		case 0:
		case 1:
			err = write_file(LIFT "engine", "test");
			selected += !err;
			odd += err && err != ENODEV;
			break;
		case 2:
			odd += write_file(LIFT "engine", others[rnd() % 3]) != 0;
			break;
		case 3:
			write_file(TESTER "registered", "0");
			break;
		case 4:
		case 5:
			write_file(TESTER "registered", "1");
			break;
		case 6:
			pause_movers(movers);
			odd += write_file(LIFT "enabled", rnd() % 4 ? "1" : "0") != 0;
			resume_movers();
			break;
		case 7:
			if (probe)
				pause_movers(movers);
			err = tester_unload();
			unloads += !err;
			odd += err && err != EAGAIN && err != EBUSY && err != ENOENT;
			if (err || rnd() % 4) { /* mostly back at once */
				loads += !tester_loaded() && !insmod(TESTER_MODULE);
			}
			if (probe)
				resume_movers();
			break;
		case 8:
			snprintf(text, sizeof(text), "%d", (int)(rnd() % 5 ? rnd() % 2000 : 20000));
			write_file(TESTER "delay_us", text);
			write_file(TESTER "async", rnd() % 2 ? "1" : "0");
			write_file(TESTER "fail_every", rnd() % 3 ? "0" : "7");
			break;
		}
		usleep(rnd() % 4000);
	}
	diag("selected %u times, removed %u times, loaded %u times", selected, unloads, loads);
	is(odd, 0, "no error but those to be expected");
	ok(selected && unloads && loads, "engines came and went");
}

static void test(void)
{
	struct mover movers[3];

	lift_begin();
	in_use();
	lost();

	tester_load();
	lift_set("test");
	tester_put("delay_us", "1000");
	start(movers, 3);
	disturb(rounds(200), 3);
	finish("engines come and go", movers, 3);

	tester_load();
	lift_set(NULL);
	is(tester_unload(), 0, "the module is not in use in the end");
}

int main(void)
{
	return tap_main("engine_leaves", 90, test);
}
