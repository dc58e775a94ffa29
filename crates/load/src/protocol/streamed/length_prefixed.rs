//! Messages of a gRPC reply: each is preceded by a compression flag and its length (grpc.io, PROTOCOL-HTTP2).

/// Length of the flag and the length.
const PREFIX: u8 = 5;

/// Position in the messages of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthPrefixed {
    /// Number of received bytes of the current prefix.
    prefix: u8,
    /// All flags so far.
    flags: u8,
    /// The bytes of the length so far; after the prefix, the number of missing bytes.
    left: u32,
}

impl LengthPrefixed {
    /// Return how many messages `bytes` complete.
    pub fn count(&mut self, mut bytes: &[u8]) -> u32 {
        let mut messages = 0;
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.prefix < PREFIX {
                self.take_prefix(byte);
                bytes = rest;
            } else {
                let here = bytes.len().min(self.left as usize);
                self.left -= here as u32;
                bytes = &bytes[here..];
            }
            if self.prefix == PREFIX && self.left == 0 {
                self.prefix = 0;
                messages += 1;
            }
        }
        messages
    }

    fn take_prefix(&mut self, byte: u8) {
        if self.prefix == 0 {
            self.flags |= byte;
        } else {
            self.left = self.left << 8 | u32::from(byte);
        }
        self.prefix += 1;
    }

    /// Whether all messages so far are complete. They may be compressed only if the client accepts that.
    pub fn is_whole(self, may_be_compressed: bool) -> bool {
        self.prefix == 0 && self.flags <= may_be_compressed.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(flag: u8, bytes: &[u8]) -> Vec<u8> {
        [&[flag][..], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
    }

    #[test]
    fn only_complete_messages_with_permitted_flags_are_whole() {
        for (bytes, messages, plain, compressed) in [
            (vec![], 0, true, true),
            (message(0, b""), 1, true, true),
            ([message(0, b"abc"), message(0, b"")].concat(), 2, true, true),
            (message(0, b"abc")[..7].to_vec(), 0, false, false),
            (message(0, b"abc")[..4].to_vec(), 0, false, false),
            ([message(0, b"abc"), message(1, b"d")].concat(), 2, false, true),
            (message(2, b"abc"), 1, false, false),
        ] {
            let mut found = LengthPrefixed::default();
            assert_eq!(found.count(&bytes), messages, "{bytes:?}");
            assert_eq!((found.is_whole(false), found.is_whole(true)), (plain, compressed), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_how_a_reply_is_split(
            lengths in prop::collection::vec(0..700_usize, 0..8),
            cut in 1..9_usize,
            missing in 0..3_usize,
        ) {
            let all: Vec<u8> = lengths.iter().flat_map(|&length| message(0, &vec![7; length])).collect();
            let sent = &all[..all.len().saturating_sub(missing)];
            let (mut whole, mut pieces) = (LengthPrefixed::default(), LengthPrefixed::default());
            let expected = lengths.len() - usize::from(missing > 0 && !lengths.is_empty());
            prop_assert_eq!(whole.count(sent) as usize, expected);
            let counted: u32 = sent.chunks(cut).map(|piece| pieces.count(piece)).sum();
            prop_assert_eq!((counted as usize, pieces), (expected, whole));
        }
    }
}
