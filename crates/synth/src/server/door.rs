//! The listener, and the halls that it deals clients to in turn.

use std::io::ErrorKind;
use std::sync::mpsc::Sender;
use std::sync::Arc;

use mio::net::{TcpListener, TcpStream};
use mio::Waker;

pub(super) struct Door {
    listener: TcpListener,
    halls: Vec<(Sender<TcpStream>, Arc<Waker>)>,
    next: usize,
    /// Accepting failed for want of descriptors or memory: no event will announce the clients that wait.
    stuck: bool,
}

impl Door {
    pub(super) fn new(listener: TcpListener, halls: Vec<(Sender<TcpStream>, Arc<Waker>)>) -> Self {
        Self { listener, halls, next: 0, stuck: false }
    }

    pub(super) fn listener(&mut self) -> &mut TcpListener {
        &mut self.listener
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Lets in whoever waits.
    pub(super) fn deal(&mut self) {
        self.stuck = false;
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let (sender, waker) = &self.halls[self.next];
                    // A hall that has ended takes its clients with it.
                    if sender.send(stream).is_ok() && self.next != 0 {
                        let _ = waker.wake();
                    }
                    self.next = (self.next + 1) % self.halls.len();
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.stuck = true;
                        return;
                    }
                },
            }
        }
    }
}
