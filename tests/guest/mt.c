// SPDX-License-Identifier: GPL-2.0
/*
 * Engine mt. Whatever the number of threads and the side they come from, every byte is copied. Helpers are idle CPUs
 * of the right node that the caller may use, and nobody else; one that was asked and does not come is not waited for;
 * the time that they spend is on the caller's account.
 */
#include "lib/work.h"

#define THREADS LIFT "engines/mt/threads"
#define PULL LIFT "engines/mt/pull"

/* ----- contents ----- */

struct list {
	const char *what;
	char *p;
	size_t len, thps, folios;
	void *pages[2000];
};

static struct list lists[4];

/* Every other 2 MB in small pages if @mixed, else @huge says; @small of them in the last one that has such. */
static void list_new(struct list *l, const char *what, size_t thps, size_t small)
{
	size_t i;

	l->what = what;
	l->thps = thps;
	l->len = thps * HUGE + small * PAGE;
	alloc_on(0);
	l->p = map_anon((l->len + HUGE - 1) & -HUGE, 0);
	for (i = 0; i < thps; i++) {
		madvise(l->p + i * HUGE, HUGE, MADV_HUGEPAGE);
		l->pages[l->folios++] = l->p + i * HUGE;
	}
	/* a folio's neighbours on the list are of both sizes */
	for (i = 0; i < small; i++)
		l->pages[l->folios++] = l->p + thps * HUGE + i * PAGE;
	for (i = 1; i < thps && small; i++) {
		void *swap = l->pages[i];

		l->pages[i] = l->pages[thps + i * (small / thps)];
		l->pages[thps + i * (small / thps)] = swap;
	}
	fill(l->p, l->len, 1);
	alloc_on(-1);
	if (huge_mapped(l->p, l->len) != thps)
		fatal("%s: there are THPs", what);
}

/* Pages that are wrong, or not where they should be */
static size_t list_move(struct list *l, int node)
{
	static int nodes[2000], status[2000];
	uint64_t seed = rnd();
	size_t i;

	fill(l->p, l->len, seed);
	for (i = 0; i < l->folios; i++)
		nodes[i] = node;
	if (syscall(SYS_move_pages, 0, l->folios, l->pages, nodes, status, MPOL_MF_MOVE))
		return l->len;
	return check(l->p, l->len, seed) + l->len / PAGE - on_node(l->p, l->len, node);
}

static void test_contents(void)
{
	static const int threads[] = { 1, 2, 3, 4, 32 };
	long long helped = lift_count("engines/mt/helper_us");
	size_t i, k, pages = 0, folios = 0;
	int pull;

	for (i = 0; i < 4; i++) {
		pages += lists[i].len / PAGE * 2;
		folios += lists[i].folios * 2;
	}
	for (pull = 0; pull < 2; pull++) {
		put(PULL, "%d", pull);
		for (i = 0; i < 5; i++) {
			struct lift_counts c = lift_counts();
			long long us = lift_count("engines/mt/helper_us");
			size_t bad = 0;

			put(THREADS, "%d", threads[i]);
			for (k = 0; k < 4; k++) {
				size_t wrong = list_move(&lists[k], 1) + list_move(&lists[k], 0);

				if (wrong)
					diag("%s: %zu pages wrong", lists[k].what, wrong);
				bad += wrong;
			}
			c = lift_since(c);
			is(bad, 0, "%d threads, pull %d: no page differs, both ways", threads[i],
			   pull);
			is(c.pages, pages, "%d threads, pull %d: pages", threads[i], pull);
			is(c.folios, folios, "%d threads, pull %d: folios", threads[i], pull);
			is(c.failed + c.declined + c.fell_failed + c.fell_declined, 0,
			   "%d threads, pull %d: nothing failed", threads[i], pull);
			if (threads[i] == 1)
				is(lift_count("engines/mt/helper_us"), us,
				   "1 thread, pull %d: nobody helps", pull);
		}
	}
	helped = lift_count("engines/mt/helper_us") - helped;
	diag("helpers copied for %lld us", helped);
	ok(helped > 0, "helpers did copy");
}

/* ----- who helps ----- */

/*
 * Move a THP to @node, having it on the other one before, three times, or until all of @must have helped; and tell who
 * did. The way back is made with one thread. The number of helpers that came goes to *@n.
 */
static unsigned long helpers(int pull, int node, unsigned long must, unsigned int *n)
{
	struct list *l = &lists[1];
	unsigned long cpus = 0, now;
	size_t bad = 0;
	int i;

	put(PULL, "%d", pull);
	*n = 0;
	for (i = 0; i < 3 || (i < 20 && must & ~cpus); i++) {
		put(THREADS, "1");
		move(l->p, l->len, HUGE, !node);
		usleep(10000); /* what was to be done because of that is done, and CPUs are idle */
		work_forget();
		put(THREADS, "4");
		bad += move(l->p, l->len, HUGE, node) != 0;
		usleep(10000); /* one that was asked comes sooner or later, or is not idle for the next */
		*n += work_ran("mt_help", &now);
		cpus |= now;
	}
	is(bad, 0, "the moves succeed");
	return cpus;
}

/* Those of @may help, each of @must at some time, and nobody else. */
static void helped_by(const char *what, int pull, int node, unsigned long may, unsigned long must)
{
	unsigned int n;
	unsigned long cpus = helpers(pull, node, must, &n);

	if (!(ok(!(cpus & ~may), "%s: nobody helps who should not", what) &
	      ok(!(must & ~cpus), "%s: those who should do", what)))
		diag("CPUs 0x%lx helped %u times; should: 0x%lx, may: 0x%lx", cpus, n, must, may);
}

#define CPU(n) (1ul << (n))

static void test_sides(void)
{
	unsigned int n;

	helped_by("pull from 0 to 1", 1, 1, CPU(2) | CPU(3), CPU(2) | CPU(3));
	helped_by("pull from 1 to 0", 1, 0, CPU(1), CPU(1));
	helped_by("push from 0 to 1", 0, 1, CPU(1), CPU(1));
	helped_by("push from 1 to 0", 0, 0, CPU(2) | CPU(3), CPU(2) | CPU(3));
	on_cpu(3);
	helped_by("pull from 0 to 1, called from there", 1, 1, CPU(2), CPU(2));
	on_cpu(0);
	put(THREADS, "2");
	put(PULL, "1");
	work_forget();
	is(move(lists[1].p, HUGE, HUGE, 1), 0, "two threads: a THP moves");
	usleep(50000);
	n = work_ran("mt_help", NULL);
	ok(n <= 1, "two threads: one helper at most");
	put(THREADS, "0");
	work_forget();
	is(move(lists[1].p, HUGE, HUGE, 0), 0, "as many threads as the policy wants: a THP moves");
}

static void test_busy(void)
{
	struct spinner spinners[3];
	long long us;
	int i;

	for (i = 0; i < 3; i++)
		spin_on(&spinners[i], i + 1);
	us = lift_count("engines/mt/helper_us");
	helped_by("everybody is busy, pull", 1, 1, 0, 0);
	helped_by("everybody is busy, push", 0, 1, 0, 0);
	is(lift_count("engines/mt/helper_us"), us, "everybody is busy: helper_us is what it was");
	spin_end(&spinners[1]); /* CPU 2 */
	helped_by("everybody but one is busy", 1, 1, CPU(2), CPU(2));
	spin_end(&spinners[0]);
	spin_end(&spinners[2]);
}

/* ----- where the caller may run ----- */

/* A kernel thread migrates this process to @node, when the nodes that the process may use change. */
static void by_kthread(const char *group, int node)
{
	if (cgroup_put(group, "cpuset.mems", "%d", node))
		fatal("a cpuset's nodes can be set");
}

static void kthread_helped_by(const char *what, const char *group, unsigned long may,
			      unsigned long must)
{
	unsigned long cpus = 0, now;
	unsigned int i, n = 0;
	size_t bad = 0;

	put(PULL, "1");
	for (i = 0; i < 2 || (i < 20 && must & ~cpus); i++) {
		put(THREADS, "1");
		by_kthread(group, 0);
		usleep(20000);
		work_forget();
		put(THREADS, "4");
		by_kthread(group, 1);
		usleep(20000);
		n += work_ran("mt_help", &now);
		cpus |= now;
		bad += lists[2].len / PAGE - on_node(lists[2].p, lists[2].len, 1);
	}
	is(bad, 0, "%s: a kernel thread moves everything", what);
	if (!(ok(!(cpus & ~may), "%s: nobody helps who should not", what) &
	      ok(!(must & ~cpus), "%s: those who should do", what)))
		diag("CPUs 0x%lx helped %u times; should: 0x%lx, may: 0x%lx", cpus, n, must, may);
}

static void test_cpuset(void)
{
	char state[80];

	if (cgroup_put("", "cgroup.subtree_control", "+cpuset")) {
		skip("cpusets", "this kernel has none");
		return;
	}
	cgroup_new("caller");
	cgroup_put("caller", "cpuset.cpus", "0,2");
	if (cgroup_put("caller", "cgroup.procs", "0"))
		fatal("a cgroup can be entered");
	on_cpu(0);
	helped_by("a caller confined to CPUs 0 and 2", 1, 1, CPU(2), CPU(2));
	cgroup_put("caller", "cpuset.cpus", "0-1");
	helped_by("a caller confined to CPUs 0 and 1", 1, 1, 0, 0);
	cgroup_put("caller", "cpuset.cpus", "0-3");
	on_cpu(0);
	kthread_helped_by("a kernel thread", "caller", CPU(2) | CPU(3), CPU(3));

	/* who has a CPU on its list keeps others from having it for themselves */
	cgroup_end("caller");
	cgroup_new("caller");
	if (cgroup_put("caller", "cgroup.procs", "0"))
		fatal("a cgroup can be entered");
	on_cpu(0);
	cgroup_new("isolated");
	cgroup_put("isolated", "cpuset.cpus", "3");
	cgroup_put("isolated", "cpuset.cpus.partition", "isolated");
	read_file(CGROUP "isolated/cpuset.cpus.partition", state, sizeof(state));
	if (ok(!strcmp(state, "isolated"), "a CPU can be isolated")) {
		helped_by("with CPU 3 isolated", 1, 1, CPU(2), CPU(2));
		kthread_helped_by("with CPU 3 isolated, a kernel thread", "caller", CPU(2), 0);
		cgroup_put("isolated", "cpuset.cpus.partition", "member");
	} else {
		diag("the partition is '%s'", state);
	}
	cgroup_end("isolated");
	cgroup_end("caller");
	on_cpu(0);
	cgroup_put("", "cgroup.subtree_control", "-cpuset");
}

/* ----- whose time it is ----- */

static long long own_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000ll + t.tv_nsec / 1000;
}

static long long group_us(const char *group)
{
	char path[128], line[128];
	long long us = -1, v;
	FILE *f;

	snprintf(path, sizeof(path), CGROUP "%s/cpu.stat", group);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "usage_usec %lld", &v) == 1)
			us = v;
	if (f)
		fclose(f);
	return us;
}

static void test_time(void)
{
	struct list *l = &lists[2];
	long long own, group, helped;
	int i;

	cgroup_new("payer");
	if (cgroup_put("payer", "cgroup.procs", "0"))
		fatal("a cgroup can be entered");
	put(THREADS, "4");
	put(PULL, "1");
	sched_yield(); /* brings what was counted up to date */
	helped = lift_count("engines/mt/helper_us");
	group = group_us("payer");
	own = own_us();
	for (i = 0; i < 400 && lift_count("engines/mt/helper_us") - helped < 200000; i++)
		move(l->p, l->len, HUGE, !(i & 1));
	sched_yield();
	own = own_us() - own;
	group = group_us("payer") - group;
	helped = lift_count("engines/mt/helper_us") - helped;
	diag("%d moves: the process ran %lld us, helpers %lld us; its cgroup is charged with %lld us",
	     i, own, helped, group);
	ok(helped >= 50000, "helpers worked long enough to tell");
	ok(group - own >= helped - helped / 10, "the helpers' time is on the caller's cgroup");
	ok(group - own <= helped + helped / 10 + 20000, "and only once");
	cgroup_end("payer");
}

/* ----- a helper that was asked and cannot come ----- */

static atomic_int moving, blocker_stop;
static atomic_uint blocked;

/*
 * The most urgent task of its CPU. It sleeps for a moment, so that the CPU is idle and asked; and if it finds, when it
 * wakes, that a batch is being copied, it keeps whoever helps from running until the move is over. The move must not
 * notice. (Not before the copy: the system call itself waits for each CPU's drained pages.)
 */
static void *blocker(void *arg)
{
	struct sched_param param = { .sched_priority = 50 };
	static const char last[] = "foliolift_flush:";
	char dir[80], path[120], text[4096];
	int fd;

	on_cpu((long)arg);
	snprintf(dir, sizeof(dir), "/sys/kernel/tracing/instances/late%ld", (long)arg);
	mkdir(dir, 0700);
	snprintf(path, sizeof(path), "%s/events/foliolift/enable", dir);
	write_file(path, "1");
	snprintf(path, sizeof(path), "%s/trace_pipe", dir);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || sched_setscheduler(0, SCHED_FIFO, &param))
		return "no tracing, or no real-time tasks";
	while (!atomic_load(&blocker_stop)) {
		int now = atomic_load(&moving), copying = 0;
		ssize_t n;

		while ((n = read(fd, text, sizeof(text) - 1)) > 0) {
			char *p, *event;

			text[n] = 0;
			for (event = NULL, p = text; (p = strstr(p, ": foliolift_")); p += 2)
				event = p + 2;
			copying = event && !strncmp(event, last, sizeof(last) - 1);
		}
		if (now && copying) {
			atomic_fetch_add(&blocked, 1);
			while (atomic_load(&moving) == now)
				;
		}
		usleep(200);
	}
	close(fd);
	snprintf(path, sizeof(path), "%s/events/foliolift/enable", dir);
	write_file(path, "0");
	rmdir(dir);
	return NULL;
}

static void test_late(void)
{
	struct list *l = &lists[2];
	unsigned int i, late = 0, asked = 0;
	pthread_t threads[2];
	void *excuse = NULL;
	uint64_t seed;
	size_t bad = 0;

	work_trace("queue_work", 1);
	work_trace("execute_end", 1);
	put(THREADS, "3");
	put(PULL, "1");
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, blocker, (void *)(2l + i)))
			fatal("a thread can be had");
	for (i = 0; i < rounds(5) || (!late && i < 100); i++) {
		unsigned int queued;

		fill(l->p, l->len, seed = rnd());
		usleep(2000);
		work_forget();
		atomic_store(&moving, i + 1);
		bad += move(l->p, l->len, HUGE, !(i & 1)) != 0;
		/* CPUs that were taken away still are */
		queued = work_events("queue_work", "mt_help", NULL);
		late += queued > work_events("execute_end", "mt_help", NULL);
		asked += queued;
		atomic_store(&moving, 0);
		bad += check(l->p, l->len, seed);
	}
	atomic_store(&blocker_stop, 1);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &excuse);
		if (excuse)
			fatal("%s", (char *)excuse);
	}
	diag("%u helpers were asked; CPUs were taken away from %u moves", asked,
	     atomic_load(&blocked));
	ok(late > 0, "moves end before those who were asked have come and gone");
	is(bad, 0, "helpers that come late: no page differs");
	work_trace("queue_work", 0);
	work_trace("execute_end", 0);
}

/* ----- CPUs that come and go ----- */

static void cpu_online(int cpu, int on)
{
	char path[80];
	int i, err = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	for (i = 0; i < 50; i++) {
		err = write_file(path, on ? "1" : "0");
		if (!err)
			return;
		usleep(10000);
	}
	errno = err;
	fatal("CPU %d can be switched %s", cpu, on ? "on" : "off");
}

static atomic_int plug_stop, plug_bad;
static atomic_uint plug_moves;

static void *plug_mover(void *arg)
{
	struct list *l = arg;

	on_cpu(0);
	while (!atomic_load(&plug_stop)) {
		if (list_move(l, atomic_load(&plug_moves) & 1 ? 0 : 1))
			atomic_store(&plug_bad, 1);
		atomic_fetch_add(&plug_moves, 1);
	}
	return NULL;
}

static void test_hotplug(void)
{
	pthread_t thread;
	unsigned int i;

	if (!exists("/sys/devices/system/cpu/cpu3/online")) {
		skip("CPUs that come and go", "this kernel cannot switch CPUs off");
		return;
	}
	cpu_online(3, 0);
	helped_by("with CPU 3 off", 1, 1, CPU(2), CPU(2));
	cpu_online(2, 0);
	helped_by("with the node's CPUs off, the nearest node's", 1, 1, CPU(1), CPU(1));
	cpu_online(2, 1);
	cpu_online(3, 1);
	helped_by("with all of them back", 1, 1, CPU(2) | CPU(3), CPU(2) | CPU(3));

	put(THREADS, "4");
	if (pthread_create(&thread, NULL, plug_mover, &lists[2]))
		fatal("a thread can be had");
	for (i = 0; i < rounds(6); i++) {
		int cpu = 1 + i % 3;

		put(PULL, "%u", i / 3 & 1);
		cpu_online(cpu, 0);
		usleep(rnd() % 40000);
		cpu_online(cpu, 1);
		usleep(rnd() % 40000);
	}
	atomic_store(&plug_stop, 1);
	pthread_join(thread, NULL);
	diag("%u moves while CPUs came and went", atomic_load(&plug_moves));
	is(atomic_load(&plug_bad), 0, "while CPUs come and go: no page differs");
	ok(atomic_load(&plug_moves) > 1, "and moves do not hang");
}

static void test(void)
{
	lift_begin();
	if (nr_cpus() < 4 || node_kb(1, "MemTotal") < 0) {
		skip("engine mt", "two nodes with two CPUs each are needed");
		return;
	}
	lift_set("mt");
	on_cpu(0);
	list_new(&lists[0], "small pages", 0, 600);
	list_new(&lists[1], "a THP", 1, 0);
	list_new(&lists[2], "THPs", 5, 0);
	list_new(&lists[3], "mixed", 3, 300);
	test_contents();
	work_trace("execute_start", 1);
	test_sides();
	test_busy();
	test_cpuset();
	test_time();
	test_late();
	test_hotplug();
	work_trace_end();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("mt", 120, test);
}
