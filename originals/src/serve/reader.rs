//! The thread that accepts connections, reads requests, and queues them.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};

use super::connection::Connection;
use super::http::{self, Request};
use super::queue::{Queue, Waiting};
use crate::clock::wall_ns;
use crate::program::Fault;

const LISTENER: Token = Token(0);
const END: Token = Token(1);
const FIRST_CLIENT: usize = 2;
const READ_BYTES: usize = 64 << 10;

/// Reads the requests of all clients.
pub struct Reader {
    poll: Poll,
    listener: TcpListener,
    clients: HashMap<Token, Client>,
    tokens: usize,
    ending: Arc<Ending>,
    /// Number of requests that have arrived.
    arrived: usize,
    /// Number of requests without an explicit number: the next request of the mix gets this one.
    drawn: u64,
}

struct Client {
    connection: Arc<Connection>,
    unread: Vec<u8>,
    turns: u64,
    /// Whether reading from it has ended.
    done: bool,
}

/// Stops the reader from another thread.
pub struct Ending {
    asked: AtomicBool,
    waker: Waker,
}

impl Ending {
    pub fn ask(&self) {
        self.asked.store(true, Relaxed);
        // This fails only if the reader has ended.
        let _ = self.waker.wake();
    }
}

impl Reader {
    /// Bind and listen.
    pub fn listen(address: SocketAddr) -> Result<Self, Fault> {
        let mut listener =
            TcpListener::bind(address).map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), END)?;
        let ending = Arc::new(Ending { asked: AtomicBool::new(false), waker });
        Ok(Self {
            poll,
            listener,
            clients: HashMap::new(),
            tokens: FIRST_CLIENT,
            ending,
            arrived: 0,
            drawn: 0,
        })
    }

    /// Return its address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Return a handle that stops it from another thread.
    pub fn ending(&self) -> Arc<Ending> {
        self.ending.clone()
    }

    /// Read until it is stopped.
    pub fn run(&mut self, queue: &Queue) -> Result<(), Fault> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; READ_BYTES];
        while !self.ending.asked.load(Relaxed) {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    END => return Ok(()),
                    token => self.read(token, &mut buffer, queue),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), Fault> {
        loop {
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    stream.set_nodelay(true)?;
                    let token = Token(self.tokens);
                    self.tokens += 1;
                    self.poll.registry().register(&mut stream, token, Interest::READABLE)?;
                    let connection = Arc::new(Connection::new(stream));
                    let client = Client { connection, unread: Vec::new(), turns: 0, done: false };
                    self.clients.insert(token, client);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) => return Err(format!("cannot accept a connection: {error}").into()),
            }
        }
    }

    /// Read everything that a client has sent; forget a client whose stream has ended. Its pending replies keep
    /// the connection open until they are sent.
    fn read(&mut self, token: Token, buffer: &mut [u8], queue: &Queue) {
        let Some(mut client) = self.clients.remove(&token) else { return };
        loop {
            match (&client.connection.stream).read(buffer) {
                Ok(0) => return,
                Ok(_) if client.done => {}
                Ok(count) => {
                    client.unread.extend_from_slice(&buffer[..count]);
                    self.queue_requests(&mut client, queue);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return,
            }
        }
        self.clients.insert(token, client);
    }

    fn queue_requests(&mut self, client: &mut Client, queue: &Queue) {
        let mut begin = 0;
        while begin < client.unread.len() && !client.done {
            match http::parse(&client.unread[begin..]) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    begin += request.length;
                    client.done = !request.keep;
                    queue.put(self.waiting(client, &request));
                }
                Err(refused) => {
                    client.done = true;
                    client.connection.ends_with(client.turns);
                    client.connection.reply(client.turns, http::refusal(refused));
                }
            }
        }
        client.unread.drain(..begin);
    }

    fn waiting(&mut self, client: &mut Client, request: &Request) -> Waiting {
        let number = request.number.unwrap_or(self.drawn);
        self.drawn += u64::from(request.number.is_none());
        let (place, turn) = (self.arrived, client.turns);
        self.arrived += 1;
        client.turns += 1;
        if !request.keep {
            client.connection.ends_with(turn);
        }
        let (keep, connection) = (request.keep, client.connection.clone());
        Waiting { number, place, arrival_ns: wall_ns(), connection, turn, keep }
    }
}
