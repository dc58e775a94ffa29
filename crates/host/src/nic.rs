//! Network interfaces and what they stamp (Documentation/networking/timestamping.rst of the kernel).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use hindmost_sys::interface::{self, Stamping};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;

/// A network interface, and who can stamp its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Nic {
    /// The kernel's name for it.
    pub name: String,
    /// Its driver lets the kernel stamp what leaves; what comes in is always stamped by the kernel.
    pub software: Option<bool>,
    /// The card itself can stamp every packet, both ways.
    pub hardware: Option<bool>,
    /// It is set to do so; `None` where the driver does not tell.
    pub switched_on: Option<bool>,
}

impl Nic {
    /// Asks the kernel about one interface. What it does not tell is `None`.
    pub fn read(name: &str) -> Self {
        let able = Stamping::read(name);
        Self {
            name: name.to_owned(),
            software: able.map(Stamping::software),
            hardware: able.map(Stamping::hardware),
            switched_on: interface::stamps_all_packets(name),
        }
    }

    /// The interface that leads to `address`; `None` where no route does.
    pub fn towards(address: SocketAddr) -> Option<Self> {
        let from = source_towards(address)?;
        // What is sent to an address of one's own never gets as far as the interface that bears it.
        let inside = from == address.ip() || from.is_loopback();
        let name =
            if inside { interface::bearer(IpAddr::from([127, 0, 0, 1])) } else { interface::bearer(from) };
        name.map(|name| Self::read(&name))
    }

    /// All interfaces that are up, other than loopback.
    pub(crate) fn all(tree: &Tree) -> Vec<Self> {
        let up = |name: &String| {
            let word = |file: &str| tree.word(&format!("sys/class/net/{name}/{file}"));
            word("operstate").as_deref() == Some("up") && word("type").as_deref() != Some(LOOPBACK)
        };
        tree.names("sys/class/net").iter().filter(|name| up(name)).map(|name| Self::read(name)).collect()
    }

    /// Whether the card stamps every packet that leaves and that comes in, now.
    pub fn stamps_everything(&self) -> bool {
        self.hardware == Some(true) && self.switched_on == Some(true)
    }
}

/// The address that a packet to `address` would come from: connecting a datagram socket looks up the
/// route and sends nothing.
fn source_towards(address: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr =
        if address.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let connected = || -> io::Result<IpAddr> {
        let socket = UdpSocket::bind(any)?;
        socket.connect((address.ip(), address.port().max(1)))?;
        Ok(socket.local_addr()?.ip())
    };
    connected().ok()
}

/// `ARPHRD_LOOPBACK` (`linux/if_arp.h`).
const LOOPBACK: &str = "772";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn loopback_stamps_in_software_only() {
        let lo = Nic::read("lo");
        assert_eq!((lo.software, lo.hardware), (Some(true), Some(false)), "{lo:?}");
        assert!(!lo.stamps_everything());
        let nobody = Nic::read("no-such-device");
        assert_eq!((nobody.software, nobody.hardware, nobody.switched_on), (None, None, None));
        assert_eq!(Nic::read("a name that is far too long to be one").hardware, None);
    }

    #[test]
    fn the_way_to_oneself_is_loopback() {
        for address in ["127.0.0.1:80", "127.9.9.9:80"] {
            assert_eq!(Nic::towards(address.parse().unwrap()).unwrap().name, "lo", "{address}");
        }
    }

    #[test]
    fn only_interfaces_that_are_up_and_lead_somewhere_are_of_interest() {
        let fake = FakeTree::new(&[
            ("sys/class/net/lo/operstate", "unknown"),
            ("sys/class/net/lo/type", "772"),
            ("sys/class/net/hm-none0/operstate", "up"),
            ("sys/class/net/hm-none0/type", "1"),
            ("sys/class/net/hm-none1/operstate", "down"),
            ("sys/class/net/hm-none1/type", "1"),
        ]);
        let names: Vec<String> = Nic::all(&fake.tree()).into_iter().map(|nic| nic.name).collect();
        assert_eq!(names, ["hm-none0"]);
    }

    #[test]
    fn a_card_has_to_be_able_and_switched_on() {
        for (hardware, switched_on, all) in [
            (Some(true), Some(true), true),
            (Some(true), Some(false), false),
            (Some(true), None, false),
            (Some(false), Some(true), false),
            (None, Some(true), false),
        ] {
            let nic = Nic { hardware, switched_on, ..Nic::default() };
            assert_eq!(nic.stamps_everything(), all, "{nic:?}");
        }
    }
}
