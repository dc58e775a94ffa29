/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What delays the server: switches of its threads, and who ran while they waited. src/delays/ joins these events with
 * the requests.
 *
 * Other threads are reported only if they ran on a CPU while a thread of the server waited for it. `waiting` counts
 * these threads, and is reset whenever the CPU becomes idle.
 */
#pragma once

enum what { SWITCH, WOKEN, MIGRATED, SOFTIRQ, HARDIRQ, FAULT };
enum { PREV_OURS = 1, NEXT_OURS = 2, KERNEL_THREAD = 4 };
enum { TIMER = 0xffffffff, TIMER_SOFTIRQ = 1 };
enum { PF_KTHREAD = 0x200000, NR_FUTEX = 202, NO_CALL = 0xffff, PROCESSORS = 1024, SHORT_NS = 500 };
enum { STACKS = 8192, STACK_FRAMES = 64, NO_STACK = -1 };

struct moment {
	__u64 at, since;       /* since: in a switch, when the leaving thread had come; in a wake-up, its start */
	__u32 thread, process; /* the thread of the event: in a switch, the leaving one */
	__u32 other;           /* in a switch, the coming thread; in a wake-up, the waker (0: an interrupt, TIMER: a timer) */
	__u16 cpu, call;       /* call: the system call in which it sleeps, or the interrupt's number */
	__u8 what, flags;
	__u8 state;            /* state in which it leaves; 0: runnable */
	__u8 operation;        /* operation of a futex call */
	__s32 kernel_stack, user_stack; /* where the leaving thread sleeps; negative: unknown */
	__u32 spare;
	char name[16];
};

struct processor {
	__u64 since, softirq, hardirq;
	__u32 waiting;
	__u32 timer; /* whether a timer expires here */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROCESSORS);
	__type(key, __u32);
	__type(value, struct processor);
} processors SEC(".maps");

/* Processes of the server: those that read its requests. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} processes SEC(".maps");

/* Stacks of threads that went to sleep, by number. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

static inline bool of_server(struct task_struct *task)
{
	__u32 process = task->tgid;
	/* Most switches have the idle thread on one side. */
	__u32 found = process && bpf_map_lookup_elem(&processes, &process) != 0;
	/* Otherwise the compiler merges two results as pointers, which the verifier forbids. */
	asm volatile("" : "+r"(found));
	return found;
}

/* A started wake-up. Until the thread is in a CPU's queue, that CPU may have to wake up itself. */
struct wakeup {
	__u64 since;
	__u32 waker;
};

/* Only for threads of the server. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wakeup);
} wakeups SEC(".maps");

static inline void this_process_serves(void)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u8 one = 1;
	if (!bpf_map_lookup_elem(&processes, &process))
		bpf_map_update_elem(&processes, &process, &one, BPF_ANY);
}

static inline struct processor *processor(__u32 number)
{
	return bpf_map_lookup_elem(&processors, &number);
}

static inline struct moment *new_moment(__u8 what, __u64 at)
{
	struct moment *m = bpf_ringbuf_reserve(&records, sizeof(*m), 0);
	if (!m) {
		count(RECORDS_LOST, 1);
		return 0;
	}
	__builtin_memset(m, 0, sizeof(*m));
	m->at = m->since = at;
	m->what = what;
	m->cpu = bpf_get_smp_processor_id();
	m->kernel_stack = m->user_stack = NO_STACK;
	return m;
}

/* Whether a system call waits for any of several events: it is always called by the same loop, whose stack is not needed. */
static inline bool waits_for_events(__u16 call)
{
	switch (call) {
	case 7:   /* poll */
	case 23:  /* select */
	case 43:  /* accept */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 288: /* accept4 */
	case 441: /* epoll_pwait2 */
		return true;
	}
	return false;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switching, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int state)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (!here)
		return 0;
	__u64 now = bpf_ktime_get_ns(), since = here->since;
	here->since = now;
	bool left = of_server(prev), came = of_server(next);
	bool look = left || came || here->waiting;
	/* A thread preempted on its way to sleep remains runnable. */
	if (preempt)
		state = 0;
	if (came && here->waiting)
		__sync_fetch_and_add(&here->waiting, -1);
	if (left && !state)
		__sync_fetch_and_add(&here->waiting, 1);
	if (next->pid == 0)
		here->waiting = 0;
	if (!look)
		return 0;
	struct moment *m = new_moment(SWITCH, now);
	if (!m)
		return 0;
	/* For the first switch seen, the start of the leaving thread's run is unknown. */
	m->since = since ?: now;
	m->thread = prev->pid;
	m->process = prev->tgid;
	m->other = next->pid;
	m->state = state > 0xff ? 0xff : state;
	m->flags = (left ? PREV_OURS : 0) | (came ? NEXT_OURS : 0) | (prev->flags & PF_KTHREAD ? KERNEL_THREAD : 0);
	m->call = NO_CALL;
	if (left && state) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(prev);
		__s64 call = regs->orig_ax;
		if (call >= 0)
			m->call = call;
		if (call == NR_FUTEX)
			m->operation = regs->si & 127;
		if (!waits_for_events(m->call)) {
			m->kernel_stack = bpf_get_stackid(ctx, &stacks, 0);
			m->user_stack = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
		}
	}
	if (prev->pid)
		bpf_probe_read_kernel(m->name, sizeof(m->name), &prev->comm);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	if (!of_server(task))
		return 0;
	struct wakeup *w = bpf_task_storage_get(&wakeups, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!w)
		return 0;
	struct processor *here = processor(bpf_get_smp_processor_id());
	w->since = bpf_ktime_get_ns();
	if (here && here->timer)
		w->waker = TIMER;
	else
		w->waker = here && (here->softirq || here->hardirq) ? 0 : (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* The thread is in a queue, whose lock is held: this event lies between the switches before and after it. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	/* A thread woken before it left its CPU does not wait. */
	if (task->on_cpu)
		return 0;
	struct wakeup *w = bpf_task_storage_get(&wakeups, task, 0, 0);
	if (!w)
		return 0;
	__u32 cpu = task->thread_info.cpu;
	struct processor *there = processor(cpu);
	if (there)
		__sync_fetch_and_add(&there->waiting, 1);
	struct moment *m = new_moment(WOKEN, bpf_ktime_get_ns());
	if (!m)
		return 0;
	m->since = w->since;
	m->cpu = cpu;
	m->thread = task->pid;
	m->process = task->tgid;
	m->other = w->waker;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

/*
 * A waiting thread moves to another CPU. A thread that is being woken is already where it will wait, and a sleeping one
 * may still be in a queue (delayed dequeue, since Linux 6.12): neither waits.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(migrating, struct task_struct *task, int to)
{
	if (!task->on_rq || task->__state || !of_server(task))
		return 0;
	__u32 from = task->thread_info.cpu;
	struct processor *there = processor(from);
	if (there && there->waiting)
		__sync_fetch_and_add(&there->waiting, -1);
	there = processor(to);
	if (there)
		__sync_fetch_and_add(&there->waiting, 1);
	struct moment *m = new_moment(MIGRATED, bpf_ktime_get_ns());
	if (!m)
		return 0;
	m->thread = task->pid;
	m->process = task->tgid;
	m->cpu = from;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Report an interrupt if it took time from a thread of the server, or from a thread that such a thread waited for. */
static inline void interrupted(__u8 what, __u64 since, __u16 number, const char *name)
{
	__u64 now = bpf_ktime_get_ns();
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (!here || !since || now - since < SHORT_NS)
		return;
	struct task_struct *task = bpf_get_current_task_btf();
	if (!here->waiting && !of_server(task))
		return;
	struct moment *m = new_moment(what, now);
	if (!m)
		return;
	m->since = since;
	m->thread = task->pid;
	m->process = task->tgid;
	m->call = number;
	if (name)
		bpf_probe_read_kernel_str(m->name, sizeof(m->name), name);
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int number)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here) {
		here->softirq = bpf_ktime_get_ns();
		here->timer = number == TIMER_SOFTIRQ;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends, unsigned int number)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here) {
		__u64 since = here->softirq;
		here->softirq = here->timer = 0;
		interrupted(SOFTIRQ, since, number, 0);
	}
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(hardirq_begins, int number, struct irqaction *action)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here)
		here->hardirq = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(hardirq_ends, int number, struct irqaction *action)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here) {
		__u64 since = here->hardirq;
		here->hardirq = 0;
		interrupted(HARDIRQ, since, number, action->name);
	}
	return 0;
}

/* Timers expire within the CPU's own timer interrupt, which raises no irq_handler_entry. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_begins)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here)
		here->timer = 1;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_ends)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here)
		here->timer = 0;
	return 0;
}

static inline int vector_begins(void)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here)
		here->hardirq = bpf_ktime_get_ns();
	return 0;
}

static inline int vector_ends(int vector, const char *name)
{
	struct processor *here = processor(bpf_get_smp_processor_id());
	if (here) {
		__u64 since = here->hardirq;
		here->hardirq = 0;
		interrupted(HARDIRQ, since, vector, name);
	}
	return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(tick_begins, int vector)
{
	return vector_begins();
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(tick_ends, int vector)
{
	return vector_ends(vector, "timer");
}

/* A function call that one CPU requests from another. */
SEC("tp_btf/call_function_single_entry")
int BPF_PROG(call_begins, int vector)
{
	return vector_begins();
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(call_ends, int vector)
{
	return vector_ends(vector, "processor call");
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(faulting)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!of_server(task))
		return 0;
	struct moment *m = new_moment(FAULT, bpf_ktime_get_ns());
	if (!m)
		return 0;
	m->thread = task->pid;
	m->process = task->tgid;
	bpf_ringbuf_submit(m, BPF_RB_NO_WAKEUP);
	return 0;
}
