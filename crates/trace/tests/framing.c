/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The probes' parser as an ordinary program. Usage: framing PROTOCOL [OFFSET WIDTH LITTLE MORE]. Standard input: reads,
 * each a native 32-bit length and its bytes. Standard output: one line per request with its end position and kind, and
 * "silent" if it gets no reply; "lost" at the end if the bytes were not a request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
#include "../bpf/framing.h"

int main(int count, char **words)
{
	struct framing framing = {0};
	struct framing_length of = {0};
	__u32 protocol = atoi(words[1]), length;
	__u64 position = 0;
	if (count == 6)
		of = (struct framing_length){atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5])};
	while (fread(&length, sizeof(length), 1, stdin) == 1) {
		__u8 *bytes = calloc(length + 8, 1);
		if (fread(bytes, 1, length, stdin) != length)
			return 1;
		for (__u32 at = 0; at < length;) {
			int said;
			at += frame_step(&framing, bytes + at, length - at, length - at, protocol, &of, &said);
			if (said == FRAME_LOST) {
				puts("lost");
				return 0;
			}
			if (said != FRAME_MORE)
				printf("%llu %u%s\n", position + at, framing.kind, said == FRAME_SILENT ? " silent" : "");
		}
		position += length;
		free(bytes);
	}
	return 0;
}
