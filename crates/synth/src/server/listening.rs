//! The server with sockets.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{mpsc, Arc, Mutex};

use hindmost_sys::socket::lengthen_backlog;
use mio::net::TcpListener;

use super::acceptor::Acceptor;
use super::pool::{check_cpus, start_recorder, threads_per_queue, WorkerPool};
use super::running::Running;
use super::sockets::Sockets;
use super::source::Source;
use super::station::Station;
use crate::record::ServerSummary;
use crate::shared::Shared;
use crate::work::now;
use crate::{ServerConfig, SynthError};

/// A server that listens, but does not answer yet.
pub struct Server {
    address: SocketAddr,
    pool: WorkerPool,
}

impl Server {
    /// Check the configuration, and acquire the port and all other resources.
    pub fn bind(config: &ServerConfig) -> Result<Self, SynthError> {
        config.validate()?;
        let program = config.program()?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let bind_error = |source| SynthError::Bind { address: config.address.clone(), source };
        let listener = TcpListener::bind(config.socket_address()?).map_err(bind_error)?;
        lengthen_backlog(&listener).map_err(bind_error)?;
        let address = listener.local_addr().map_err(bind_error)?;
        let recorder = start_recorder(config, threads, u64::MAX)?;

        let per_queue = threads_per_queue(program.queue, threads);
        let shared = Arc::new(Shared::new(config, program, now()));
        let (mut socket_groups, mut wakers, mut recipients) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..threads).step_by(per_queue) {
            let (sender, receiver) = mpsc::channel();
            let (sockets, waker) = Sockets::new(Arc::clone(&shared), config.protocol, first, receiver)?;
            socket_groups.push(sockets);
            wakers.push(Arc::clone(&waker));
            recipients.push((sender, waker));
        }
        socket_groups[0].accept_with(Acceptor::new(listener, recipients))?;
        let station = |(sockets, waker)| {
            let source = Source::Sockets { sockets: Box::new(Mutex::new(sockets)), waker: Arc::clone(waker) };
            Arc::new(Station::new(Arc::clone(&shared), source, per_queue))
        };
        let stations: Vec<_> = socket_groups.into_iter().zip(&wakers).map(station).collect();
        Ok(Self { address, pool: WorkerPool::new(config, &shared, &stations, wakers, recorder) })
    }

    /// Return the address of the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serve until `stop` is set or a thread fails. An idle server checks `stop` every 100 ms.
    pub fn run(self, stop: &AtomicBool) -> Result<ServerSummary, SynthError> {
        self.pool.run(stop)
    }

    /// Bind and serve in a separate thread until the handle is dropped.
    pub fn spawn(config: &ServerConfig) -> Result<Running, SynthError> {
        let server = Self::bind(config)?;
        Running::start(server.address, server.pool)
    }
}
