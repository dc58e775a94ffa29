"""A small HTTP server with one planted cause of a slow tail.

``server.py HOST PORT key=value ...``; the keys are those of `Plant`. A pool of threads takes requests from
one queue, so a slow request delays others, as in any real service.
"""

from __future__ import annotations

import gc
import os
import queue
import random
import socket
import sys
import threading
import time
from dataclasses import dataclass, fields

ANSWER = b"hello\n"


@dataclass
class Plant:
    """What makes it slow; by default nothing."""

    workers: int = 4
    wait_ms: float = 0.0  # every request waits for this long, as for a database
    slow_share: float = 0.0  # of requests that take `slow_ms` of CPU time
    slow_ms: float = 3.0
    heap: int = 0  # objects that the collector must visit
    collect: int = 0  # requests between two collections
    burner: int = 0  # a second thread that holds the interpreter's lock
    split: int = 0  # head and body leave in two writes, with Nagle's algorithm
    sync: int = 0  # every request is written to the disk
    lock_ms: float = 0.0  # every request holds one lock for this long


def main(host: str, port: int, plant: Plant) -> None:
    """Serve until killed."""
    waiting: queue.Queue[tuple[socket.socket, threading.Event]] = queue.Queue()
    _heap = [{"number": number} for number in range(plant.heap)]
    log = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    lock, served = threading.Lock(), 0
    gc.disable()

    def burn() -> None:
        while True:
            sum(range(20_000))

    def work() -> None:
        nonlocal served
        while True:
            connection, done = waiting.get()
            if plant.wait_ms:
                time.sleep(plant.wait_ms / 1e3)
            if plant.lock_ms:
                with lock:
                    time.sleep(plant.lock_ms / 1e3)
            if plant.slow_share and random.random() < plant.slow_share:
                until = time.thread_time() + plant.slow_ms / 1e3
                while time.thread_time() < until:
                    pass
            served += 1
            if plant.collect and served % plant.collect == 0:
                gc.collect()
            if plant.sync:
                os.write(log, ANSWER)
                os.fsync(log)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(ANSWER)}\r\n\r\n".encode()
            for part in (head, ANSWER) if plant.split else (head + ANSWER,):
                connection.sendall(part)
            done.set()

    def serve(connection: socket.socket) -> None:
        text, done = b"", threading.Event()
        while data := connection.recv(65536):
            text += data
            while b"\r\n\r\n" in text:
                _, _, text = text.partition(b"\r\n\r\n")
                done.clear()
                waiting.put((connection, done))
                done.wait()

    for _ in range(plant.workers):
        threading.Thread(target=work, daemon=True).start()
    for _ in range(plant.burner):
        threading.Thread(target=burn, daemon=True).start()
    listener = socket.create_server((host, port), backlog=1024)
    while True:
        connection, _ = listener.accept()
        if not plant.split:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    kinds = {field.name: type(field.default) for field in fields(Plant)}
    words = dict(word.split("=") for word in sys.argv[3:])
    main(sys.argv[1], int(sys.argv[2]), Plant(**{name: kinds[name](text) for name, text in words.items()}))
