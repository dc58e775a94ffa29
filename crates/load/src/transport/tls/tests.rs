//! TLS to rustls's own server, over a fake kernel that transfers a few bytes at a time.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use hindmost_clock::Nanos;
use hindmost_plan::Protocol;
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use serde_json::json;

use super::{Credentials, Tls, TlsProblem};
use crate::transport::{Ready, Transport};

/// The fake kernel and the server behind it. Every other write finds a full socket.
struct Narrow {
    server: ServerConnection,
    /// Most bytes per write, and per read.
    takes: usize,
    gives: usize,
    full: bool,
    resets: bool,
    sent: VecDeque<u8>,
    /// Bytes that the server received.
    heard: Vec<u8>,
}

impl Narrow {
    fn new(takes: usize, gives: usize) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.send_half_rtt_data = true;
        let server = ServerConnection::new(Arc::new(config)).unwrap();
        Self { server, takes, gives, full: false, resets: false, sent: VecDeque::new(), heard: Vec::new() }
    }

    /// Send data from the server, possibly directly after its part of the handshake.
    fn say(&mut self, words: &[u8]) {
        self.server.writer().write_all(words).unwrap();
    }
}

impl Transport for Narrow {
    fn connect(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn finish_connect(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn local_port(&self, _: u32) -> u16 {
        0
    }

    fn write(&mut self, _: u32, bytes: &[u8]) -> io::Result<usize> {
        if self.resets {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.full = !self.full;
        if self.full {
            return Err(ErrorKind::WouldBlock.into());
        }
        let n = bytes.len().min(self.takes);
        let mut left = &bytes[..n];
        while !left.is_empty() {
            self.server.read_tls(&mut left)?;
            self.server.process_new_packets().map_err(io::Error::other)?;
            let mut plain = vec![0; 20_000];
            while let Ok(n @ 1..) = self.server.reader().read(&mut plain) {
                self.heard.extend_from_slice(&plain[..n]);
            }
        }
        Ok(n)
    }

    fn read(&mut self, _: u32, into: &mut [u8]) -> io::Result<usize> {
        if self.resets {
            return Err(ErrorKind::ConnectionReset.into());
        }
        while self.server.wants_write() {
            self.server.write_tls(&mut self.sent)?;
        }
        let most = into.len().min(self.gives);
        match self.sent.read(&mut into[..most])? {
            0 => Err(ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    fn watch_writes(&mut self, _: u32, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn close(&mut self, _: u32) {}

    fn wait(&mut self, _: Nanos, _: bool, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        Ok(())
    }
}

fn is_blocked<T>(result: &io::Result<T>) -> bool {
    result.as_ref().is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

/// Return a connection after its TLS handshake.
fn connect_tls(narrow: Narrow) -> Tls<Narrow> {
    let tls = serde_json::from_value(json!({"verify": false})).unwrap();
    let credentials = Credentials::load(&tls, "localhost:1", Protocol::Memcached).unwrap();
    let mut tls = Tls::new(narrow, &[credentials], 1);
    tls.connect(0).unwrap();
    for _ in 0..100_000 {
        match tls.finish_connect(0) {
            Ok(()) => return tls,
            other => assert!(is_blocked(&other), "{other:?}"),
        }
    }
    panic!("the handshake does not end");
}

fn ready(tls: &mut Tls<Narrow>) -> bool {
    let mut ready = Vec::new();
    tls.wait(Nanos::ZERO, true, &mut ready).unwrap();
    ready.iter().any(|one| one.readable)
}

#[test]
fn written_bytes_arrive_once_however_few_the_kernel_accepts() {
    for takes in [700, 5_000, 70_000] {
        let mut tls = connect_tls(Narrow::new(takes, 9_000));
        let request: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
        for part in [&request[..1], &request[1..]] {
            let (mut at, mut tries) = (0, 0);
            while at < part.len() {
                tries += 1;
                assert!(tries < 100_000, "{at} of {} are taken", part.len());
                let taken = tls.write(0, &part[at..]);
                assert!(taken.is_ok() || is_blocked(&taken), "{taken:?}");
                at += taken.unwrap_or(0);
            }
        }
        assert!(tls.inner.heard == request, "{takes}: {} bytes", tls.inner.heard.len());
    }
}

#[test]
fn data_after_the_handshake_is_reported_until_it_is_read() {
    let words = b"a greeting";
    let mut narrow = Narrow::new(usize::MAX, usize::MAX);
    narrow.say(words);
    let mut tls = connect_tls(narrow);
    let mut read = Vec::new();
    while read.len() < words.len() {
        assert!(ready(&mut tls), "{read:?}: the session still has data");
        let mut some = [0; 3];
        let n = tls.read(0, &mut some).unwrap();
        read.extend_from_slice(&some[..n]);
    }
    assert_eq!((&read[..], ready(&mut tls)), (&words[..], false));
}

#[test]
fn a_closed_connection_reports_no_old_data() {
    let mut narrow = Narrow::new(usize::MAX, usize::MAX);
    narrow.say(b"a greeting");
    let mut tls = connect_tls(narrow);
    tls.close(0);
    assert!(!ready(&mut tls));
}

#[test]
fn a_close_notify_ends_the_stream() {
    // In pieces, and at once, with the close right after the last data.
    for gives in [100, usize::MAX] {
        let mut tls = connect_tls(Narrow::new(usize::MAX, gives));
        tls.inner.say(&[b'x'; 1_000]);
        tls.inner.server.send_close_notify();
        let (mut read, mut bytes) = (0, vec![0; 20_000]);
        loop {
            match tls.read(0, &mut bytes) {
                Ok(0) => break,
                Ok(n) => {
                    read += n;
                    assert!(gives == 100 || ready(&mut tls), "the end is still to be read");
                }
                other => {
                    assert!(is_blocked(&other) && gives == 100 && read < 1_000, "{read} of 1000: {other:?}");
                }
            }
        }
        assert_eq!(read, 1_000);
    }
}

#[test]
fn a_reset_before_the_servers_first_message_is_a_refusal() {
    for heard in [false, true] {
        let mut tls = connect_tls(Narrow::new(usize::MAX, usize::MAX));
        let mut bytes = [0; 100];
        if heard {
            tls.inner.say(b"word");
            while is_blocked(&tls.read(0, &mut bytes)) {}
        }
        tls.inner.resets = true;
        for error in [tls.read(0, &mut bytes).unwrap_err(), tls.write(0, b"get").unwrap_err()] {
            let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsProblem>());
            assert_eq!(refusal.map(TlsProblem::code), (!heard).then_some("tls-refused"), "{error}");
        }
    }
}
