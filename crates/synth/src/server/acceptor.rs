//! The listener: it distributes new connections to the queues, round robin.

use std::io::ErrorKind;
use std::sync::mpsc::Sender;
use std::sync::Arc;

use mio::net::{TcpListener, TcpStream};
use mio::Waker;

/// Channel and waker of the sockets of one queue.
pub(super) type Recipient = (Sender<TcpStream>, Arc<Waker>);

pub(super) struct Acceptor {
    listener: TcpListener,
    recipients: Vec<Recipient>,
    next: usize,
    /// Whether accepting failed for lack of descriptors or memory: no event will announce the waiting clients.
    exhausted: bool,
}

impl Acceptor {
    pub(super) fn new(listener: TcpListener, recipients: Vec<Recipient>) -> Self {
        Self { listener, recipients, next: 0, exhausted: false }
    }

    pub(super) fn listener(&mut self) -> &mut TcpListener {
        &mut self.listener
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Accept all waiting clients.
    pub(super) fn accept_all(&mut self) {
        self.exhausted = false;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let (sender, waker) = &self.recipients[self.next];
                    // If the thread has ended, its clients are dropped.
                    if sender.send(stream).is_ok() && self.next != 0 {
                        let _ = waker.wake();
                    }
                    self.next = (self.next + 1) % self.recipients.len();
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.exhausted = true;
                        return;
                    }
                },
            }
        }
    }
}
