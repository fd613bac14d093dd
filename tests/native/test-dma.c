// SPDX-License-Identifier: GPL-2.0
/*
 * dma.c, loaded as the module that it is, on the channels of dma-model.c.  Every batch is
 * compared byte for byte after the test has done what the CPU does with what the engine
 * did not copy, and once more at its end, when nobody may have written to it since.
 */
#include "cmocka-native.h"
#include "dma-model.h"

#include <linux/jiffies.h>

#include <dlfcn.h>
#include <libgen.h>
#include <sched.h>

#include "mm/foliolift/internal.h"

#define DIR	"foliolift/engines/dma/"

/* ----- a batch of folios at given places ----- */

#define MAX_FOLIOS	1024
#define ARENA_PAGES	4096
#define UNTOUCHED	0x5a

struct test_batch {
	struct foliolift_batch batch;
	struct foliolift_segment segments[MAX_FOLIOS];
	unsigned char *src, *dst;	/* the memory of either side */
	unsigned char *expected;	/* what has to be in dst at the end */
};

static struct folio *folio_at(unsigned char *arena, unsigned int page,
			      unsigned int order)
{
	struct folio *folio = calloc(1, sizeof(*folio));

	assert_true(page + (1 << order) <= ARENA_PAGES);
	folio->order = order;
	folio->data = arena + page * MODEL_PAGE;
	return folio;
}

static struct test_batch *batch_new(void)
{
	static uint64_t next;
	struct test_batch *b = calloc(1, sizeof(*b));
	struct rng rng = { __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED) };
	size_t size = ARENA_PAGES * MODEL_PAGE, i;

	b->batch.segments = b->segments;
	b->src = malloc(size);
	b->dst = malloc(size);
	b->expected = malloc(size);
	for (i = 0; i < size; i++)
		b->src[i] = rng_next(&rng);
	memset(b->dst, UNTOUCHED, size);
	memset(b->expected, UNTOUCHED, size);
	return b;
}

static void batch_add(struct test_batch *b, unsigned int order,
		      unsigned int src_page, unsigned int dst_page)
{
	struct foliolift_segment *seg = &b->segments[b->batch.nr_segments++];

	seg->src = folio_at(b->src, src_page, order);
	seg->dst = folio_at(b->dst, dst_page, order);
	seg->nr_pages = 1 << order;
	seg->status = FOLIOLIFT_PENDING;
	b->batch.nr_pages += seg->nr_pages;
	memcpy(b->expected + dst_page * MODEL_PAGE, seg->src->data,
	       folio_size(seg->src));
}

/* @nr small folios, from @src and to @dst on, this far apart. */
static struct test_batch *batch_of(unsigned int nr, int src, int src_step,
				   int dst, int dst_step)
{
	struct test_batch *b = batch_new();

	for (; nr--; src += src_step, dst += dst_step)
		batch_add(b, 0, src, dst);
	return b;
}

/* Through the engine and, where that did not copy, as the stage goes on. */
static int batch_copy(struct test_batch *b)
{
	unsigned int i;
	int ret;

	fake_batch = &b->batch;
	model_migrate_begin();
	ret = static_call(foliolift_copy)(&b->batch);
	model_migrate_end();
	fake_batch = NULL;
	if (fake_nr_mapped)
		model_fail("%ld parts are still mapped", fake_nr_mapped);
	for (i = 0; i < b->batch.nr_segments; i++) {
		struct foliolift_segment *seg = &b->segments[i];

		if (!seg->status &&
		    memcmp(seg->dst->data, seg->src->data, folio_size(seg->src)))
			model_fail("segment %u is not what it is said to be", i);
		if (seg->status)
			memcpy(seg->dst->data, seg->src->data,
			       folio_size(seg->src));
	}
	return ret;
}

static unsigned int batch_count(const struct test_batch *b, int status)
{
	unsigned int i, nr = 0;

	for (i = 0; i < b->batch.nr_segments; i++)
		nr += b->segments[i].status == status;
	return nr;
}

static void batch_free(struct test_batch *b)
{
	unsigned int i;

	if (memcmp(b->dst, b->expected, ARENA_PAGES * MODEL_PAGE))
		model_fail("something was written that should not have been");
	for (i = 0; i < b->batch.nr_segments; i++) {
		free(b->segments[i].src);
		free(b->segments[i].dst);
	}
	free(b->src);
	free(b->dst);
	free(b->expected);
	free(b);
}

/* Copies and frees it; all of it has to be copied. */
static void all_copied(struct test_batch *b)
{
	assert_int_equal(batch_copy(b), 0);
	assert_int_equal(batch_count(b, 0), b->batch.nr_segments);
	batch_free(b);
}

/* ----- the module ----- */

static void *module;
static bool is_up;

typedef int (*const module_init_fn)(void);
typedef void (*const module_exit_fn)(void);

static int module_load(const char *channels)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	module_init_fn *init;
	int ret;

	assert_true(len > 0);
	path[len] = '\0';
	strcat(dirname(path), "/kernel/dma.so");
	module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!module)
		fail_msg("%s", dlerror());
	**(const char ***)dlsym(module, "model_param_channels") = channels;
	init = dlsym(module, "model_module_init");
	is_up = false;
	ret = (*init)();
	is_up = !ret;
	return ret;
}

/* What is left in the kernel of a module that did not come up. */
static void module_unload(void)
{
	dlclose(module);
	module = NULL;
	fakes_stop();
	model_settled();
	assert_int_equal(model.nr_allocs, 0);
}

/* With @nr channels, all of which a batch may use. */
static void load(unsigned int nr)
{
	unsigned int i;

	if (!nr_fakes)
		fakes_start(nr);
	assert_int_equal(module_load(NULL), 0);
	assert_int_equal(foliolift_select_engine("dma"), 0);
	assert_int_equal(model_write(DIR "channels", "32"), 2);
	for (i = 0; i < nr_fakes; i++)
		fakes[i].nr_descs = 0;
}

static void module_down(void)
{
	module_exit_fn *exit = dlsym(module, "model_module_exit");

	foliolift_select_engine("cpu");
	if (is_up)
		(*exit)();
	is_up = false;
}

static void unload(void)
{
	module_down();
	module_unload();
}

static unsigned long nr_descs(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < nr_fakes; i++)
		sum += READ_ONCE(fakes[i].nr_descs);
	return sum;
}

static long shown(const char *file)
{
	char path[64], buf[PAGE_SIZE];

	snprintf(path, sizeof(path), DIR "%s", file);
	if (model_read(path, buf) < 0)
		return -1;
	return strtol(buf, NULL, 10);
}

/* ----- coming up ----- */

static void test_no_channel_no_engine(void **state)
{
	fakes_start(0);
	assert_int_equal(module_load(NULL), -ENODEV);
	assert_int_equal(foliolift_select_engine("dma"), -ENODEV);
	module_unload();
}

static void test_useless_channels_are_not_used(void **state)
{
	fakes_start(6);
	fakes[0].device.device_terminate_all = NULL;
	fakes[1].wrong = true;
	fakes[2].dev.faults.hang = 3;
	fakes[3].dev.parms.max_segment_size = PAGE_SIZE - 1;
	fakes[4].dev.faults.prep = -1;
	load(6);
	/* Given back, for others who can use them. */
	assert_false(fakes[0].requested || fakes[1].requested ||
		     fakes[2].requested || fakes[3].requested ||
		     fakes[4].requested);
	assert_int_equal(shown("channels_in_service"), 1);
	assert_true(shown("channel_speed/dma0chan5") >= 0);
	assert_int_equal(shown("channel_speed/dma0chan4"), -1);
	all_copied(batch_of(64, 0, 2, 0, 2));
	assert_int_equal(nr_descs(), fakes[5].nr_descs);
	unload();

	/* And if there is no other, there is no engine. */
	fakes_start(2);
	fakes[0].device.device_synchronize = NULL;
	fakes[1].device.device_terminate_all = NULL;
	assert_int_equal(module_load(NULL), -ENODEV);
	module_unload();
}

static void test_channels_by_name(void **state)
{
	static const struct {
		const char *channels;
		unsigned long wanted;
	} params[] = {
		{ "", 0xffff },
		{ "dma0chan1", BIT(1) },
		{ "dma0chan10", BIT(10) },
		{ "dma0chan10,dma0chan1", BIT(10) | BIT(1) },
		{ "dma0chan1,dma0chan3", BIT(1) | BIT(3) },
		{ "dma0chan11,dma0chan12,dma0chan2", BIT(11) | BIT(12) | BIT(2) },
		{ "xdma0chan1,dma0chan4", BIT(4) },
		{ "dma0chan99", 0 },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(params); i++) {
		unsigned long requested = 0;
		int ret;

		fakes_start(16);
		ret = module_load(params[i].channels);
		for (k = 0; k < nr_fakes; k++)
			requested |= (unsigned long)fakes[k].requested << k;
		assert_int_equal(requested, params[i].wanted);
		assert_int_equal(ret, params[i].wanted ? 0 : -ENODEV);
		if (ret)
			module_unload();
		else
			unload();
	}
}

static int nothing(const struct foliolift_batch *batch)
{
	return 0;
}

/* No memory, at each place, or another engine of its role: nothing is left. */
static void test_failed_init_leaves_nothing(void **state)
{
	struct foliolift_engine other = {
		.name = "other", .role = FOLIOLIFT_ROLE_DMA, .copy = nothing,
	};
	int fault, ret;

	fakes_start(2);
	assert_int_equal(foliolift_register_engine(&other), 0);
	assert_int_equal(module_load(NULL), -EBUSY);
	foliolift_unregister_engine(&other);
	module_unload();
	for (fault = 1; ; fault++) {
		fakes_start(2);
		model.fault_in = fault;
		model.faulted = false;
		ret = module_load(NULL);
		model.fault_in = 0;
		if (!model.faulted)
			break;
		/* With one channel fewer it can do. */
		if (!ret)
			unload();
		else
			module_unload();
	}
	assert_in_range(fault, 6, 20);
	unload();
}

/* ----- copying ----- */

static void test_runs_are_merged(void **state)
{
	struct test_batch *b;

	load(1);
	all_copied(batch_of(512, 0, 1, 0, 1));
	assert_int_equal(nr_descs(), 1);
	fakes[0].nr_descs = 0;
	all_copied(batch_of(512, 0, 2, 0, 2));
	assert_int_equal(nr_descs(), 512);
	fakes[0].nr_descs = 0;
	/* Contiguous on one side only. */
	all_copied(batch_of(64, 0, 1, 0, 2));
	all_copied(batch_of(64, 0, 2, 0, 1));
	assert_int_equal(nr_descs(), 128);
	fakes[0].nr_descs = 0;
	/* Backwards on both sides is as good as forwards, on one it is not. */
	all_copied(batch_of(512, 511, -1, 511, -1));
	assert_int_equal(nr_descs(), 1);
	fakes[0].nr_descs = 0;
	all_copied(batch_of(512, 511, -1, 0, 1));
	all_copied(batch_of(512, 0, 1, 511, -1));
	assert_int_equal(nr_descs(), 1024);
	fakes[0].nr_descs = 0;
	/* There and back again. */
	b = batch_of(2, 11, -1, 21, -1);
	batch_add(b, 0, 12, 22);
	batch_add(b, 1, 13, 23);
	batch_add(b, 2, 6, 16);
	batch_add(b, 3, 31, 41);
	batch_add(b, 3, 23, 33);
	all_copied(b);
	assert_int_equal(nr_descs(), 4);
	fakes[0].nr_descs = 0;
	/* Small, large and small again in a row; then a gap. */
	b = batch_new();
	batch_add(b, 0, 10, 100);
	batch_add(b, 9, 11, 101);
	batch_add(b, 1, 11 + 512, 101 + 512);
	batch_add(b, 1, 11 + 512 + 2, 101 + 512 + 3);
	all_copied(b);
	assert_int_equal(nr_descs(), 2);
	assert_true(shown("descriptors") >= 2);
	assert_int_equal(shown("queued_bytes"), 0);
	unload();
}

/* A large folio is split among the channels, many small ones are dealt out. */
static void test_channels_share(void **state)
{
	static const unsigned int nrs[] = { 1, 2, 3, 7, 8 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(nrs); i++) {
		struct test_batch *b = batch_new();

		load(nrs[i]);
		batch_add(b, 9, 5, 9);
		all_copied(b);
		for (k = 0; k < nrs[i]; k++)
			assert_int_equal(fakes[k].nr_descs, 1);
		all_copied(batch_of(510, 0, 3, 1, 2));
		for (k = 0; k < nrs[i]; k++)
			assert_in_range(fakes[k].nr_descs, 510 / nrs[i] - 8,
					510 / nrs[i] + 2);
		/* Fewer pages than channels. */
		all_copied(batch_of(1, 0, 1, 0, 1));
		/* No more than were asked for. */
		model_write(DIR "channels", "1");
		fakes[0].nr_descs = 0;
		for (k = 1; k < nrs[i]; k++)
			fakes[k].nr_descs = 0;
		all_copied(batch_of(64, 0, 3, 1, 2));
		assert_int_equal(nr_descs(), fakes[0].nr_descs);
		unload();
	}
}

static void test_short_mappings_and_few_descriptors(void **state)
{
	static const unsigned int pools[] = { 1, 2, 7, 255, 256, 257 };
	struct test_batch *b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		b = batch_new();
		fakes_start(3);
		fakes[0].dev.parms.max_segment_size = 3 * PAGE_SIZE;
		fakes[1].dev.max_mapping = PAGE_SIZE + 1;
		fakes[0].pool = fakes[1].pool = fakes[2].pool = pools[i];
		load(3);
		batch_add(b, 9, 0, 0);
		batch_add(b, 0, 600, 700);
		batch_add(b, 9, 700, 800);
		all_copied(b);
		all_copied(batch_of(1000, 0, 3, 0, 2));
		unload();
	}
}

/* Of a driver that does not say what its device takes, 2 MB are tried. */
static void test_unknown_longest_descriptor(void **state)
{
	static const struct {
		size_t max_len, hang_len;
		unsigned int nr_descs;
	} devices[] = {
		{ 0, 0, 1 },
		{ SZ_64K, 0, 32 },
		{ SZ_2M - 1, 0, 32 },
		/* It hangs: that channel is of no use, the other is. */
		{ 0, SZ_2M, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(devices); i++) {
		struct test_batch *b = batch_new();

		fakes_start(1 + !!devices[i].hang_len);
		fakes[0].dev.dma_parms = NULL;
		fakes[0].dev.max_len = devices[i].max_len;
		fakes[0].dev.hang_len = devices[i].hang_len;
		load(1);
		assert_int_equal(fakes[0].requested, !devices[i].hang_len);
		assert_int_equal(shown("channels_in_service"), 1);
		batch_add(b, 9, 0, 0);
		all_copied(b);
		assert_int_equal(nr_descs(), devices[i].nr_descs);
		unload();
	}
}

static void test_direct_mapping(void **state)
{
	fakes_start(2);
	fakes[0].dev.direct = fakes[1].dev.direct = true;
	load(2);
	all_copied(batch_of(256, 0, 2, 0, 2));
	unload();
}

/* ----- channels that fail ----- */

/*
 * A channel fails in one way, once or always.  What it was given and did not copy is left
 * to the CPU; what it did not even take is taken by the other channel.
 */
static void one_fails(size_t offset, int at, bool taken)
{
	struct test_batch *b = batch_of(64, 0, 2, 0, 2);
	int i;

	load(2);
	*(int *)((char *)&fakes[1].dev.faults + offset) = at;
	assert_int_equal(batch_copy(b), 0);
	for (i = 0; i < 64; i++) {
		int status = b->segments[i].status;

		/* The second channel has the second half. */
		if (status && status != -EIO)
			fail_msg("status %d", status);
		if (at < 0 || !taken)
			assert_int_equal(status, i < 32 || !taken ? 0 : -EIO);
	}
	if (at > 0)
		assert_true(batch_count(b, -EIO) <= 1);
	batch_free(b);
	unload();
}

#define fails(what, taken) do {						\
	one_fails(offsetof(struct fake_faults, what), 1, taken);	\
	one_fails(offsetof(struct fake_faults, what), 17, taken);	\
	one_fails(offsetof(struct fake_faults, what), 32, taken);	\
	one_fails(offsetof(struct fake_faults, what), -1, taken);	\
} while (0)

static void test_mapping_fails(void **state)
{
	fails(map, false);
}

static void test_descriptor_is_not_to_be_had(void **state)
{
	fails(prep, false);
}

static void test_submission_fails(void **state)
{
	fails(submit, false);
}

static void test_error_is_reported(void **state)
{
	struct test_batch *b;

	fails(result, true);
	/* Of a part of a folio: the folio. */
	load(4);
	fakes[2].dev.faults.result = 1;
	b = batch_new();
	batch_add(b, 0, 0, 0);
	batch_add(b, 9, 4, 4);
	batch_add(b, 0, 600, 600);
	assert_int_equal(batch_copy(b), 0);
	assert_int_equal(b->segments[0].status, 0);
	assert_int_equal(b->segments[1].status, -EIO);
	assert_int_equal(b->segments[2].status, 0);
	assert_int_equal(shown("errors"), 1);
	batch_free(b);
	unload();
}

/* A channel that never copies costs a copy by the CPU each time; so it has to rest. */
static void test_useless_channel_rests(void **state)
{
	struct test_batch *b;
	int i, refused;

	for (refused = 0; refused < 2; refused++) {
		int *fault;

		load(1);
		fault = refused ? &fakes[0].dev.faults.prep :
				  &fakes[0].dev.faults.result;
		for (i = 1; i <= 31; i++) {
			/* One that it copies in between, and it begins anew. */
			*fault = i == 15 ? 0 : -1;
			b = batch_of(64, 0, 1, 0, 1);
			assert_int_equal(batch_copy(b), 0);
			assert_int_equal(batch_count(b, 0), i == 15 ? 64 : 0);
			assert_int_equal(shown("channels_in_service"), i < 31);
			batch_free(b);
		}
		b = batch_of(64, 0, 1, 0, 1);
		assert_int_equal(batch_copy(b), -EBUSY);
		*fault = 0;
		jiffies += 10 * HZ + 1;
		assert_int_equal(shown("channels_in_service"), 1);
		all_copied(b);
		unload();
	}
}

static void test_not_aligned(void **state)
{
	struct test_batch *b = batch_of(64, 0, 2, 0, 2);

	load(1);
	fakes[0].device.copy_align = 3;
	all_copied(batch_of(64, 0, 2, 0, 2));
	fakes[0].dev.misaligned = 4;
	assert_int_equal(batch_copy(b), 0);
	assert_int_equal(batch_count(b, FOLIOLIFT_PENDING), 64);
	batch_free(b);
	unload();
}

/*
 * H3: a channel that hangs, and goes on to write, is stopped before anything else
 * happens to what it was to copy; it is not used again, and the others are.
 */
static void test_hanging_channel_is_stopped(void **state)
{
	static const int ats[] = { 1, 16, 32 };
	unsigned int i, direct, fails;

	for (i = 0; i < ARRAY_SIZE(ats); i++) {
		for (direct = 0; direct < 2; direct++) {
			struct test_batch *b = batch_of(96, 0, 2, 0, 2);
			struct test_batch *after = batch_of(96, 0, 2, 0, 2);

			load(3);
			fails = i;
			fakes[1].dev.direct = direct;
			fakes[1].dev.faults.hang = ats[i];
			fakes[1].terminate_fails = fails;
			assert_int_equal(batch_copy(b), 0);
			assert_int_equal(fakes[1].terminate_fails, 0);
			assert_int_equal(fakes[1].nr_terminated, 1);
			/* What it had done is done; the rest is not. */
			assert_int_equal(batch_count(b, -EIO), 33 - ats[i]);
			assert_int_equal(batch_count(b, 0), 63 + ats[i]);
			assert_int_equal(shown("channels_in_service"), 2);
			assert_int_equal(shown("timeouts"), 1);

			fakes[1].nr_descs = 0;
			assert_int_equal(batch_copy(after), 0);
			assert_int_equal(batch_count(after, 0), 96);
			assert_int_equal(fakes[1].nr_descs, 0);
			assert_int_equal(fakes[2].nr_descs, 32 + 48);
			batch_free(after);
			batch_free(b);
			unload();
		}
	}
}

/* It is done after all, while it is being stopped: then it is done. */
static void test_late_channel(void **state)
{
	struct test_batch *b = batch_of(32, 0, 2, 0, 2);

	load(1);
	fakes[0].dev.faults.hang = 32;
	fakes[0].late = true;
	assert_int_equal(batch_copy(b), 0);
	assert_int_equal(batch_count(b, 0), 32);
	batch_free(b);
	unload();
}

static void test_all_channels_hang(void **state)
{
	struct test_batch *b;
	int i;

	load(3);
	for (i = 0; i < 3; i++) {
		fakes[i].dev.faults.hang = 1;
		/* More rounds would be needed, but nobody is left for them. */
		fakes[i].pool = 4;
	}
	b = batch_of(96, 0, 2, 0, 2);
	assert_int_equal(batch_copy(b), 0);
	assert_int_equal(batch_count(b, 0), 0);
	assert_int_equal(batch_count(b, -EIO), 12);
	assert_int_equal(batch_count(b, FOLIOLIFT_PENDING), 84);
	batch_free(b);
	b = batch_of(96, 0, 2, 0, 2);
	assert_int_equal(batch_copy(b), -EBUSY);
	assert_int_equal(batch_count(b, FOLIOLIFT_PENDING), 96);
	assert_int_equal(shown("channels_in_service"), 0);
	batch_free(b);
	unload();
}

/* ----- several batches at once ----- */

static int nr_returned, nr_busy;

static void *copy_thread(void *arg)
{
	struct test_batch *b = batch_of(96, 0, 2, 0, 2);
	int ret = batch_copy(b);

	if (ret == -EBUSY)
		model_check(batch_count(b, FOLIOLIFT_PENDING) == 96);
	else
		model_check(!ret && batch_count(b, 0) == 96);
	batch_free(b);
	__atomic_add_fetch(&nr_busy, ret == -EBUSY, __ATOMIC_RELAXED);
	__atomic_add_fetch(&nr_returned, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Two channels for each batch, of three: the third batch has to go without. */
static void test_busy_channels_are_left_alone(void **state)
{
	unsigned long first, second, third;
	pthread_t threads[3];
	int i, nr_early;

	load(3);
	model_write(DIR "channels", "2");
	nr_returned = nr_busy = 0;
	for (i = 0; i < 3; i++)
		WRITE_ONCE(fakes[i].held, 1);
	pthread_create(&threads[0], NULL, copy_thread, NULL);
	while (nr_descs() < 96)
		sched_yield();
	first = READ_ONCE(fakes[2].nr_descs);
	pthread_create(&threads[1], NULL, copy_thread, NULL);
	while (nr_descs() < 192)
		sched_yield();
	second = READ_ONCE(fakes[2].nr_descs);
	pthread_create(&threads[2], NULL, copy_thread, NULL);
	while (!READ_ONCE(nr_returned) && nr_descs() == 192)
		sched_yield();
	third = nr_descs();
	nr_early = READ_ONCE(nr_returned);
	for (i = 0; i < 3; i++)
		WRITE_ONCE(fakes[i].held, 0);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(first, 0);
	assert_int_equal(second, 96);
	assert_int_equal(third, 192);
	assert_int_equal(nr_early, 1);
	assert_int_equal(nr_busy, 1);
	/* They are free again. */
	all_copied(batch_of(96, 0, 2, 0, 2));
	unload();
}

static uint64_t seed;
static unsigned long nr_stages, nr_declined, nr_by_cpu;

static void *random_thread(void *arg)
{
	struct rng rng = { seed + (uintptr_t)arg };
	unsigned int rounds = model_rounds(40);

	while (rounds--) {
		struct test_batch *b = batch_new();
		unsigned int src = 0, dst = 0;
		int ret;

		do {
			unsigned int order = rng_percent(&rng, 80) ? 0 :
					     rng_below(&rng, 10);

			if (src + 520 > ARENA_PAGES || dst + 520 > ARENA_PAGES)
				break;
			batch_add(b, order, src, dst);
			src += (1 << order) + rng_percent(&rng, 20);
			dst += (1 << order) + rng_percent(&rng, 20);
		} while (b->batch.nr_segments < MAX_FOLIOS && !rng_percent(&rng, 2));
		ret = batch_copy(b);
		if (ret)
			model_check(ret == -EBUSY && batch_count(b, FOLIOLIFT_PENDING) ==
				    b->batch.nr_segments);
		__atomic_add_fetch(&nr_stages, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&nr_declined, !!ret, __ATOMIC_RELAXED);
		__atomic_add_fetch(&nr_by_cpu, batch_count(b, -EIO), __ATOMIC_RELAXED);
		batch_free(b);
	}
	return NULL;
}

/* Two batches and up to eight channels, some of which fail or hang some time. */
static void test_random_batches_and_faults(void **state)
{
	unsigned int turn, i;

	seed = model_seed();
	for (turn = 0; turn < 8; turn++, seed += 2) {
		struct rng rng = { ~seed };
		pthread_t threads[2];
		char text[16];

		load(1 + turn);
		snprintf(text, sizeof(text), "%u", 1 + rng_below(&rng, 1 + turn));
		model_write(DIR "channels", text);
		for (i = 0; i <= turn; i++) {
			struct fake_chan *fake = &fakes[i];

			fake->pool = rng_percent(&rng, 50) ? 1 + rng_below(&rng, 40) : 0;
			fake->late = rng_percent(&rng, 50);
			fake->dev.direct = rng_percent(&rng, 50);
			fake->terminate_fails = rng_below(&rng, 3);
			fake->dev.faults = (struct fake_faults) {
				.map = rng_below(&rng, 4000),
				.prep = rng_below(&rng, 2000),
				.submit = rng_below(&rng, 2000),
				.result = rng_below(&rng, 2000),
				.hang = rng_percent(&rng, 50) ?
					rng_below(&rng, 2000) : 0,
			};
		}
		for (i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, random_thread,
				       (void *)(uintptr_t)i);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		unload();
	}
	print_message("%lu batches, %lu declined, %lu folios left to the CPU\n",
		      nr_stages, nr_declined, nr_by_cpu);
}

/* After a test that has failed: what it left must not make the next one fail. */
static int teardown(void **state)
{
	if (!module)
		return 0;
	model_hush(true);
	module_down();
	/* The code stays, for who may still be in it. */
	module = NULL;
	fakes_stop();
	model.nr_allocs = 0;
	model_hush(false);
	return 0;
}

static int setup(void **state)
{
	if (model_start(state) || model_initcall())
		return -1;
	/* What foliolift has for itself does not count. */
	model.nr_allocs = 0;
	return 0;
}

#define TEST(name)	cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_channel_no_engine),
		TEST(test_useless_channels_are_not_used),
		TEST(test_channels_by_name),
		TEST(test_failed_init_leaves_nothing),
		TEST(test_runs_are_merged),
		TEST(test_channels_share),
		TEST(test_short_mappings_and_few_descriptors),
		TEST(test_unknown_longest_descriptor),
		TEST(test_direct_mapping),
		TEST(test_mapping_fails),
		TEST(test_descriptor_is_not_to_be_had),
		TEST(test_submission_fails),
		TEST(test_error_is_reported),
		TEST(test_not_aligned),
		TEST(test_hanging_channel_is_stopped),
		TEST(test_useless_channel_rests),
		TEST(test_late_channel),
		TEST(test_all_channels_hang),
		TEST(test_busy_channels_are_left_alone),
		TEST(test_random_batches_and_faults),
	};

	/* What waits for a channel that hangs is a hang. */
	alarm(30 + model_rounds(0));
	return run_group("dma", tests, setup, NULL);
}
