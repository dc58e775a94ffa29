/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * e4 as the server shows it itself: a function that it calls where it begins a request (a uprobe). The n-th call on a
 * thread since its latest read of a connection begins the n-th request of that read. A call is kept by connection and
 * request until the request is done, for a server may read others meanwhile.
 *
 * A thread that reads on one connection and begins requests of another has calls too many here and too few there. Both
 * are counted: a function that is no such place shows itself.
 */
#pragma once

/* Whether a function was named. */
const volatile __u32 shown = 0;

/* What a thread read last. */
struct latest_read {
	__u64 cookie; /* 0: nothing that is followed */
	__u32 window;
	__u32 first, requests; /* that ended in it; the next one may have begun */
	__u32 begun;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct latest_read);
} latest_reads SEC(".maps");

struct begun_request {
	__u64 cookie;
	__u64 at;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct begun_request);
	__type(value, __u64);
} begun_requests SEC(".maps");

/* The thread read bytes in which these requests ended; of a connection that is not followed, `c` is null. */
static inline void note_read(const struct connection *c, __u32 first, __u32 requests)
{
	struct latest_read *last = bpf_task_storage_get(&latest_reads, bpf_get_current_task_btf(), 0,
							c ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!last)
		return;
	last->cookie = c ? c->cookie : 0;
	last->window = c ? c->window : 0;
	last->first = first;
	last->requests = requests;
	last->begun = 0;
}

SEC("uprobe")
int begun(void *registers)
{
	struct control *is = settings();
	struct latest_read *last = bpf_task_storage_get(&latest_reads, bpf_get_current_task_btf(), 0, 0);
	if (!is || !last || !last->cookie || last->window != is->window)
		return 0;
	__u32 nth = last->begun++;
	if (nth > last->requests) {
		count(ASTRAY, 1);
		return 0;
	}
	struct begun_request which = {.cookie = last->cookie, .at = last->first + nth};
	__u64 now = bpf_ktime_get_ns();
	bpf_map_update_elem(&begun_requests, &which, &now, BPF_ANY);
	return 0;
}

/* e4 of a request that is done. One that begins before its last byte was read does so then. */
static inline void take_begun(const struct connection *c, struct request *r, __u32 at)
{
	struct begun_request which = {.cookie = c->cookie, .at = at};
	__u64 *known = bpf_map_lookup_elem(&begun_requests, &which);
	if (!known || *known > r->e5) {
		count(NOT_BEGUN, 1);
		return;
	}
	r->e4 = *known > r->e3 ? *known : r->e3;
	bpf_map_delete_elem(&begun_requests, &which);
}
