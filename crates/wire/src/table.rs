//! The table of protocols. A new protocol is one entry here and one codec of the same name in
//! `crates/load/src/protocol`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Answer, Ask, Entry, Framing, Meaning, Mix, Shows, Version};

/// Declares [`Protocol`] and [`with_protocol`] from the table. The initial `$` stands for the `$` of the inner
/// macro.
macro_rules! protocols {
    (($d:tt) $( $(#[$doc:meta])* $name:ident = $entry:expr; )+) => {
        /// The protocols that the load engine speaks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Protocol {
            $( $(#[$doc])* $name, )+
        }

        impl Protocol {
            /// All protocols, in the order of the table.
            pub const ALL: &'static [Self] = &[$( Self::$name ),+];

            /// Whether the protocol has requests of the family `mix`.
            pub fn takes(self, mix: Mix) -> bool {
                self.mixes().any(|one| one.name == mix.name)
            }

            /// Iterate over its families of requests, the usual one first.
            pub fn mixes(self) -> impl Iterator<Item = Mix> {
                let more = matches!(self, Self::Redis).then_some(Mix::COMMANDS);
                std::iter::once(self.entry().mix).chain(more)
            }

            /// Whether servers may require a login on each connection.
            pub const fn logs_in(self) -> bool {
                matches!(self, Self::Redis | Self::Postgresql)
            }

            /// Return its entry in the table.
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $( Self::$name => { const ENTRY: Entry = $entry; &ENTRY } )+
                }
            }
        }

        /// Placeholders for codecs.
        #[cfg(test)]
        mod codecs {
            $( pub struct $name; )+
        }

        /// Calls a function with the codec of a protocol, which has the protocol's name in the given module:
        /// `with_protocol!(protocol, crate::protocol, run(plan))` is `run::<crate::protocol::Redis>(plan)` for
        /// Redis.
        #[macro_export]
        macro_rules! with_protocol {
            (
                $d protocol:expr, $d( $d codecs:ident )::+, $d run:ident ( $d( $d argument:expr ),* )
            ) => {
                match $d protocol {
                    $( $crate::Protocol::$name =>
                        $d run::<$d( $d codecs :: )+ $name>($d( $d argument ),*), )+
                }
            };
        }
    };
}

protocols! { ($)
    /// memcached's text protocol.
    Memcached = Entry {
        name: "memcached",
        called: "memcached",
        port: 11211,
        tls_scheme: "memcacheds",
        tls_port: 11211,
        alpn: "",
        tls_request: "",
        mix: Mix::KEY_VALUE,
        framing: Framing::Lines,
        signs: &[r"VERSION ", r"(ERROR|CLIENT_ERROR|SERVER_ERROR)\b"],
        greeting: &[Ask {
            send: "version\r\n",
            answers: &[Answer::serves("VERSION ")],
            versions: &[Version::plain("VERSION (.*)")],
        }],
    };
    /// memcached's meta commands.
    MemcachedMeta = Entry {
        name: "memcached-meta",
        called: "memcached",
        port: 11211,
        tls_scheme: "memcached-metas",
        tls_port: 11211,
        alpn: "",
        tls_request: "",
        mix: Mix::KEY_VALUE,
        framing: Framing::Lines,
        signs: &["MN$"],
        greeting: &[
            Ask {
                send: "mn\r\n",
                answers: &[
                    Answer::serves("MN$"),
                    Answer {
                        pattern: "(ERROR|CLIENT_ERROR.{0,99})",
                        means: Meaning::Refuses {
                            message: "memcached on {address} answers 'mn' with {reply}: it does not support meta commands",
                            hint: "use the text protocol: memcached://{address}",
                        },
                        shows: Some(Shows::Failing),
                    },
                ],
                versions: &[],
            },
            Ask {
                send: "version\r\n",
                answers: &[Answer::serves("VERSION ")],
                versions: &[Version::plain("VERSION (.*)")],
            },
        ],
    };
    /// memcached's binary protocol.
    MemcachedBinary = Entry {
        name: "memcached-binary",
        called: "memcached",
        port: 11211,
        tls_scheme: "memcached-binarys",
        tls_port: 11211,
        alpn: "",
        tls_request: "",
        mix: Mix::KEY_VALUE,
        framing: Framing::MemcachedBinary,
        signs: &[r"\x81[\x00-\x3f]"],
        // The command Version (0x0b), without key, extras or value.
        greeting: &[Ask {
            send: "\u{80}\u{b}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            answers: &[Answer::serves(r"\x81\x0b.{4}\x00\x00")],
            versions: &[Version::plain(r"(?s)\x81\x0b.{22}(.*)")],
        }],
    };
    /// memcached's text protocol over UDP.
    MemcachedUdp = Entry {
        name: "memcached-udp",
        called: "memcached",
        port: 11211,
        tls_scheme: "memcached-udps",
        tls_port: 11211,
        alpn: "",
        tls_request: "",
        mix: Mix::KEY_VALUE,
        framing: Framing::Datagram,
        signs: &[r".{8}(VERSION |(ERROR|CLIENT_ERROR|SERVER_ERROR)\b)"],
        // After a header: request id, number of this datagram, number of datagrams, reserved.
        greeting: &[Ask {
            send: "hm\0\0\0\u{1}\0\0version\r\n",
            answers: &[Answer::serves(r"(?s)hm\x00\x00\x00\x01..VERSION ")],
            versions: &[Version::plain("(?s)VERSION ([^\r\n]*)")],
        }],
    };
    /// DNS over UDP.
    Dns = Entry {
        name: "dns",
        called: "a DNS server",
        port: 53,
        tls_scheme: "dnss",
        tls_port: 853,
        alpn: "",
        tls_request: "",
        mix: Mix::DNS,
        framing: Framing::Datagram,
        signs: &[r"(?s)hm[\x80-\xff]"],
        // version.bind, TXT, of the class CHAOS (RFC 4892), in which servers state their version or refuse
        // to.
        greeting: &[Ask {
            send: "hm\u{1}\0\0\u{1}\0\0\0\0\0\0\u{7}version\u{4}bind\0\0\u{10}\0\u{3}",
            answers: &[Answer::serves(r"(?s)hm[\x80-\xff]")],
            versions: &[Version::plain(r"(?s)\x00\x10\x00\x03.*\x00\x10\x00\x03.{6}.([\x20-\x7e]+)")],
        }],
    };
    /// Redis, RESP2.
    Redis = Entry {
        name: "redis",
        called: "redis",
        port: 6379,
        tls_scheme: "rediss",
        tls_port: 6379,
        alpn: "",
        tls_request: "",
        mix: Mix::KEY_VALUE,
        framing: Framing::LengthPrefixed,
        signs: &[r"[-+](ERR|PONG|NOAUTH|DENIED|LOADING|NOPERM|OK)"],
        greeting: &[
            Ask {
                send: "*1\r\n$4\r\nPING\r\n",
                answers: &[
                    Answer::serves(r"\+PONG$"),
                    Answer {
                        pattern: "-((?:NOAUTH|DENIED|NOPERM).{0,112})",
                        means: Meaning::Refuses {
                            message: "redis on {address} refuses to serve: {reply}",
                            hint: "--password env:VARIABLE logs in; add --user NAME if it has users",
                        },
                        shows: None,
                    },
                    Answer {
                        pattern: "-((?:LOADING|BUSY|MASTERDOWN).{0,112})",
                        means: Meaning::NotReady {
                            message: "redis on {address} is not ready: {reply}",
                            hint: "",
                        },
                        shows: Some(Shows::Failing),
                    },
                ],
                versions: &[],
            },
            Ask {
                send: "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n",
                // If INFO is not allowed, the version stays unknown.
                answers: &[Answer::serves("")],
                versions: &[
                    Version { pattern: r"(?m)^valkey_version:([^\r\n]*)", written: "valkey {}" },
                    Version::plain(r"(?m)^redis_version:([^\r\n]*)"),
                ],
            },
        ],
    };
    /// HTTP/1.1 with keep-alive.
    Http = Entry {
        name: "http",
        called: "an HTTP server",
        port: 80,
        tls_scheme: "https",
        tls_port: 443,
        alpn: "http/1.1",
        tls_request: "",
        mix: Mix::HTTP,
        framing: Framing::Headers,
        signs: &[r"HTTP/\d", r"\s*<(!doctype|html)"],
        greeting: &[Ask {
            send: "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: hindmost\r\nConnection: close\r\n\r\n",
            answers: &[
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? [5-9]\d\d\b.{0,67})",
                    means: Meaning::NotReady {
                        message: "{scheme}://{address}{path} answered '{reply}': it does not serve requests",
                        hint: "see its log",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? (?:404|410)\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "{scheme}://{address}{path} answered '{reply}': every request would be a miss",
                        hint: "use a page that exists: {scheme}://{address}/PATH",
                    },
                    shows: Some(Shows::Missing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? 405\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "{scheme}://{address}{path} answered '{reply}': every request would be an error",
                        hint: "use a method that it accepts: --method POST --body FILE, or a workload file",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? 3\d\d\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "{scheme}://{address}{path} answered '{reply}': every request would be an error",
                        hint: "request {location}, or count the redirection as a success: --accept 2xx,3xx",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? 4\d\d\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "{scheme}://{address}{path} answered '{reply}': every request would be an error",
                        hint: "use a page that may be read: {scheme}://{address}/PATH",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer::serves(r"HTTP/\d(?:\.\d)? \d{3}\b"),
            ],
            versions: &[
                Version::plain(r"(?m)^server:[ \t]*([^\r\n]+)"),
                Version::plain(r"(HTTP/\d(?:\.\d)?)"),
            ],
        }],
    };
    /// HTTP/2 with prior knowledge (without negotiation).
    Http2 = Entry {
        name: "http2",
        called: "an HTTP server",
        port: 80,
        tls_scheme: "https2",
        tls_port: 443,
        alpn: "h2",
        tls_request: "",
        mix: Mix::HTTP,
        framing: Framing::Http2,
        // SETTINGS, the first frame of a server.
        signs: &[r"\x00\x00.\x04\x00"],
        greeting: &[Ask {
            send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0",
            answers: &[Answer::serves(r"\x00\x00.\x04\x00\x00\x00\x00\x00")],
            versions: &[Version { pattern: r"(?s)^\x00\x00.(\x04)", written: "HTTP/2" }],
        }],
    };
    /// Unary gRPC calls over HTTP/2 with prior knowledge.
    Grpc = Entry {
        name: "grpc",
        called: "a gRPC server",
        port: 50051,
        tls_scheme: "grpcs",
        tls_port: 443,
        alpn: "h2",
        tls_request: "",
        mix: Mix::HTTP,
        framing: Framing::Http2,
        // SETTINGS, the first frame of a server.
        signs: &[r"\x00\x00.\x04\x00"],
        greeting: &[Ask {
            send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0",
            answers: &[Answer::serves(r"\x00\x00.\x04\x00\x00\x00\x00\x00")],
            versions: &[Version { pattern: r"(?s)^\x00\x00.(\x04)", written: "HTTP/2" }],
        }],
    };
    /// PostgreSQL's protocol 3.0.
    Postgresql = Entry {
        name: "postgresql",
        called: "PostgreSQL",
        port: 5432,
        tls_scheme: "postgresqls",
        tls_port: 5432,
        alpn: "postgresql",
        // SSLRequest: its length, and 80877103 in place of a version (PostgreSQL manual, 55.7).
        tls_request: "\0\0\0\u{8}\u{4}\u{d2}\u{16}/",
        mix: Mix::SQL,
        framing: Framing::Opening,
        signs: &[r"[EN]\x00\x00[\x00-\x0f].[A-Z]"],
        greeting: &[Ask {
            send: "",
            answers: &[
                Answer {
                    pattern: "(FATAL 57P03: .{0,112})",
                    means: Meaning::NotReady {
                        message: "PostgreSQL on {address} is not ready: {reply}",
                        hint: "see its log",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: "(it asks for .{0,150})",
                    means: Meaning::Refuses {
                        message: "PostgreSQL on {address} refuses the login: {reply}",
                        hint: "--user NAME --password env:VARIABLE",
                    },
                    shows: None,
                },
                Answer {
                    pattern: "((?:FATAL|ERROR|PANIC|authentication) .{0,150})",
                    means: Meaning::Refuses {
                        message: "PostgreSQL on {address} refuses to serve: {reply}",
                        hint: "set --user, --password env:VARIABLE and --database",
                    },
                    shows: None,
                },
                Answer::serves("R"),
            ],
            versions: &[Version { pattern: r"server_version\x00([^\x00]*)\x00", written: "PostgreSQL {}" }],
        }],
    };
    /// WebSocket over HTTP/1.1.
    Ws = Entry {
        name: "ws",
        called: "a WebSocket server",
        port: 80,
        tls_scheme: "wss",
        tls_port: 443,
        alpn: "http/1.1",
        tls_request: "",
        mix: Mix::MESSAGES,
        framing: Framing::Opening,
        signs: &[r"HTTP/1\.1 101"],
        greeting: &[Ask {
            send: "",
            answers: &[
                Answer::serves(r"HTTP/1\.1 101"),
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? [5-9]\d\d\b.{0,67})",
                    means: Meaning::NotReady {
                        message: "ws://{address}{path} answered '{reply}': it does not serve requests",
                        hint: "see its log",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? 40[13]\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "ws://{address}{path} answered '{reply}': it requires authentication",
                        hint: "--header 'Authorization: Bearer env:TOKEN'",
                    },
                    shows: Some(Shows::Failing),
                },
                Answer {
                    pattern: r"(HTTP/\d(?:\.\d)? \d{3}\b.{0,67})",
                    means: Meaning::Refuses {
                        message: "ws://{address}{path} answered '{reply}', and not 101 (Switching Protocols): there is no \
                                  WebSocket",
                        hint: "use the path of one: ws://{address}/PATH",
                    },
                    shows: Some(Shows::Failing),
                },
            ],
            versions: &[Version::plain(r"(?m)^server:[ \t]*([^\r\n]+)")],
        }],
    };
    /// Bytes of any protocol, given by the workload.
    Raw = Entry {
        name: "raw",
        called: "a server",
        port: 0,
        tls_scheme: "raws",
        tls_port: 0,
        alpn: "",
        tls_request: "",
        mix: Mix::RAW,
        framing: Framing::Lines,
        signs: &[],
        greeting: &[],
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_the_serialised_name_of_its_protocol() {
        for protocol in Protocol::ALL {
            let entry = protocol.entry();
            assert_eq!(serde_json::to_string(protocol).unwrap(), format!("{:?}", entry.name));
        }
    }

    #[test]
    fn names_and_schemes_are_unique_and_ports_differ_between_servers() {
        for (i, one) in Protocol::ALL.iter().map(|one| one.entry()).enumerate() {
            for other in Protocol::ALL[i + 1..].iter().map(|one| one.entry()) {
                assert_ne!(one.name, other.name);
                // A WebSocket connection begins as HTTP and shares its port.
                let begins = |of: &Entry| if of.name == "ws" { "an HTTP server" } else { of.called };
                let alike = begins(one) == begins(other);
                assert_eq!(one.port == other.port, alike, "{} {}", one.name, other.name);
                assert_ne!(one.tls_scheme, other.tls_scheme);
            }
        }
    }

    #[test]
    fn every_greeting_ends_with_the_version() {
        for entry in Protocol::ALL.iter().map(|one| one.entry()) {
            // The answers of an arbitrary protocol are unknown.
            let greets = entry.greeting.last().is_some_and(|ask| !ask.versions.is_empty());
            assert_eq!(greets, entry.mix.name != "raw", "{}", entry.name);
            assert_eq!(!entry.signs.is_empty(), greets, "{}", entry.name);
        }
    }

    fn type_name<C>() -> &'static str {
        std::any::type_name::<C>().rsplit("::").next().unwrap()
    }

    #[test]
    fn with_protocol_selects_the_codec_of_the_protocol() {
        for &protocol in Protocol::ALL {
            let codec = with_protocol!(protocol, codecs, type_name());
            assert_eq!(codec, format!("{protocol:?}"));
        }
    }
}
