use thiserror::Error;

/// Why a capture cannot be read.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// No capture file at all.
    #[error("no pcap file: it starts with {0:#010x}, not with one of the four magic numbers")]
    NotPcap(u32),
    /// Too short even for its header.
    #[error("no pcap file: {0} bytes are less than its header of 24")]
    TooShort(u64),
    /// Packets of a kind that we cannot take apart.
    #[error("link type {0} is not known here (Ethernet, Linux cooked, raw IP, loopback are)")]
    LinkType(u32),
    /// A record that no tool writes.
    #[error("damaged at byte {at}: a packet of {length} bytes, where {limit} is the most there can be")]
    Damaged {
        /// Where in the file.
        at: u64,
        /// Length that the record claims.
        length: u32,
        /// The limit.
        limit: u32,
    },
}
