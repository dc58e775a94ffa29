use thiserror::Error;

/// The reason why a capture cannot be read.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is not a pcap file.
    #[error("not a pcap file: it starts with {0:#010x} instead of one of the four magic numbers")]
    NotPcap(u32),
    /// The file is shorter than its header.
    #[error("not a pcap file: {0} bytes, but the header has 24")]
    TooShort(u64),
    /// The link type is not supported.
    #[error("link type {0} is not supported (supported: Ethernet, Linux cooked, raw IP, loopback)")]
    LinkType(u32),
    /// A record is longer than the format allows.
    #[error("damaged at byte {at}: a packet of {length} bytes; the limit is {limit}")]
    Damaged {
        /// Offset in the file.
        at: u64,
        /// Length that the record claims, in bytes.
        length: u32,
        /// Largest valid length, in bytes.
        limit: u32,
    },
}
