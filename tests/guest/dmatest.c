// SPDX-License-Identifier: GPL-2.0
/*
 * The DMA engine in software (softdma) under the kernel's own test of DMA engines (dmatest): it copies what it is told
 * and nothing else, it fails when it is told to in just that way, works again afterwards, and comes and goes. In mode
 * "bounce" the guest was booted with swiotlb=force, and every buffer is a copy of the client's.
 */
#include "lib/softdma.h"

#define DMATEST "/sys/module/dmatest/parameters/"
#define BOUNCED "/sys/kernel/debug/swiotlb/io_tlb_used"

/* ----- dmatest ----- */

struct job {
	int channels, threads; /* a channel */
	int iterations, timeout_ms, polled, bytes;
};

struct outcome {
	int threads, tests, failures; /* from the summaries */
	int refused, status, late, data; /* failures by kind */
};

/* Take in what the kernel's log has more; the value is how many summaries were among it. */
static int dmatest_read(int log, struct outcome *o)
{
	char line[8192];
	int summaries = 0;
	ssize_t n;

	while ((n = read(log, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		unsigned int tests, failures;
		const char *p;

		if (n < 0)
			continue;
		line[n] = 0;
		if (!strstr(line, "dmatest: "))
			continue;
		p = strstr(line, ": summary ");
		if (p && sscanf(p, ": summary %u tests, %u failures", &tests, &failures) == 2) {
			summaries++;
			o->tests += tests;
			o->failures += failures;
		}
		o->refused += !!strstr(line, "'prep error'");
		o->status += !!strstr(line, "'completion error status'");
		o->late += !!strstr(line, "'test timed out'");
		o->data += !!strstr(line, "'data error'");
	}
	o->threads += summaries;
	return summaries;
}

static void dmatest_prepare(struct job j)
{
	put(DMATEST "device", "softdma");
	put(DMATEST "test_buf_size", "%d", j.bytes ? j.bytes : 16384);
	put(DMATEST "max_channels", "%d", j.channels);
	put(DMATEST "threads_per_chan", "%d", j.threads);
	put(DMATEST "iterations", "%d", j.iterations);
	put(DMATEST "timeout", "%d", j.timeout_ms ? j.timeout_ms : 60000);
	put(DMATEST "polled", "%d", j.polled);
}

static int dmatest_log(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		fatal("the kernel's log can be read");
	return log;
}

/* dmatest lets go of its channels when it is asked, after its threads have ended, whether they are running. */
static void dmatest_release(void)
{
	char said[16];

	while (strcmp(read_file(DMATEST "run", said, sizeof(said)), "N"))
		usleep(1000);
}

static struct outcome dmatest(struct job j)
{
	struct outcome o = { 0 };
	int log = dmatest_log();

	dmatest_prepare(j);
	put(DMATEST "run", "1");
	/* No other sign of the end can be trusted: a thread that has not begun counts as one that is not running. */
	while (o.threads < j.channels * j.threads)
		if (!dmatest_read(log, &o))
			usleep(1000);
	dmatest_release();
	close(log);
	return o;
}

static void dmatest_passes(struct job j, const char *what)
{
	struct outcome o = dmatest(j);

	if (!ok(o.tests == j.channels * j.threads * j.iterations && !o.failures,
		"%s: dmatest finds nothing", what))
		diag("%d tests, %d failures: prep %d, status %d, time %d, data %d", o.tests,
		     o.failures, o.refused, o.status, o.late, o.data);
	is(softdma_get("inflight"), 0, "%s: no descriptor is left", what);
}

/* ----- it works ----- */

static void passes(int channels)
{
	struct job all = { .channels = channels, .threads = 2, .iterations = rounds(60) };
	struct job polled = { .channels = 1, .threads = 1, .iterations = rounds(30), .polled = 1 };
	/* Not more than can be bounced in one piece, which is 256 KB. */
	struct job large = { .channels = 2, .threads = 2, .iterations = rounds(20), .bytes = 200001 };
	long long bytes;

	softdma_reset();
	dmatest_passes(all, "all channels");
	is(softdma_get("descriptors"), 2 * channels * all.iterations, "every descriptor is counted");
	bytes = softdma_get("bytes");
	ok(bytes > 0 && bytes <= 2ll * channels * all.iterations * 16384, "and the bytes");
	dmatest_passes(polled, "polled");
	dmatest_passes(large, "large buffers");
	softdma_put("bandwidth", "20000000");
	softdma_put("latency_us", "300");
	all.iterations = 10;
	dmatest_passes(all, "slow");
	is(softdma_get("bandwidth"), 20000000, "bandwidth reads back");
	is(softdma_get("latency_us"), 300, "latency_us reads back");
}

/* A thread of dmatest that polls terminates after each transfer whatever the channel does for the other threads. */
static void shared(void)
{
	struct job j = { .channels = 1, .threads = 3, .iterations = rounds(100), .polled = 1 };
	struct outcome o;

	softdma_reset();
	o = dmatest(j);
	diag("%d of %d terminated by others", o.failures, o.tests);
	is(o.data, 0, "nothing is written after a channel has stopped");
	is(o.failures, o.late, "only what was terminated fails");
	is(softdma_get("inflight"), 0, "no descriptor is left");
	softdma_put("late_us", "50000");
	o = dmatest(j);
	is(o.data, 0, "nor by one that takes long to stop");
	softdma_reset();
}

/* A mapping that is never undone, or too late, is found here. */
static void bounces(void)
{
	ok(exists(BOUNCED), "the kernel tells how much it bounces");
	put(BOUNCED "_hiwater", "0");
	dmatest_passes((struct job){ .channels = 2, .threads = 2, .iterations = 10 }, "bounced");
	ok(get(BOUNCED "_hiwater") > 0, "the buffers were bounced");
	is(get(BOUNCED), 0, "and none of them is left mapped");
}

/* ----- it fails as it is told ----- */

static void fails(int channels)
{
	struct job j = { .channels = channels, .threads = 1, .iterations = 12 };
	struct outcome o;

	softdma_reset();
	softdma_put("error_nth", "4");
	o = dmatest(j);
	is(o.failures, 3 * channels, "every fourth descriptor has an error");
	is(o.status, 3 * channels, "and dmatest is told");
	is(softdma_get("errors"), 3 * channels, "and it is counted");
	is(softdma_get("descriptors"), 12 * channels, "the others passed");

	softdma_reset();
	softdma_put("error_nth", "1");
	softdma_put("channel_mask", "0x2");
	o = dmatest(j);
	is(o.failures, 12, "only the channels of the mask fail");

	softdma_reset();
	softdma_put("refuse_nth", "6");
	o = dmatest(j);
	is(o.failures, 2 * channels, "every sixth descriptor is refused");
	is(o.refused, 2 * channels, "and dmatest is told");
	is(softdma_get("refused"), 2 * channels, "and it is counted");

	/* The fourth of five, and the fifth behind it. */
	softdma_reset();
	softdma_put("lost_nth", "4");
	j.iterations = 5;
	j.timeout_ms = 300 * slowness();
	o = dmatest(j);
	is(o.failures, 2 * channels, "a lost descriptor holds up those behind it");
	is(o.late, 2 * channels, "and dmatest times out");
	is(softdma_get("lost"), channels, "lost ones are counted");
	is(softdma_get("terminated"), 2 * channels, "dmatest has terminated them");
	is(softdma_get("inflight"), 0, "and none is left");

	/*
	 * Only polled: otherwise dmatest frees its buffers before it stops the channel, and a descriptor that hangs
	 * writes to them. A poll gives up after five seconds.
	 */
	softdma_reset();
	softdma_put("hang_nth", "3");
	o = dmatest((struct job){ .channels = 1, .threads = 1, .iterations = 5, .polled = 1 });
	is(o.failures, 1, "a hanging descriptor fails");
	is(o.late, 1, "dmatest gives up on it");
	is(softdma_get("hangs"), 1, "it is counted");
	is(softdma_get("descriptors"), 5, "the channel goes on when it is terminated");
	is(softdma_get("inflight"), 0, "and none is left");

	softdma_reset();
	dmatest_passes((struct job){ .channels = channels, .threads = 2, .iterations = 10 },
		       "without knobs");
}

static void limits(void)
{
	struct outcome o;

	is(softdma_load("channels=0"), EINVAL, "no channel is refused");
	is(softdma_load("channels=33"), EINVAL, "too many channels are refused");
	is(softdma_load("align_shift=9"), EINVAL, "absurd alignment is refused");

	is(softdma_load("channels=32 align_shift=6 max_segment=8192"), 0, "there can be limits");
	is(dma_channels(), 32, "there can be 32 channels");
	dmatest_passes((struct job){ .channels = 32, .threads = 1, .iterations = 5, .bytes = 8192 },
		       "within the limits");
	put(DMATEST "norandom", "1");
	o = dmatest((struct job){ .channels = 1, .threads = 1, .iterations = 3, .bytes = 8256 });
	put(DMATEST "norandom", "0");
	is(o.refused, 3, "a descriptor that is too long is refused");
	put(DMATEST "alignment", "0");
	o = dmatest((struct job){ .channels = 1, .threads = 1, .iterations = 20, .bytes = 8192 });
	put(DMATEST "alignment", "-1");
	ok(o.refused > 0 && o.refused == o.failures, "and one that is not aligned");
	is(softdma_get("refused"), 3 + o.refused, "they are counted");
	is(softdma_unload(), 0, "it can be removed");
}

/* ----- it comes and goes ----- */

static void leaves(int channels)
{
	struct outcome o = { 0 };
	int log = dmatest_log(), err;

	softdma_reset();
	is(softdma_bind(0), 0, "the driver can be unbound");
	is(dma_channels(), 0, "its channels are gone");
	is(softdma_bind(1), 0, "and bound again");
	is(dma_channels(), channels, "they are back");

	/* An endless test, slow, so that there is always something under way. */
	softdma_put("latency_us", "2000");
	dmatest_prepare((struct job){ .channels = channels, .threads = 2 });
	put(DMATEST "run", "1");
	while (softdma_get("descriptors") < 10 * channels)
		usleep(1000);
	err = softdma_unload();
	if (!ok(err == EAGAIN || err == EBUSY, "the module cannot be removed while a client has a channel"))
		diag("errno %d", err);
	is(softdma_bind(0), 0, "the driver can be unbound all the same");
	is(softdma_bind(1), 0, "and bound while the client has the old channels");
	put(DMATEST "run", "0");
	dmatest_read(log, &o);
	is(o.threads, 2 * channels, "the client ends");
	ok(o.refused > 0, "it was refused more");
	is(o.refused + o.status, o.failures, "and was told what had been aborted");
	is(softdma_get("inflight"), 0, "no descriptor is left");
	softdma_reset();
	dmatest_passes((struct job){ .channels = channels, .threads = 2, .iterations = 10 },
		       "bound again");
	close(log);
}

static void cycles(unsigned int n)
{
	unsigned int i, odd = 0;

	for (i = 0; i < n; i++) {
		char parameters[32];

		snprintf(parameters, sizeof(parameters), "channels=%u", 1 + i % 32);
		odd += softdma_load(parameters) != 0;
		odd += dma_channels() != (int)(1 + i % 32);
		if (i % 10 == 9)
			odd += dmatest((struct job){ .channels = 1 + i % 32, .threads = 1,
						     .iterations = 3 })
				       .failures != 0;
		odd += softdma_unload() != 0;
	}
	is(odd, 0, "it comes and goes %u times", n);
	is(dma_channels(), 0, "and leaves no channel");
	ok(!exists(SOFT "bandwidth"), "and no file");
}

static void test(void)
{
	const int channels = 4;

	lift_begin();
	is(softdma_load(""), 0, "softdma can be loaded");
	is(dma_channels(), channels, "it has %d channels", channels);
	is(module_load("dmatest", ""), 0, "dmatest can be loaded");

	passes(channels);
	shared();
	if (!strcmp(lift_mode(), "bounce"))
		bounces();
	fails(channels);
	leaves(channels);
	is(softdma_unload(), 0, "it can be removed");
	limits();
	cycles(rounds(50));
	is(module_unload("dmatest"), 0, "dmatest can be removed");
}

int main(void)
{
	return tap_main("dmatest", 240, test);
}
