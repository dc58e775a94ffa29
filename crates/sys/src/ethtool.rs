//! Reads and changes settings of network interfaces (`linux/ethtool.h`): interrupt coalescing and offloads.

use std::io;

use crate::interface::{request, SIOCETHTOOL};

/// `ETHTOOL_GCOALESCE`, `ETHTOOL_SCOALESCE`.
const COALESCE: (u32, u32) = (0x0e, 0x0f);
/// `ETHTOOL_GFLAGS`, `ETHTOOL_SFLAGS`.
const FLAGS: (u32, u32) = (0x25, 0x26);
/// `ETH_FLAG_LRO`.
const LRO: u32 = 1 << 15;

/// `struct ethtool_coalesce` as numbers: the command and 22 fields.
const FIELDS: usize = 23;

/// Where a setting is stored.
enum Place {
    /// A field of `struct ethtool_coalesce`.
    Coalesce(usize),
    /// A switch with its own pair of commands.
    Switch(u32, u32),
    /// A bit of the interface's flags.
    Flag(u32),
}

fn place(setting: &str) -> Option<Place> {
    Some(match setting {
        "rx-usecs" => Place::Coalesce(1),
        "rx-frames" => Place::Coalesce(2),
        "tx-usecs" => Place::Coalesce(5),
        "tx-frames" => Place::Coalesce(6),
        "adaptive-rx" => Place::Coalesce(10),
        "adaptive-tx" => Place::Coalesce(11),
        "rx-checksum" => Place::Switch(0x14, 0x15),
        "tx-checksum" => Place::Switch(0x16, 0x17),
        "tso" => Place::Switch(0x1e, 0x1f),
        "gso" => Place::Switch(0x23, 0x24),
        "gro" => Place::Switch(0x2b, 0x2c),
        "lro" => Place::Flag(LRO),
        _ => return None,
    })
}

/// Return the value of a setting; `None` if the interface does not have it.
pub fn read(interface: &str, setting: &str) -> Option<u32> {
    match place(setting)? {
        Place::Coalesce(field) => coalescing(interface).ok().map(|all| all[field]),
        Place::Switch(get, _) => value(interface, get, 0).ok(),
        Place::Flag(bit) => value(interface, FLAGS.0, 0).ok().map(|flags| u32::from(flags & bit != 0)),
    }
}

/// Change a setting. The driver may choose another value or ignore it: read it back.
pub fn write(interface: &str, setting: &str, wanted: u32) -> io::Result<()> {
    match place(setting).ok_or(io::ErrorKind::NotFound)? {
        Place::Coalesce(field) => {
            let mut all = coalescing(interface)?;
            all[0] = COALESCE.1;
            all[field] = wanted;
            request(interface, SIOCETHTOOL, &mut all)
        }
        Place::Switch(_, set) => value(interface, set, wanted).map(drop),
        Place::Flag(bit) => {
            let flags = value(interface, FLAGS.0, 0)?;
            let flags = if wanted == 0 { flags & !bit } else { flags | bit };
            value(interface, FLAGS.1, flags).map(drop)
        }
    }
}

fn coalescing(interface: &str) -> io::Result<[u32; FIELDS]> {
    let mut all = [0; FIELDS];
    all[0] = COALESCE.0;
    request(interface, SIOCETHTOOL, &mut all)?;
    Ok(all)
}

/// `struct ethtool_value`: a command, and a number in or out.
fn value(interface: &str, command: u32, data: u32) -> io::Result<u32> {
    let mut both = [command, data];
    request(interface, SIOCETHTOOL, &mut both)?;
    Ok(both[1])
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the interface does not exist")]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_offloads_and_no_interrupts_to_coalesce() {
        assert!(matches!(read("lo", "gro"), Some(0 | 1)));
        assert_eq!(read("lo", "rx-usecs"), None);
        assert_eq!(read("lo", "colour"), None);
        assert_eq!(read("a-name-too-long-for-the-kernel", "gro"), None);
        assert!(write("no-such-one", "gro", 1).is_err());
    }
}
