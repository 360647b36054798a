"""Pushes records and ships them until it is killed; `ship_kills.py` runs it.

    python shipping_process.py <queue> <archive> <journal> <round>

The journal gets an offset and a number for each record that the archive has, by the word of `push`.
"""

import sys

import mmapqueue


def main() -> None:
    queue, archive, journal, number = sys.argv[1:]
    with (
        mmapqueue.Queue(
            queue,
            capacity="64m",
            archive_uri=archive,
            ship_period="20ms",
            ship_bytes="16k",
            flush_period="5ms",
        ) as opened,
        open(journal, "a") as shipped,  # noqa: PTH123
    ):
        opened.create_consumer("audit")
        print("ready", flush=True)
        count = 0
        while True:
            opened.push_many(b"%s %d" % (number.encode(), count + each) + b"." * (each * 17) for each in range(50))
            count += 50
            offset = opened.push(b"%s %d" % (number.encode(), count), shipped=True)
            shipped.write(f"{offset} {number} {count}\n")
            shipped.flush()
            count += 1


if __name__ == "__main__":
    main()
