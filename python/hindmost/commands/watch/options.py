"""Help texts of options that several commands of ``hindmost watch`` have."""

from __future__ import annotations

APPLICATION = (
    "A process id, memcached://HOST:PORT (redis://, http://), UNIT.service, command:TEXT, or a cgroup."
)
PROBE = "Requests per second of the latency probe; 0: no probe; auto: up to 25, within --budget of CPU time."
PROBE_ADDRESS = "Address to probe if APPLICATION is not a URL, for example http://127.0.0.1:80."
LOG = "Read latency from this access log instead of a probe."
LOG_LATENCY = "Place of latency in a line: nginx, apache, envoy, caddy, traefik, or for example key:rt/s."
SIZE = "Fixed size of the ring file in MiB."
ON_CHANGE = "What to start when latency becomes slow: `diagnose`, within --policy."
POLICY = "What a diagnosis may change, on which hosts, when and how often."
PERIOD = "Time between samples."
BUDGET = "CPU time for sampling, as a share of one processor. Above it, less is sampled."
PORT = "Loopback port of the page and /metrics; 0: a free port."
FOLDER = (
    "Folder of the services' files. [default: /etc/hindmost/watch for root, else ~/.config/hindmost/watch]"
)
RINGS = "Folder of the rings. [default: /var/lib/hindmost-watch for root, else ~/.local/state/hindmost/watch]"
