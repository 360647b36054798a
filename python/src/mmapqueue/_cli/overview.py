"""The commands by group, with a line for each: what `mmapqueue --help` lists."""

#: By group, in the order of the help. A summary fits a box of 80 columns.
GROUPS = {
    "Start here": {
        "push": "Push records: each line of the input is one",
        "pop": "Pop records, and print them or run a command for each",
        "stats": "Show how full a queue is, what holds it, and who writes it",
    },
    "Records": {
        "tail": "Print the last records, or those from a start on",
        "show": "Print records by their offsets",
        "export": "Write records to a file: offset, timestamp and value of each",
        "import": "Push the records of a file, as export writes it",
    },
    "State": {
        "consumers": "Show the consumers of a queue: lag, records in flight, owner",
        "producers": "Show the idempotent producers of a queue, their last batches",
        "top": "Show live rates, fill and lag of queues, or of a pipeline",
        "exporter": "Serve the metrics of queues for Prometheus",
    },
    "Queues": {
        "create": "Create an empty queue in a directory that has none",
        "consumer": "Create, delete and move consumers",
        "gc": "Delete the files of a ring that have no retained record",
        "copy": "Copy a closed queue, into a ring of another size if wanted",
        "resize": "Give a closed queue a ring of another size, in place",
        "verify": "Report damage in a queue; change nothing",
        "repair": "Repair a damaged queue, and report the lost records",
    },
    "Archive": {
        "ship": "Ship durable records into an archive that many hosts share",
        "adopt": "Create a queue that continues the partition of a lost host",
        "archive": "Show the partitions of an archive, their hosts and consumers",
    },
    "Collector": {
        "gather": "Receive events and push them into the queues of a pipeline",
        "process": "Read the queues of a pipeline in Spark, filter and send",
        "run": "Run gather and process as two processes",
        "reload": "Apply a changed configuration to running processes",
        "restart": "Restart the processes of a pipeline, one after the other",
        "check": "Validate the configuration of a pipeline; start nothing",
        "dead-letters": "Show what senders could not send, and send it again",
    },
    "This installation": {
        "doctor": "Check what queues need: Java, the jar, Spark, disk, limits",
        "bench": "Measure what this disk gives, from Python",
        "jar": "Print the path of the jar, for spark-submit --jars",
        "completion": "Print a script that completes commands and options in a shell",
    },
}
GROUP_OF = {name: group for group, commands in GROUPS.items() for name in commands}
SUMMARIES = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}


def text() -> str:
    """All groups as plain text."""
    width = max(map(len, SUMMARIES))
    sections = []
    for group, commands in GROUPS.items():
        lines = [f"  {name:{width}}  {summary}" for name, summary in commands.items()]
        sections.append("\n".join([f"{group}:", *lines]))
    return "\n\n".join(sections)
