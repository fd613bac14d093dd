// SPDX-License-Identifier: GPL-2.0
/* The machines and what happens on them; see sim.h. */
#include "sim.h"

/* ----- machines ----- */

/* Four CPUs and no DMA. */
static const struct sim_machine small = {
	.helpers = 3, .cpu_ns = 350, .contention = .08, .bus = 3,
};

/* The channels are good for twice a CPU together, the threads for thrice. */
static const struct sim_machine medium = {
	.helpers = 7, .cpu_ns = 350, .contention = .1, .bus = 3.2,
	.channels = 4, .dma_ns = 600, .dma_contention = .06, .dma_start_ns = 6000,
};

/* A server whose DMA engine beats all of its threads. */
static const struct sim_machine large = {
	.helpers = 31, .cpu_ns = 330, .contention = .03, .bus = 4,
	.channels = 8, .dma_ns = 240, .dma_contention = .04, .dma_start_ns = 5000,
};

/* Threads and channels are all but alike. */
static const struct sim_machine tie = {
	.helpers = 3, .cpu_ns = 350, .contention = .1, .bus = 4,
	.channels = 4, .dma_ns = 360, .dma_contention = .1, .dma_start_ns = 4000,
};

/* The one channel is somewhat slower than a thread. */
static const struct sim_machine slow = {
	.helpers = 3, .cpu_ns = 350, .contention = .08, .bus = 3,
	.channels = 1, .dma_ns = 340, .dma_start_ns = 3000,
};

/* ----- batches ----- */

/* Batches about so far apart, at random. */
static void after(struct rng *rng, struct sim_batch *batch, double us)
{
	batch->at_us += us * (.5 + rng_below(rng, 1000) / 1000.);
}

static void next_large(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 1000);
	batch->pages = 512;
}

static void next_huge(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 3000);
	batch->pages = 2048;
}

static void next_small(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 200);
	batch->pages = 1 + rng_below(rng, 8);
}

/* Of ten batches nine are small, of the pages nearly all in the large ones. */
static void next_mixed(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 300);
	batch->pages = rng_percent(rng, 10) ? 512 : 1 + rng_below(rng, 16);
}

static void next_any(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 700);
	batch->pages = 1 + rng_below(rng, 2u << rng_below(rng, 11));
}

/* Where the machines are about to break even, from one batch to the next. */
static void next_break_even(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 200);
	batch->pages = (batch->pages < 40 ? 45 : 20) + rng_below(rng, 15);
}

/* The same for some seconds each. */
static void next_either(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 200);
	batch->pages = ((int)(batch->at_us / 3e6) & 1 ? 40 : 16) + rng_below(rng, 15);
}

/* Two seconds of migration, five of none. */
static void next_bursts(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 700);
	if ((int)(batch->at_us / 1e6) % 7 >= 2)
		batch->at_us += 5e6;
	batch->pages = 512;
}

/* A batch now and then. */
static void next_trickle(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 80000);
	batch->pages = 512;
}

/* All of them in the first half of each tenth of a second. */
static void next_in_step(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	after(rng, batch, 500);
	if (((int)(batch->at_us / 1000)) % 100 >= 50)
		batch->at_us += 50e3;
	batch->pages = 512;
}

/* Large ones while CPUs are idle, and small ones while they are not. */
static void next_phases(struct sim *sim, struct rng *rng, struct sim_batch *batch)
{
	bool busy = (int)(batch->at_us / 2e6) & 1;

	after(rng, batch, busy ? 200 : 1000);
	batch->pages = busy ? 8 + rng_below(rng, 30) : 512;
}

/* ----- what others do ----- */

static bool all_busy(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return true;
}

static bool half_busy(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return cpu & 1;
}

/* Each by itself, 10 ms at a time. */
static bool random_busy(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return sim_random(sim, cpu, ms / 10) < .5;
}

/* Every CPU at once, for half of so many milliseconds, from no one knows when on. */
static bool square(const struct sim *sim, unsigned int ms, unsigned int period)
{
	return (ms + (unsigned int)(sim_random(sim, 78, 0) * period)) % period <
	       period / 2;
}

#define SQUARE(period)							\
static bool square_##period(const struct sim *sim, unsigned int cpu,	\
			    unsigned int ms)				\
{									\
	return square(sim, ms, period);					\
}

SQUARE(97)
SQUARE(100)
SQUARE(200)
SQUARE(205)
SQUARE(1000)
SQUARE(2000)
SQUARE(3000)
SQUARE(4000)
SQUARE(6000)
SQUARE(10000)

/* In the half of each tenth of a second in which next_in_step() has its batches. */
static bool busy_in_step(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return ms % 100 < 50;
}

/* A fifth of each second, and at a second's random whim. */
static bool spikes(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return ms % 1000 < 200;
}

static bool whim(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return sim_random(sim, 77, ms / 1000) < .4;
}

static bool saturated(const struct sim *sim, unsigned int channel, unsigned int ms)
{
	return sim_random(sim, 100 + channel, ms / 3) < .97;
}

static bool shared(const struct sim *sim, unsigned int channel, unsigned int ms)
{
	return sim_random(sim, 100 + channel, ms / 3) < .5;
}

/* Somebody's transfers of two seconds every five. */
static bool transfers(const struct sim *sim, unsigned int channel, unsigned int ms)
{
	return ms % 5000 < 2000;
}

/* ----- engines that come and go ----- */

static bool come_and_go(enum foliolift_role role, unsigned int ms)
{
	if (role == FOLIOLIFT_ROLE_MT)
		return ms > 2050 && (ms < 12000 || ms > 14000);
	return (ms > 7000 && ms < 13000) || ms > 18000;
}

static bool flapping(enum foliolift_role role, unsigned int ms)
{
	return role == FOLIOLIFT_ROLE_MT || ms % 700 < 350;
}

#define TRACE(_name, _machine, _next, _max_changes, ...)			\
	{ .name = _name, .machine = &_machine, .next = next_##_next,	\
	  .max_changes = _max_changes, __VA_ARGS__ }

/* Loads that can be followed, now and then. */
#define FOLLOWED	32

const struct sim_trace sim_traces[] = {
	TRACE("steady-threads-alone", small, large, 1),
	TRACE("steady-threads-better", medium, large, 1),
	TRACE("steady-channels-better", large, large, 2),
	TRACE("huge-batches", large, huge, 2),
	TRACE("small-batches", large, small, 1),
	TRACE("small-and-large", medium, mixed, 1),
	TRACE("any-size", large, any, 2),
	TRACE("break-even-by-batch", small, break_even, 2),
	TRACE("break-even-in-turns", slow, either, 2),
	TRACE("all-but-a-tie", tie, large, 2),
	TRACE("cpus-busy", small, large, 0, .cpu_busy = all_busy),
	TRACE("cpus-busy-channels", medium, large, 1, .cpu_busy = all_busy),
	TRACE("cpus-busy-slow-channel", slow, large, 0, .cpu_busy = all_busy),
	TRACE("cpus-half-busy", medium, any, 2, .cpu_busy = half_busy),
	TRACE("cpus-busy-at-random", medium, large, 2, .cpu_busy = random_busy),
	TRACE("period-97-ms", medium, large, FOLLOWED, .cpu_busy = square_97),
	TRACE("period-100-ms", small, large, 3, .cpu_busy = square_100),
	TRACE("period-200-ms", medium, large, FOLLOWED, .cpu_busy = square_200),
	TRACE("period-205-ms", medium, large, FOLLOWED, .cpu_busy = square_205),
	TRACE("period-1-s", medium, large, FOLLOWED, .cpu_busy = square_1000),
	TRACE("period-2-s", medium, large, FOLLOWED, .cpu_busy = square_2000),
	TRACE("period-3-s", medium, large, FOLLOWED, .cpu_busy = square_3000),
	TRACE("period-4-s", medium, large, FOLLOWED, .cpu_busy = square_4000),
	TRACE("period-6-s", medium, any, FOLLOWED, .cpu_busy = square_6000),
	TRACE("period-10-s", medium, large, FOLLOWED, .cpu_busy = square_10000),
	TRACE("bursts-of-load", medium, large, 4, .cpu_busy = spikes),
	TRACE("load-on-a-whim", medium, any, FOLLOWED, .cpu_busy = whim),
	TRACE("batches-in-step", small, in_step, FOLLOWED,
	      .cpu_busy = busy_in_step),
	TRACE("sizes-follow-load", medium, phases, FOLLOWED,
	      .cpu_busy = square_4000),
	TRACE("bursts-of-migration", medium, bursts, 3, .cpu_busy = random_busy),
	TRACE("trickle", large, trickle, 2),
	TRACE("channels-saturated", large, large, 3, .channel_busy = saturated),
	TRACE("channels-saturated-unseen", large, large, 4,
	      .channel_busy = saturated, .hidden = true),
	TRACE("cpus-busy-channels-saturated", large, large, 4,
	      .channel_busy = saturated, .cpu_busy = all_busy),
	TRACE("channels-shared", large, large, 3, .channel_busy = shared),
	TRACE("channels-lent", large, large, FOLLOWED, .channel_busy = transfers),
	TRACE("engines-come-and-go", large, large, 8, .present = come_and_go),
	TRACE("engine-flaps", large, large, 4, .present = flapping),
};

const unsigned int sim_nr_traces = ARRAY_SIZE(sim_traces);
