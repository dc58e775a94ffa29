/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* memcached's text protocol (doc/protocol.txt): a line; storage commands are followed by a block of the given length. */
#pragma once

/* Whether a line ends like "noreply". */
static inline __attribute__((always_inline)) int memcached_silent(const struct framing *f)
{
	const __u64 tail = (__u64)VERB('e', 'p', 'l', 'y') << 16 | '\r' << 8 | '\n';
	return (f->last & 0xffffffffffffull) == tail;
}

static inline __attribute__((always_inline)) int memcached_line(struct framing *f)
{
	__u8 silent = memcached_silent(f);
	if (f->wanted)
		return frame_block(f, f->number + 2, 1 + silent);
	frame_ends(f);
	return silent ? FRAME_SILENT : FRAME_END;
}

static inline __attribute__((always_inline)) int memcached_verb(struct framing *f)
{
	__u32 verb = f->last;
	f->mode = MODE_FIELDS;
	f->kind = KIND_OTHER;
	f->field = (verb & 0xff) == ' ';
	switch (verb) {
	case VERB('g', 'e', 't', ' '):
	case VERB('g', 'e', 't', 's'):
	case VERB('g', 'a', 't', ' '):
	case VERB('g', 'a', 't', 's'):
		f->kind = KIND_READ;
		f->mode = MODE_LINE;
		return FRAME_MORE;
	case VERB('s', 'e', 't', ' '):
	case VERB('a', 'd', 'd', ' '):
	case VERB('r', 'e', 'p', 'l'):
	case VERB('a', 'p', 'p', 'e'):
	case VERB('p', 'r', 'e', 'p'):
	case VERB('c', 'a', 's', ' '):
		f->kind = KIND_WRITE;
		f->wanted = 4;
		return FRAME_MORE;
	case VERB('d', 'e', 'l', 'e'):
		f->kind = KIND_DELETE;
		return FRAME_MORE;
	}
	if (verb >> 8 == ('m' << 16 | 's' << 8 | ' ')) {
		f->kind = KIND_WRITE;
		f->wanted = 2;
		f->field = 1;
		return FRAME_MORE;
	}
	if (verb >> 8 == ('m' << 16 | 'g' << 8 | ' ')) {
		f->kind = KIND_READ;
		f->mode = MODE_LINE;
		return FRAME_MORE;
	}
	return FRAME_MORE;
}

static inline __attribute__((always_inline)) int memcached_byte(struct framing *f, __u8 c)
{
	if (f->count == 1) {
		f->kind = KIND_OTHER;
		/* Commands start with a letter: any other byte cannot start a request. */
		if ((__u32)c - 'a' >= 26 && c != '\r' && c != '\n')
			return FRAME_LOST;
	}
	if (c == '\n')
		return memcached_line(f);
	if (f->mode == MODE_START)
		return f->count < 4 ? FRAME_MORE : memcached_verb(f);
	if (f->mode == MODE_FIELDS) {
		if (c == ' ')
			f->field++;
		else if (f->wanted && f->field == f->wanted)
			frame_number(f, c);
	}
	return FRAME_MORE;
}
