// SPDX-License-Identifier: GPL-2.0
/*
 * The engine for DMA channels on the software provider: every byte is right over all that a channel can do wrong, what
 * went wrong is counted, and engine and provider come and go while memory migrates (H3, H9). In mode "bounce" every DMA
 * goes through a bounce buffer, so what is not unmapped in time is wrong data.
 */
#include "lib/mem.h"
#include "lib/softdma.h"

#include <pthread.h>
#include <stdatomic.h>

#define DMA LIFT "engines/dma/"

static void dma_load(const char *softdma, const char *engine)
{
	int err = softdma_load(softdma);

	is(err, 0, "softdma loads with '%s'", softdma);
	is(module_load("foliolift_dma", engine), 0, "the engine loads with '%s'", engine);
	lift_set("dma");
}

/* The module is in use as long as its engine copies. */
static void dma_unload(void)
{
	lift_set("cpu");
	is(module_unload("foliolift_dma"), 0, "the engine can be removed");
	is(softdma_unload(), 0, "softdma can be removed");
}

/* ----- moves ----- */

struct kind {
	const char *name;
	size_t small, thps;
};

static const struct kind kinds[] = {
	{ "700 pages", 700, 0 },
	{ "5 THPs", 0, 5 },
	{ "THPs and pages", 300, 3 },
};

/* To node 1 and back; 0 if every page moved and no byte differs. */
static int to_and_fro(const struct kind *k)
{
	char *small, *thps = NULL;
	uint64_t seed = rnd();
	int node, bad = 0;

	alloc_on(0);
	small = map_anon((k->small + 1) * PAGE, 0);
	thps = map_anon((k->thps + 1) * HUGE, 1);
	fill(small, k->small * PAGE, seed);
	fill(thps, k->thps * HUGE, ~seed);
	alloc_on(-1);
	for (node = 1; node >= 0; node--) {
		if (k->small)
			bad += move(small, k->small * PAGE, PAGE, node) != 0;
		if (k->thps)
			bad += move(thps, k->thps * HUGE, HUGE, node) != 0;
		bad += on_node(small, k->small * PAGE, node) != k->small;
		bad += on_node(thps, k->thps * HUGE, node) != k->thps * (HUGE / PAGE);
		bad += check(small, k->small * PAGE, seed) != 0;
		bad += check(thps, k->thps * HUGE, ~seed) != 0;
	}
	munmap(small, (k->small + 1) * PAGE);
	munmap(thps, (k->thps + 1) * HUGE);
	return bad;
}

static size_t pages_of(const struct kind *k)
{
	return 2 * (k->small + k->thps * (HUGE / PAGE));
}

static void works(void)
{
	static const int widths[] = { 1, 2, 4, 8 };
	size_t i, w;

	dma_load("channels=8", "");
	is(get(DMA "channels_in_service"), 8, "all channels are in service");
	is(module_unload("foliolift_dma"), EAGAIN, "while it copies the engine cannot be removed");
	ok(softdma_unload() != 0, "nor the provider, whose channels it holds");
	for (w = 0; w < 4; w++) {
		put(DMA "channels", "%d", widths[w]);
		for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
			long long copied = get(DMA "pages"), dma = softdma_get("bytes");

			is(to_and_fro(&kinds[i]), 0, "%d channels, %s: right", widths[w],
			   kinds[i].name);
			is(get(DMA "pages") - copied, pages_of(&kinds[i]),
			   "%d channels, %s: all by the engine", widths[w], kinds[i].name);
			is(softdma_get("bytes") - dma, pages_of(&kinds[i]) * PAGE,
			   "%d channels, %s: and all by the device", widths[w], kinds[i].name);
		}
	}
	is(get(DMA "errors"), 0, "no error");
	is(get(DMA "timeouts"), 0, "no channel was late");
	is(get(DMA "queued_bytes"), 0, "nothing is in flight");
	dma_unload();
}

/* ----- what a channel can do wrong ----- */

/*
 * RETIRES: channels are late and go out of service. FAILS: the CPU copies what was not copied. GOES_ON: what a channel
 * does not take now it takes later. USELESS: it never takes anything, the CPU copies, and soon it is left alone.
 */
enum effect { RETIRES, FAILS, GOES_ON, USELESS };

static void goes_wrong(const char *what, const char *knob, int nth, enum effect effect)
{
	char path[64];
	size_t i;

	dma_load("channels=8", "");
	/* Long enough that on a slow machine no channel is late that is not meant to be. */
	put(DMA "timeout_ms", "%d", effect == RETIRES ? 100 : 60000);
	put(DMA "channels", "8");
	softdma_put("descriptors", "0");
	softdma_put("late_us", "%d", effect == RETIRES ? 20000 : 0);
	snprintf(path, sizeof(path), SOFT "%s", knob);
	put(path, "%d", nth);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct lift_counts lift = lift_counts();

		is(to_and_fro(&kinds[i]), 0, "%s, every %d.: %s: right", what, nth, kinds[i].name);
		lift = lift_since(lift);
		if (effect == FAILS)
			ok(lift.fell_failed > 0, "%s: %s: the CPU copied what failed", what,
			   kinds[i].name);
		if (effect == USELESS)
			ok(lift.fell_declined > 0, "%s: %s: the CPU copied what was not taken",
			   what, kinds[i].name);
		if (effect == GOES_ON)
			is(lift.pages, pages_of(&kinds[i]), "%s: %s: all by the engine", what,
			   kinds[i].name);
		is(get(DMA "queued_bytes"), 0, "%s: nothing is in flight", what);
	}
	if (effect == RETIRES) {
		ok(get(DMA "timeouts") > 0, "%s: channels were late", what);
		is(get(DMA "channels_in_service") + get(DMA "timeouts"), 8,
		   "%s: each was taken out of service once", what);
	} else if (effect == USELESS) {
		ok(get(DMA "errors") > 0, "%s: errors are counted", what);
		for (i = 0; i < 40 && get(DMA "channels_in_service"); i++)
			if (to_and_fro(&kinds[0]))
				break;
		is(get(DMA "channels_in_service"), 0, "%s: in the end all channels rest", what);
		softdma_put("refuse_nth", "0");
		is(to_and_fro(&kinds[0]), 0, "%s: right while they do", what);
	} else {
		is(get(DMA "errors") > 0, effect == FAILS, "%s: errors are counted", what);
		is(get(DMA "channels_in_service"), 8, "%s: every channel stays in service", what);
	}
	dma_unload();
}

/* All channels gone: the engine declines, and the CPU copies. */
static void all_late(void)
{
	long long declined;

	dma_load("channels=2", "");
	put(DMA "timeout_ms", "50");
	softdma_put("descriptors", "0");
	softdma_put("lost_nth", "1");
	is(to_and_fro(&kinds[1]), 0, "all channels late: right");
	is(get(DMA "channels_in_service"), 0, "none is in service");
	softdma_put("lost_nth", "0");
	declined = get(DMA "declined_batches");
	is(to_and_fro(&kinds[0]), 0, "without channels: right");
	ok(get(DMA "declined_batches") > declined, "the engine declines");
	dma_unload();
	dma_load("channels=2", "");
	is(get(DMA "channels_in_service"), 2, "loaded anew they are tried again");
	dma_unload();
}

static void limits(void)
{
	long long before;

	dma_load("channels=4 max_segment=16384", "");
	before = get(DMA "descriptors");
	put(DMA "channels", "1");
	is(to_and_fro(&kinds[1]), 0, "16 KB at a time: right");
	is(get(DMA "descriptors") - before, 2 * 5 * (int)(HUGE / 16384),
	   "16 KB at a time: as many descriptors");
	dma_unload();

	dma_load("channels=12", "channels=dma0chan1,dma0chan10");
	is(get(DMA "channels_in_service"), 2, "two channels by name");
	ok(exists(DMA "channel_speed/dma0chan1") && exists(DMA "channel_speed/dma0chan10"),
	   "and those two");
	is(to_and_fro(&kinds[2]), 0, "two channels by name: right");
	dma_unload();

	is(module_load("foliolift_dma", ""), ENODEV, "without channels the engine does not load");
}

/* ----- many at once, and engines that come and go ----- */

static atomic_int stop;

struct mover {
	pthread_t thread;
	int huge;
	unsigned long moves, bad;
};

static void *mover(void *arg)
{
	static const struct kind small = { "", 256, 0 }, thps = { "", 0, 2 };
	struct mover *m = arg;

	while (!atomic_load(&stop)) {
		m->bad += to_and_fro(m->huge ? &thps : &small) != 0;
		m->moves++;
	}
	return NULL;
}

static void start(struct mover *m, int n)
{
	int i;

	stop = 0;
	for (i = 0; i < n; i++) {
		m[i] = (struct mover){ .huge = i & 1 };
		if (pthread_create(&m[i].thread, NULL, mover, &m[i]))
			fatal("a thread can be had");
	}
}

static void finish(const char *what, struct mover *m, int n)
{
	unsigned long moves = 0, bad = 0;
	int i;

	stop = 1;
	for (i = 0; i < n; i++) {
		pthread_join(m[i].thread, NULL);
		moves += m[i].moves;
		bad += m[i].bad;
	}
	diag("%s: %lu moves to and fro", what, moves);
	ok(moves >= (unsigned long)n, "%s: memory moved", what);
	is(bad, 0, "%s: every page is right", what);
}

static void shared(void)
{
	struct mover movers[4];
	long long copied, declined;
	int i;

	dma_load("channels=1", "");
	softdma_put("latency_us", "2000");
	copied = get(DMA "pages");
	declined = get(DMA "declined_batches");
	start(movers, 4);
	for (i = 0; i < 100 && get(DMA "declined_batches") == declined; i++)
		usleep(50000);
	finish("four threads, one channel", movers, 4);
	ok(get(DMA "pages") > copied, "the channel copied");
	ok(get(DMA "declined_batches") > declined, "and who found it at work did without");
	dma_unload();
}

static void lost_device(void)
{
	dma_load("channels=4", "");
	put(DMA "timeout_ms", "100");
	is(softdma_bind(0), 0, "the device can be taken away while the engine holds it");
	is(to_and_fro(&kinds[2]), 0, "without the device: right");
	lift_set("cpu");
	is(module_unload("foliolift_dma"), 0, "the engine can be removed");
	is(softdma_unload(), 0, "softdma too");
}

static void cycles(unsigned int n)
{
	struct mover movers[2];
	unsigned int i, odd = 0;
	long long copied = 0;

	lift_set("cpu");
	start(movers, 2);
	for (i = 0; i < n; i++) {
		odd += softdma_load("channels=4") != 0;
		odd += module_load("foliolift_dma", "") != 0;
		odd += write_file(LIFT "engine", "dma") != 0;
		usleep(rnd() % 4000);
		copied += get(DMA "pages");
		odd += write_file(LIFT "engine", "cpu") != 0;
		odd += module_unload("foliolift_dma") != 0;
		odd += softdma_unload() != 0;
	}
	finish("engine and provider come and go", movers, 2);
	diag("%u times; the engine's counter in sum %lld", n, copied);
	is(odd, 0, "each step of %u cycles succeeded", n);
	ok(copied > 0, "the engine copied meanwhile");
}

static void test(void)
{
	int bounced = !strcmp(lift_mode(), "bounce");

	lift_begin();
	if (exists(LIFT "engines/dma"))
		fatal("no DMA engine is loaded yet");
	works();
	goes_wrong("errors", "error_nth", 3, FAILS);
	goes_wrong("refusals", "refuse_nth", 1, USELESS);
	goes_wrong("some refusals", "refuse_nth", 3, GOES_ON);
	goes_wrong("hangs", "hang_nth", 7, RETIRES);
	goes_wrong("lost completions", "lost_nth", 7, RETIRES);
	all_late();
	shared();
	if (!bounced) {
		limits();
		lost_device();
	}
	cycles(rounds(bounced ? 10 : 100) / (bounced || rounds(1) > 1 ? 1 : 4));
	lift_set(NULL);
}

int main(void)
{
	return tap_main("dma", 240, test);
}
