// SPDX-License-Identifier: GPL-2.0
/*
 * Batches run while engines are registered, selected and taken away and the files
 * are read.  Each engine, its name and its token are freed or overwritten as soon
 * as foliolift_unregister_engine() has returned, so AddressSanitizer sees a batch
 * that is still in it, and ThreadSanitizer one that is not ordered before.
 */
#include "cmocka-native.h"
#include "model.h"

#include <sched.h>

#include "mm/foliolift/internal.h"

#define NR_FOLIOS	6
#define ROUNDS		8000

struct slot {
	const char *name;
	enum foliolift_role role;
	int (*copy)(const struct foliolift_batch *batch);
	struct module module;
	struct foliolift_engine *engine;	/* while it is registered */
	int token;				/* not atomic, on purpose */
	int alive, running;
	unsigned long nr_calls;
};

static struct slot slots[];
static int nr_controllers;	/* that are at it; the others stop at none */
static unsigned long nr_batches, nr_marked;
static uint64_t seed;

#define ADD(var, n)	__atomic_add_fetch(&(var), (n), __ATOMIC_RELAXED)

/* ----- engines ----- */

/* Whoever measures an engine has the lock instead, and is not counted. */
static _Thread_local bool is_batch;

static void check_slot(struct slot *slot)
{
	model_check(READ_ONCE(slot->alive));
	model_check(!is_batch || READ_ONCE(slot->module.refs) == 1);
	model_check(slot->token == 1);
}

static int slot_copy(struct slot *slot, const struct foliolift_batch *batch)
{
	unsigned int i;

	ADD(slot->running, 1);
	ADD(slot->nr_calls, is_batch);
	check_slot(slot);
	for (i = 0; i < batch->nr_segments; i++) {
		struct foliolift_segment *seg = &batch->segments[i];

		seg->status = folio_mc_copy(seg->dst, seg->src);
		if (i == 2)
			sched_yield();
	}
	check_slot(slot);
	ADD(slot->running, -1);
	return 0;
}

static int copy_0(const struct foliolift_batch *batch)
{
	return slot_copy(&slots[0], batch);
}

static int copy_1(const struct foliolift_batch *batch)
{
	return slot_copy(&slots[1], batch);
}

static int copy_2(const struct foliolift_batch *batch)
{
	return slot_copy(&slots[2], batch);
}

static struct slot slots[] = {
	{ .name = "mt", .role = FOLIOLIFT_ROLE_MT, .copy = copy_0 },
	{ .name = "dma", .role = FOLIOLIFT_ROLE_DMA, .copy = copy_1 },
	{ .name = "test", .role = FOLIOLIFT_ROLE_TEST, .copy = copy_2 },
};

static ssize_t alive_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	unsigned int i;

	/* A file of an engine is not read once the engine has gone. */
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		if (!strcmp(kobj->name, slots[i].name))
			model_check(READ_ONCE(slots[i].alive));
	return sysfs_emit(buf, "1\n");
}

static struct kobj_attribute alive_attr = __ATTR_RO(alive);
static struct attribute *slot_attrs[] = { &alive_attr.attr, NULL };
ATTRIBUTE_GROUPS(slot);

static void slot_register(struct slot *slot)
{
	struct foliolift_engine *engine = calloc(1, sizeof(*engine));

	slot->engine = engine;
	slot->token = 1;
	WRITE_ONCE(slot->alive, 1);
	engine->name = strdup(slot->name);
	engine->role = slot->role;
	engine->owner = &slot->module;
	engine->copy = slot->copy;
	engine->groups = slot_groups;
	model_check(!foliolift_register_engine(engine));
}

static void slot_unregister(struct slot *slot)
{
	struct foliolift_engine *engine = slot->engine;

	foliolift_unregister_engine(engine);
	/* From here on a module could be gone: nobody is in it, or comes. */
	WRITE_ONCE(slot->alive, 0);
	model_check(!READ_ONCE(slot->running));
	model_check(!READ_ONCE(slot->module.refs));
	slot->token = 0;
	free((void *)engine->name);
	free(engine);
	slot->engine = NULL;
}

/* ----- threads ----- */

#define NR_CONTROLLERS	2

/* A slot belongs to one controller; any controller selects any engine. */
static unsigned int owner_of(const struct slot *slot)
{
	return (slot - slots) % NR_CONTROLLERS;
}

/* Lets the batches get into whatever is selected now. */
static void let_batches_run(void)
{
	unsigned long target = READ_ONCE(nr_batches) + 3;

	while (READ_ONCE(nr_batches) < target)
		sched_yield();
}

static void *controller(void *arg)
{
	static const char *const names[] = {
		"cpu", "mt", "dma", "test", "none", "auto", "auto",
	};
	unsigned int id = (uintptr_t)arg, rounds = model_rounds(ROUNDS), i;
	struct rng rng = { seed + id };

	for (i = 0; i < rounds; i++) {
		struct slot *slot = &slots[rng_below(&rng, ARRAY_SIZE(slots))];
		unsigned int what = rng_below(&rng, 100);

		if (what < 30) {
			if (owner_of(slot) != id)
				continue;
			if (slot->engine)
				slot_unregister(slot);
			else
				slot_register(slot);
		} else if (what < 70) {
			foliolift_select_engine(
				names[rng_below(&rng, ARRAY_SIZE(names))]);
		} else if (what < 72) {
			foliolift_calibrate(rng_percent(&rng, 50));
		} else if (what < 75) {
			WRITE_ONCE(model.choice.role,
				   rng_below(&rng, FOLIOLIFT_NR_ROLES));
		} else if (what < 77) {
			WRITE_ONCE(slot->module.going, rng_percent(&rng, 30));
		} else if (what < 80) {
			foliolift_set_enabled(rng_percent(&rng, 80));
		} else {
			let_batches_run();
		}
	}
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		if (owner_of(&slots[i]) == id && slots[i].engine)
			slot_unregister(&slots[i]);
	ADD(nr_controllers, -1);
	return NULL;
}

static void *batches(void *arg)
{
	struct folio *src[NR_FOLIOS], *dst[NR_FOLIOS];
	LIST_HEAD(src_folios);
	LIST_HEAD(dst_folios);
	uint64_t turn = 0;
	int i;

	is_batch = true;
	model_cpu = (uintptr_t)arg;
	for (i = 0; i < NR_FOLIOS; i++) {
		src[i] = model_folio(i % 3, i);
		dst[i] = model_folio(i % 3, 0);
		src[i]->mapping = (void *)MODEL_MAPPING_ANON;
		list_add_tail(&src[i]->lru, &src_folios);
		list_add_tail(&dst[i]->lru, &dst_folios);
	}
	while (READ_ONCE(nr_controllers)) {
		for (i = 0; i < NR_FOLIOS; i++) {
			model_folio_write(src[i], ++turn);
			dst[i]->private = NULL;
		}
		model_migrate_begin();
		foliolift_copy_folios(&src_folios, &dst_folios, MIGRATE_ASYNC, 0);
		model_migrate_end();
		ADD(nr_batches, 1);
		for (i = 0; i < NR_FOLIOS; i++) {
			int flags = (unsigned long)dst[i]->private;

			if (!flags)
				continue;
			ADD(nr_marked, 1);
			model_check(model_folio_same(dst[i], src[i]));
		}
		sched_yield();	/* fewer batches, more engines */
	}
	for (i = 0; i < NR_FOLIOS; i++) {
		model_folio_free(src[i]);
		model_folio_free(dst[i]);
	}
	return NULL;
}

static void *reader(void *arg)
{
	static const char *const files[] = {
		"enabled", "engine", "available_engines", "stats/fallback_refs",
		"engines/cpu/batches", "engines/mt/folios", "engines/dma/pages",
		"engines/test/declined_batches", "engines/mt/alive",
		"active_engine", "engines/dma/speed/1", "engines/dma/start_ns/1",
		"stats/engine_switches",
	};
	char *buf = malloc(PAGE_SIZE);
	char path[64];
	unsigned int i = 0;

	while (READ_ONCE(nr_controllers)) {
		snprintf(path, sizeof(path), "foliolift/%s",
			 files[i++ % ARRAY_SIZE(files)]);
		model_read(path, buf);
		sched_yield();
	}
	free(buf);
	return NULL;
}

/* The work item of auto.c: measures, and does what the policy says. */
static void *sampler(void *arg)
{
	while (READ_ONCE(nr_controllers)) {
		model_run_delayed_work();
		sched_yield();
	}
	return NULL;
}

static void test_engines_come_and_go_under_batches(void **state)
{
	unsigned long nr_folios = 0, nr_calls = 0;
	long nr_allocs = model.nr_allocs;
	pthread_t threads[NR_CONTROLLERS + 4];
	unsigned int i, n = 0;

	seed = model_seed();
	nr_controllers = NR_CONTROLLERS;
	model.changes = true;
	foliolift_set_enabled(true);
	pthread_create(&threads[n++], NULL, batches, (void *)0);
	pthread_create(&threads[n++], NULL, batches, (void *)1);
	pthread_create(&threads[n++], NULL, reader, NULL);
	pthread_create(&threads[n++], NULL, sampler, NULL);
	for (i = 0; i < NR_CONTROLLERS; i++)
		pthread_create(&threads[n++], NULL, controller,
			       (void *)(uintptr_t)i);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	model_settled();

	/* Every batch was counted for the engine that copied it. */
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		struct slot *slot = &slots[i];

		assert_int_equal(model_stat(engine[slot->role][FOLIOLIFT_STAT_BATCHES]),
				 slot->nr_calls);
		assert_int_equal(model_stat(engine[slot->role][FOLIOLIFT_STAT_FOLIOS]),
				 slot->nr_calls * NR_FOLIOS);
		nr_calls += slot->nr_calls;
	}
	for (i = 0; i < FOLIOLIFT_NR_ROLES; i++)
		nr_folios += model_stat(engine[i][FOLIOLIFT_STAT_FOLIOS]);
	assert_int_equal(nr_folios, nr_marked);
	print_message("%lu engine changes, %lu folios copied early, %lu batches in engines that went\n",
		      model.nr_patched, nr_marked, nr_calls);

	foliolift_select_engine("cpu");
	assert_int_equal(model.nr_allocs, nr_allocs);
	/* It would be no test if nothing had met. */
	if (model_rounds(ROUNDS) >= ROUNDS) {
		assert_true(model.nr_patched > 0);
		assert_true(nr_calls > 0);
	}
}

static int setup(void **state)
{
	return model_start(state) || model_initcall();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines_come_and_go_under_batches),
	};

	return run_group("race", tests, setup, NULL);
}
