/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * e4 as shown by the server itself: a uprobe on a function that the server calls to start a request. The n-th call on a
 * thread since its last read of a connection starts the n-th request of that read. A call is kept by connection and
 * request until the request is done, because a server may read other requests meanwhile.
 *
 * If a thread reads on one connection and starts requests of another, calls are missing here and in excess there. Both
 * are counted, so an unsuitable function is detected.
 */
#pragma once

/* Whether a function is given. */
const volatile __u32 shown = 0;

/* The last read of a thread. */
struct latest_read {
	__u64 cookie; /* 0: a connection that is not followed */
	__u32 window;
	__u32 first, requests; /* requests that ended in it; the next one may have started */
	__u32 begun;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct latest_read);
} latest_reads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct request_key);
	__type(value, __u64);
} begun_requests SEC(".maps");

/* The thread read the ends of these requests; `c` is null for a connection that is not followed. */
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
	struct request_key which = {.cookie = last->cookie, .at = last->first + nth};
	__u64 now = bpf_ktime_get_ns();
	bpf_map_update_elem(&begun_requests, &which, &now, BPF_ANY);
	return 0;
}

/* Set e4 of a completed request. A call before the last byte was read counts from that read. */
static inline void take_begun(const struct connection *c, struct request *r, __u32 at)
{
	struct request_key which = {.cookie = c->cookie, .at = at};
	__u64 *known = bpf_map_lookup_elem(&begun_requests, &which);
	if (!known || *known > r->e5) {
		count(NOT_BEGUN, 1);
		return;
	}
	r->e4 = *known > r->e3 ? *known : r->e3;
	bpf_map_delete_elem(&begun_requests, &which);
}
