//! Work in the kernel: system calls, page faults, the loopback network, the disk.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::FileExt;
use std::path::Path;

use hindmost_sys::process::parent;

use crate::mapping::Mapping;
use crate::work::Work;

/// Enters the kernel and returns.
pub struct Enter;

impl Work for Enter {
    fn block(&mut self) -> u64 {
        const CALLS: u64 = 16;
        for _ in 0..CALLS {
            std::hint::black_box(parent());
        }
        CALLS
    }
}

/// Maps pages, touches each for the first time, and unmaps them.
pub struct Fault;

impl Work for Fault {
    fn block(&mut self) -> u64 {
        const PAGES: usize = 4;
        let Ok(mut memory) = Mapping::new(PAGES * 4096, "pages to touch") else {
            return 0;
        };
        for byte in memory.bytes().iter_mut().step_by(4096) {
            *byte = 1;
        }
        PAGES as u64
    }
}

/// Sends a datagram to itself and reads it.
pub struct Loopback {
    socket: UdpSocket,
    bytes: [u8; 1024],
}

impl Loopback {
    /// Open a socket on a port chosen by the kernel.
    pub fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, bytes: [0; 1024] })
    }
}

impl Work for Loopback {
    fn block(&mut self) -> u64 {
        let sent = self.socket.send(&self.bytes).is_ok();
        u64::from(sent && self.socket.recv(&mut self.bytes).is_ok())
    }
}

/// Writes 4 KiB and syncs them to disk; the file has no name and disappears with the stressor.
pub struct Disk {
    file: File,
    at: u64,
}

impl Disk {
    /// Create the file in `folder`, whose file system is stressed.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!(".hindmost-disk-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(path)?;
        Ok(Self { file, at: 0 })
    }
}

impl Work for Disk {
    fn block(&mut self) -> u64 {
        const BLOCKS: u64 = 1024;
        let done = self.file.write_all_at(&[1; 4096], 4096 * (self.at % BLOCKS));
        self.at += 1;
        u64::from(done.and_then(|()| self.file.sync_data()).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_work_is_done_as_often_as_reported() {
        let folder = std::env::temp_dir();
        let mut works: [(Box<dyn Work>, u64); 4] = [
            (Box::new(Enter), 16),
            (Box::new(Fault), 4),
            (Box::new(Loopback::new().unwrap()), 1),
            (Box::new(Disk::new(&folder).unwrap()), 1),
        ];
        for (work, each) in &mut works {
            assert_eq!((work.block(), work.block()), (*each, *each));
        }
        let left = format!(".hindmost-disk-{}", std::process::id());
        assert!(!folder.join(left).exists());
    }
}
