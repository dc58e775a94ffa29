/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Fields of kernel structures; their offsets are adjusted to the running kernel at load time (CO-RE). */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef unsigned long size_t;

enum { false, true };
typedef _Bool bool;

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1, BPF_RB_NO_WAKEUP = 1, BPF_F_USER_STACK = 256 };
enum { IPPROTO_TCP = 6, IPPROTO_UDP = 17, TCP_CLOSE = 7, TCP_LISTEN = 10, RCV_SHUTDOWN = 1, MSG_PEEK = 2 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
	unsigned char skc_state;
};

struct sk_buff {
	__u64 tstamp;
	__u8 tstamp_type : 2;
	unsigned int len, data_len, end;
	unsigned char *head;
	unsigned char *data;
	__u16 transport_header;
	struct sock *sk;
};

struct skb_shared_info {
	__u8 nr_frags;
};

struct sk_buff_head {
	struct sk_buff *prev;
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol;
	__u8 sk_shutdown;
};

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 write_seq;
	__u64 bytes_received;
};

struct iov_iter {
	size_t count;
};

struct msghdr {
	struct iov_iter msg_iter;
};

struct pt_regs {
	unsigned long si;
	unsigned long orig_ax;
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, on_rq, on_cpu;
	unsigned int __state;
	unsigned int flags;
	char comm[16];
};

struct irqaction {
	const char *name;
};

#pragma clang attribute pop

/* Structures from user space, with the same layout on every 64-bit machine. */
struct iovec_read {
	void *base;
	size_t length;
};

struct tcp_header {
	__be16 source, dest;
	__be32 seq, ack_seq;
	__u8 length, flags;
};
