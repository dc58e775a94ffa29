/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The first bytes of each request that is recorded; src/request_name.rs takes its name from them. */
#pragma once

#define HEAD_WORDS 8

/* Whether they are kept. */
const volatile __u32 heads_kept = 0;

struct head {
	__u64 words[HEAD_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct request_key);
	__type(value, struct head);
} heads SEC(".maps");

/* Keep the first of `length` bytes in the application's buffer, with which a request starts. */
static inline void keep_head(const struct connection *c, __u32 at, const __u8 *start, __u32 length)
{
	struct request_key which = {.cookie = c->cookie, .at = at};
	struct head head = {};
	if (length > sizeof(head))
		length = sizeof(head);
	if (bpf_probe_read_user(&head, length, start) == 0)
		bpf_map_update_elem(&heads, &which, &head, BPF_ANY);
}

static inline void take_head(const struct connection *c, __u32 at, struct head *to)
{
	struct request_key which = {.cookie = c->cookie, .at = at};
	struct head *head = bpf_map_lookup_elem(&heads, &which);
	if (!head) {
		__builtin_memset(to, 0, sizeof(*to));
		return;
	}
	*to = *head;
	bpf_map_delete_elem(&heads, &which);
}
