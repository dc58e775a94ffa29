/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The stages of a request in an unmodified server, from tracepoints alone (and a uprobe for e4 on request):
 *
 *     e1 network ── e2 readable ── e3 read ── e4 begun ── e5 handed over ── e6 leaves
 *        skb stamp     ready          received   (rule)      sending           leaving
 *
 * Requests are followed by their positions in a connection's two byte streams, so batches, splits and already open
 * connections need no special care. Four of the six programs run once per request; `sent` is attached only if requests
 * come in batches. Events of other ports return at the first comparison. The costs are 40 to 80 ns per program run, 37
 * ns per clock reading (a virtual machine, AMD), and cache misses, because arrivals are recorded on the CPU of the
 * sender.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>
#include "framing.h"
#include "connection.h"
#include "account.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u16 port = 0;
const volatile __u32 protocol = 0;
const volatile struct framing_length length_field = {};
/* Whether the kernel shows the hand-over of responses (since 6.16); otherwise e5 is e6. */
const volatile __u32 handover = 1;
/* Follow one connection in this many, completely: sampling requests would bias covariances of neighbours. */
const volatile __u32 one_connection_in = 1;
/* Whether to follow the scheduler, too (who.h). */
const volatile __u32 who = 0;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

#include "answering.h"
#include "reading.h"
#include "who.h"

static inline bool chosen(struct sock *sk)
{
	if (one_connection_in <= 1)
		return true;
	/* Fibonacci hashing: client ports are consecutive. */
	__u32 mixed = (__u32)sk->__sk_common.skc_dport * 2654435769u;
	return (mixed >> 8) % one_connection_in == 0;
}

/* Checked before any lookup: most events belong to other sockets. */
static inline bool ours(struct sock *sk)
{
	return sk->__sk_common.skc_num == port && sk->sk_protocol == IPPROTO_TCP &&
	       sk->__sk_common.skc_state != TCP_LISTEN && chosen(sk);
}

/* The state of a connection, if it is followed in this window. */
static inline struct connection *followed(struct sock *sk, const struct control *is)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	return c && c->window == is->window ? c : 0;
}

/* Whether only one segment waits, so everything before it was read. Several may have been merged into one. */
static inline bool alone(struct sk_buff *tail, __u32 unread)
{
	__u8 pieces = 1;
	struct skb_shared_info *more = (void *)(tail->head + tail->end);
	if (tail->len != unread || bpf_probe_read_kernel(&pieces, sizeof(pieces), &more->nr_frags))
		return false;
	return pieces + (tail->len > tail->data_len) <= 1;
}

/* Start to follow a connection at its first segment seen, in all or in this window. */
static __attribute__((noinline)) struct connection *follow(struct sock *sk, const struct control *is)
{
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!c || !tp)
		return 0;
	if (!c->cookie) {
		c->cookie = bpf_get_socket_cookie(sk);
		count(CONNECTIONS, 1);
	}
	c->window = is->window;
	c->arrived = c->taken = 0;
	c->seen = c->answered = c->left = c->done = c->batch = c->base = 0;
	c->reads = c->sends = c->overrun = c->parts = 0;
	c->last_end = c->left_end = tp->write_seq;
	c->send_returned = c->last_e5 = c->last_e6 = 0;
	__builtin_memset(&c->framing, 0, sizeof(c->framing));
	/* Unread bytes start at a request boundary if nothing was read before, or if everything before was. */
	__u32 unread = tp->rcv_nxt - tp->copied_seq;
	c->synced = (__u32)tp->bytes_received == unread ||
		    (sk->sk_receive_queue.qlen == 1 && alone(sk->sk_receive_queue.prev, unread));
	return c;
}

/* e2, and e1 of the segment that made the data readable. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(ready, struct sock *sk)
{
	if (sk->__sk_common.skc_num != port)
		return 0;
	if (!ours(sk)) {
		if (sk->sk_protocol == IPPROTO_UDP)
			count(DATAGRAMS, 1);
		return 0;
	}
	__u64 now = bpf_ktime_get_ns();
	struct control *is = settings();
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!is || !tp)
		return 0;
	struct connection *c = followed(sk, is);
	if (!c) {
		c = now < is->until ? follow(sk, is) : 0;
		if (!c)
			return 0;
	}
	count(ARRIVED, 1);
	if (c->arrived - c->taken >= ARRIVALS)
		return 0; /* its request will be counted under NO_ARRIVAL */
	struct arrival *a = &c->arrivals[c->arrived & (ARRIVALS - 1)];
	struct sk_buff *tail = sk->sk_receive_queue.prev;
	__u64 stamp = 0;
	if (sk->sk_receive_queue.qlen && BPF_CORE_READ_BITFIELD(tail, tstamp_type) == 0)
		stamp = tail->tstamp - is->ahead;
	/* A stamp of another clock would differ by hours (veth, forwarded packets). */
	if (now - stamp > 10000000000ull) {
		count(STAMP_MISSING, 1);
		stamp = now;
	}
	a->end = tp->rcv_nxt;
	a->cpu = bpf_get_smp_processor_id();
	a->e1 = stamp;
	a->e2 = now;
	c->arrived++;
	return 0;
}

/* e3: bytes were copied to the application. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(received, struct sock *sk, int got, int flags)
{
	struct control *is;
	if (got <= 0 || (flags & MSG_PEEK) || !ours(sk) || !(is = settings()))
		return 0;
	struct connection *c = followed(sk, is);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!c || !tp) {
		if (shown)
			note_read(0, 0, 0);
		return 0;
	}
	if (who)
		this_process_serves();
	__u32 first = c->seen;
	__u32 end = tp->copied_seq, all = tp->rcv_nxt;
	/* A read that includes the FIN advances the position by one more. */
	if ((sk->sk_shutdown & RCV_SHUTDOWN) && end == all)
		end--;
	read_bytes(c, is, end - got, got, all == tp->copied_seq, bpf_ntohs(sk->__sk_common.skc_dport));
	if (shown && protocol == FRAMING_NONE)
		note_read(c, c->seen - 1, 1);
	else if (shown)
		note_read(c, first, c->seen - first);
	return 0;
}

/* e5: the application hands over bytes. Fires for each piece of a send; the end of the whole send stays the same. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(sending, struct sock *sk, struct msghdr *msg)
{
	struct control *is;
	if (!ours(sk) || !(is = settings()))
		return 0;
	struct connection *c = followed(sk, is);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!c || !tp)
		return 0;
	__u32 end = tp->write_seq + (__u32)msg->msg_iter.count;
	if (end == c->last_end)
		return 0;
	answer(c, is, end, bpf_ktime_get_ns());
	return 0;
}

/* The send returned: the next request of a batch starts. */
SEC("tp_btf/sock_send_length")
int BPF_PROG(sent, struct sock *sk, int put)
{
	struct control *is;
	if (put <= 0 || !ours(sk) || !(is = settings()))
		return 0;
	struct connection *c = followed(sk, is);
	if (!c)
		return 0;
	/* Without the hand-over, the response is known only now, and may have left already: e5 then equals e6. */
	struct tcp_sock *tp = handover ? 0 : bpf_skc_to_tcp_sock(sk);
	if (tp) {
		__u32 end = tp->write_seq;
		__u64 left = c->last_e6;
		bool gone = left && !before(c->left_end, end);
		answer(c, is, end, gone ? left : bpf_ktime_get_ns());
		if (gone)
			transmitted(c, end, left, bpf_ntohs(sk->__sk_common.skc_dport));
	}
	/* It was the only request: whatever comes next must be read first, and starts then. */
	if (c->answered != c->seen)
		c->send_returned = bpf_ktime_get_ns();
	return 0;
}

/* e6: a segment goes to the driver. */
SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(leaving, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct control *is;
	if (!sk || !ours(sk) || !(is = settings()))
		return 0;
	struct connection *c = followed(sk, is);
	if (!c || (handover && c->left == c->answered))
		return 0;
	struct tcp_header tcp;
	unsigned char *at = skb->head + skb->transport_header;
	if (bpf_probe_read_kernel(&tcp, sizeof(tcp), at))
		return 0;
	__u32 payload = skb->len - (__u32)(at - skb->data) - (tcp.length >> 4) * 4;
	if (payload == 0 || payload > 0x7fffffff)
		return 0;
	transmitted(c, bpf_ntohl(tcp.seq) + payload, bpf_ktime_get_ns(), bpf_ntohs(sk->__sk_common.skc_dport));
	return 0;
}

/* A connection closes: settle its open requests. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(closing, struct sock *sk, int from, int to)
{
	/* Its port is already cleared; stored state shows that it was followed. */
	if (to != TCP_CLOSE || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	struct control *is = settings();
	struct connection *c = is ? followed((void *)sk, is) : 0;
	if (!c)
		return 0;
	settle(c, bpf_ntohs(sk->__sk_common.skc_dport));
	lose_open(c, CLOSED);
	return 0;
}
