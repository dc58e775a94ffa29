use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hindmost_synth::{Running, Server, ServerConfig};

use super::Folder;

/// Start the embedded server.
pub fn synth() -> Running {
    Server::spawn(&ServerConfig::default()).unwrap()
}

/// A real server on a free port, stopped on drop.
pub struct ServerProcess {
    child: Child,
    pub address: String,
    _folder: Folder,
}

impl ServerProcess {
    /// Start memcached, or return `None` if it is not installed.
    pub fn memcached() -> Option<Self> {
        Self::memcached_with(&[])
    }

    pub fn memcached_with(more: &[&str]) -> Option<Self> {
        Self::start("memcached", |port, _| Self::memcached_arguments(port, more))
    }

    /// Return the arguments of memcached.
    pub fn memcached_arguments(port: &str, more: &[&str]) -> Vec<String> {
        let usual = ["-p", port, "-U", "0", "-l", "127.0.0.1", "-u", "nobody", "-t", "1", "-m", "256"];
        usual.iter().chain(more).map(|&one| one.to_owned()).collect()
    }

    pub fn redis() -> Option<Self> {
        Self::start("redis-server", |port, folder| {
            let folder = folder.to_str().unwrap();
            ["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
                .map(str::to_owned)
                .to_vec()
        })
    }

    /// Start nginx with one page of 1 kB at `/`. It closes a connection after `keepalive` requests.
    pub fn nginx(keepalive: u32) -> Option<Self> {
        Self::nginx_with(keepalive, "", "")
    }

    /// The same with additions: `listen` to its listen directive, `directives` to its server block.
    pub fn nginx_with(keepalive: u32, listen: &str, directives: &str) -> Option<Self> {
        Self::start("nginx", |port, folder| {
            let place = folder.display();
            let page = "x".repeat(1000);
            let text = format!(
                "daemon off; master_process off; worker_processes 1; pid {place}/pid; error_log {place}/error;
                 events {{ worker_connections 512; }}
                 http {{
                   access_log off; keepalive_requests {keepalive}; client_body_temp_path {place}/b;
                   proxy_temp_path {place}/p; fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u;
                   scgi_temp_path {place}/s;
                   server {{
                     listen 127.0.0.1:{port} {listen}; {directives}
                     location = / {{ return 200 '{page}'; }}
                     location / {{ return 404; }}
                   }}
                 }}"
            );
            let file = folder.join("nginx.conf");
            std::fs::write(&file, text).unwrap();
            ["-c", file.to_str().unwrap(), "-p", folder.to_str().unwrap(), "-e", "stderr"]
                .map(str::to_owned)
                .to_vec()
        })
    }

    pub fn start(program: &str, arguments: impl Fn(&str, &Path) -> Vec<String>) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self::start_at(free, program, arguments)
    }

    /// The same at a given address, for example of an earlier server.
    pub fn start_at(
        address: SocketAddr,
        program: &str,
        arguments: impl Fn(&str, &Path) -> Vec<String>,
    ) -> Option<Self> {
        let folder = Folder::new();
        let spawned = Command::new(program)
            .args(arguments(&address.port().to_string(), folder.path()))
            .env("PATH", format!("{}:/usr/sbin:/usr/local/sbin", std::env::var("PATH").unwrap_or_default()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match spawned {
            Ok(child) => child,
            Err(e) => {
                assert!(std::env::var_os("CI").is_none(), "CI must be able to start {program}: {e}");
                return None;
            }
        };
        let mut server = Self { child, address: address.to_string(), _folder: folder };
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).is_err() {
            if let Some(status) = server.child.try_wait().unwrap() {
                assert!(std::env::var_os("CI").is_none(), "{program} ended at its start: {status}");
                return None;
            }
            assert!(Instant::now() < until, "{program} does not listen on {address}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
