//! Network interfaces and their time stamps (Documentation/networking/timestamping.rst of the kernel).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use hindmost_sys::interface::{self, Stamping};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;

/// A network interface and its ability to stamp packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Nic {
    /// Name of the interface in the kernel.
    pub name: String,
    /// Whether the driver lets the kernel stamp outgoing packets; the kernel always stamps incoming ones.
    pub software: Option<bool>,
    /// Whether the card can stamp every packet, in both directions.
    pub hardware: Option<bool>,
    /// Whether the card is set to do so; `None` if the driver does not say.
    pub switched_on: Option<bool>,
}

impl Nic {
    /// Query the kernel about one interface. Unknown properties are `None`.
    pub fn read(name: &str) -> Self {
        let able = Stamping::read(name);
        Self {
            name: name.to_owned(),
            software: able.map(Stamping::software),
            hardware: able.map(Stamping::hardware),
            switched_on: interface::stamps_all_packets(name),
        }
    }

    /// Return the interface that leads to `address`; `None` if there is no route.
    pub fn towards(address: SocketAddr) -> Option<Self> {
        let from = source_towards(address)?;
        // Packets to one of our own addresses never reach the interface that has the address.
        let inside = from == address.ip() || from.is_loopback();
        let name =
            if inside { interface::name_of(IpAddr::from([127, 0, 0, 1])) } else { interface::name_of(from) };
        name.map(|name| Self::read(&name))
    }

    /// Return all interfaces that are up, except loopback.
    pub(crate) fn all(tree: &Tree) -> Vec<Self> {
        let up = |name: &String| {
            let word = |file: &str| tree.non_empty_text(&format!("sys/class/net/{name}/{file}"));
            word("operstate").as_deref() == Some("up") && word("type").as_deref() != Some(LOOPBACK)
        };
        tree.names("sys/class/net").iter().filter(|name| up(name)).map(|name| Self::read(name)).collect()
    }

    /// Whether the card is set to stamp every incoming and outgoing packet.
    pub fn stamps_everything(&self) -> bool {
        self.hardware == Some(true) && self.switched_on == Some(true)
    }
}

/// Return the source address of packets to `address`. Connecting a datagram socket looks up the route and sends
/// nothing.
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
        let absent = Nic::read("no-such-device");
        assert_eq!((absent.software, absent.hardware, absent.switched_on), (None, None, None));
        assert_eq!(Nic::read("a name that is far too long to be one").hardware, None);
    }

    #[test]
    fn the_route_to_ones_own_address_is_loopback() {
        for address in ["127.0.0.1:80", "127.9.9.9:80"] {
            assert_eq!(Nic::towards(address.parse().unwrap()).unwrap().name, "lo", "{address}");
        }
    }

    #[test]
    fn only_interfaces_that_are_up_are_listed_without_loopback() {
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
    fn a_card_must_be_able_to_stamp_and_switched_on() {
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
