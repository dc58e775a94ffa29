//! The server behind sockets.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{mpsc, Arc, Mutex};

use hindmost_sys::socket::lengthen_backlog;
use mio::net::TcpListener;

use super::acceptor::Acceptor;
use super::pool::{check_cpus, recorder, threads_a_queue, WorkerPool};
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
    /// Checks the document, takes the port and everything else that could be missing later.
    pub fn bind(config: &ServerConfig) -> Result<Self, SynthError> {
        config.validate()?;
        let program = config.program()?;
        let threads = program.threads as usize;
        check_cpus(config, threads)?;
        let failed = |source| SynthError::Bind { address: config.address.clone(), source };
        let listener = TcpListener::bind(config.socket_address()?).map_err(failed)?;
        lengthen_backlog(&listener).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let recorder = recorder(config, threads, u64::MAX)?;

        let a_queue = threads_a_queue(program.queue, threads);
        let shared = Arc::new(Shared::new(config, program, now()));
        let (mut fronts, mut wakers, mut recipients) = (Vec::new(), Vec::new(), Vec::new());
        for first in (0..threads).step_by(a_queue) {
            let (sender, receiver) = mpsc::channel();
            let (sockets, waker) = Sockets::new(Arc::clone(&shared), config.protocol, first, receiver)?;
            fronts.push(sockets);
            wakers.push(Arc::clone(&waker));
            recipients.push((sender, waker));
        }
        fronts[0].accept_with(Acceptor::new(listener, recipients))?;
        let station = |(sockets, waker)| {
            let source = Source::Sockets { sockets: Box::new(Mutex::new(sockets)), waker: Arc::clone(waker) };
            Arc::new(Station::new(Arc::clone(&shared), source, a_queue))
        };
        let stations: Vec<_> = fronts.into_iter().zip(&wakers).map(station).collect();
        Ok(Self { address, pool: WorkerPool::new(config, &shared, &stations, wakers, recorder) })
    }

    /// Where clients find the server.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set (an idle server looks every 100 ms), or until a thread fails.
    pub fn run(self, stop: &AtomicBool) -> Result<ServerSummary, SynthError> {
        self.pool.run(stop)
    }

    /// Binds and serves from a thread of its own, until the handle is dropped.
    pub fn spawn(config: &ServerConfig) -> Result<Running, SynthError> {
        let server = Self::bind(config)?;
        Running::start(server.address, server.pool)
    }
}
