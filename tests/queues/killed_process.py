"""The process that `kill_loop` kills: pushes by a batching producer, pops, acks, and notes what it may rely on.

    python killed_process.py <queue> <journal> <round> <sync: 0 or 1> <seed>

A line of the journal is one write of the kernel, so a kill leaves it whole or not at all.
"""

import os
import random
import sys
import threading
import time

import mmapqueue

RECORDS = 3000


def main() -> None:
    path, journal, number, sync, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1", int(sys.argv[5])
    chance = random.Random(seed)
    out = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(*words: object) -> None:
        os.write(out, (" ".join(map(str, words)) + "\n").encode())

    def produce(queue: mmapqueue.Queue, pace: random.Random) -> None:
        with queue.producer(linger=pace.choice([0.0, 0.002, 0.01]), sync=sync) as producer:
            for index in range(RECORDS):
                data = f"{number}:{index}"

                def done(handle: mmapqueue.PushHandle, data: str = data) -> None:
                    note("done", handle.result(), data)

                producer.push(data.encode()).add_done_callback(done)
                # The load: some batches are full, others linger.
                if pace.random() < 0.02:
                    time.sleep(pace.random() * 0.01)

    with mmapqueue.Queue(path, capacity="256m", segment_size="1m", retain_bytes=1 << 30, lock_timeout=60.0) as queue:
        queue.consumer("default")
        thread = threading.Thread(target=produce, args=(queue, random.Random(chance.random())))
        thread.start()
        print("ready", flush=True)
        left = RECORDS
        while left or queue.qsize():
            try:
                message = queue.pop(timeout=0.2)
            except mmapqueue.Empty:
                left *= thread.is_alive()
                continue
            if chance.random() < 0.01:
                queue.nack(message, delay=chance.choice([0.0, 0.005]))
                continue
            # Before the ack: an acked record that no process has handled is lost.
            note("handled", message.offset, message.data.decode())
            queue.ack(message)
        thread.join()


if __name__ == "__main__":
    main()
