"""A bad configuration: one line for each problem, exit status 2, nothing started."""

from pathlib import Path

import pytest

from mmapqueue._cli.main import main
from mmapqueue.pipeline.config import ConfigFileError, load
from pipeline.configuring import (
    ADDRESS,
    DURATION,
    HTTP,
    LISTED,
    NAME,
    OTLP,
    RECEIVERS,
    REFERENCES,
    REMOTE,
    SERVER,
    SIZE,
    SPARK,
    URL,
    pipeline,
)

_OTHER = "headers other than"
_OF_HTTP = "connection, content-length, expect, keep-alive, proxy-connection, te, trailer, transfer-encoding, upgrade"
_OF_BACKENDS = (
    "connection, content-length, content-type, expect, host, keep-alive, proxy-connection, te, trailer, "
    "transfer-encoding, upgrade, user-agent"
)
_SET = (
    "connection, content-encoding, content-length, content-type, expect, idempotency-key, keep-alive, "
    "proxy-connection, te, trailer, transfer-encoding, upgrade"
)
_SET_OF_GRPC = (
    "connection, content-encoding, content-length, content-type, expect, host, idempotency-key, keep-alive, "
    "proxy-connection, te, trailer, transfer-encoding, upgrade, user-agent"
)
_METADATA = "names of letters, digits, _ . and -, without grpc- in front and without -bin at the end"
_HIDDEN = "the value (hidden) is invalid; allowed: printable characters of ASCII"

#: A file, and all that is printed of it, without the file's name.
BAD: dict[str, tuple[str, list[str]]] = {
    "empty": ("", ["1: the file is empty"]),
    "comment": ("# nothing\n", ["1: the file is empty"]),
    "a text": ("pipes", ["1: 'pipes' is invalid; allowed: a mapping with `pipes`"]),
    "a list": ("[1]", ["1: a list is invalid; allowed: a mapping with `pipes`"]),
    "two documents": (
        "pipes: []\n---\npipes: []\n",
        ["2: not YAML: expected a single document in the stream, but found another document"],
    ),
    "tab": (
        "pipes:\n\t- a\n",
        ["2: not YAML: while scanning for the next token, found character '\\t' that cannot start any token"],
    ),
    "open bracket": (
        "pipes: [\n",
        [
            "2: not YAML: while parsing a flow node, expected the node content, but found '<stream end>'",
        ],
    ),
    "unknown tag": (
        "name: !!python/object:os.system x\n",
        [
            "1: not YAML: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object:os.system'",
        ],
    ),
    "duplicate key": (
        pipeline(pipe="ack: pushed\nack: synced"),
        ["7: pipes[0].ack: the key is repeated; first in line 6"],
    ),
    "alias of itself": ("pipes: &a [*a]\n", ["1: not YAML: an alias contains itself"]),
    "many aliases": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcd", "bcde", strict=True)),
        ["1: not YAML: aliases expand the file to more than 100000 values"],
    ),
    "deep": ("[" * 2000, ["1: values are nested too deeply"]),
    "key that is not text": ("? [1]\n: 2\n", ["1: not YAML: a key must be text"]),
    "no pipes": ("name: a\n", ["1: pipes: is missing"]),
    "pipes empty": ("name: a\npipes: []\n", ["2: pipes: a list is invalid; allowed: at least 1 element"]),
    "pipes a mapping": ("pipes: {a: b}\n", ["1: pipes: a mapping is invalid; allowed: a list"]),
    "pipe a text": ("pipes: [a]\n", ["1: pipes[0]: 'a' is invalid; allowed: a mapping"]),
    "unknown top key": (
        pipeline(top="gathr: {processes: 2}"),
        [f"6: gathr: unknown key (did you mean gather?); {LISTED}"],
    ),
    "unknown key of a server": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', tsl: {}}"),
        [f"1: servers[0].tsl: unknown key (did you mean tls?); {LISTED}"],
    ),
    "unknown key of a queue": (
        pipeline(queue="{dir: q, capacty: 4g}"),
        [f"4: pipes[0].queue.capacty: unknown key (did you mean capacity?); {LISTED}"],
    ),
    "unknown key of a plugin": (
        pipeline(receivers="{type: otlp, server: grpc, signal: [logs]}"),
        [f"5: pipes[0].receivers[0].signal: unknown key (did you mean signals?); {LISTED}"],
    ),
    "queue without directory": (pipeline(queue="{}"), ["4: pipes[0].queue.dir: is missing"]),
    "segment size": (
        pipeline(queue="{dir: q, segment_size: 1k}"),
        ["4: pipes[0].queue.segment_size: '1k' is invalid; allowed: 4096 to 1073741824"],
    ),
    "size without a number": (
        pipeline(queue="{dir: q, capacity: much}"),
        [f"4: pipes[0].queue.capacity: 'much' is invalid; allowed: {SIZE}"],
    ),
    "event larger than the queue": (
        pipeline(queue="{dir: q, capacity: 8m, segment_size: 4m, max_event_size: 5m}"),
        [
            "4: pipes[0].queue.max_event_size: 5242880 is invalid; allowed: 1 to 4194217, which is what 2 segments of "
            "4194304 bytes hold",
        ],
    ),
    "queue of one segment": (
        pipeline(queue="{dir: q, capacity: 1m}"),
        [
            "4: pipes[0].queue.capacity: 1048576 is invalid; allowed: at least 2 segments of segment_size = 16777216 "
            "bytes",
        ],
    ),
    "capacity twice": (
        pipeline(queue="{dir: q, capacity: 1g, queue_capacity_segments: 64}"),
        ["4: pipes[0].queue.capacity: set either capacity or queue_capacity_segments"],
    ),
    "wait strategy": (
        pipeline(queue="{dir: q, wait_strategy: sleep}"),
        ["4: pipes[0].queue.wait_strategy: 'sleep' is invalid; allowed: backoff, park, spin"],
    ),
    "key without effect": (
        pipeline(queue="{dir: q, max_unacked: 5}"),
        [
            "4: pipes[0].queue.max_unacked: max_unacked has no effect in a pipeline: Spark reads the records "
            "and does not pop them",
        ],
    ),
    "message larger than an event": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_message_size: 8m}"),
        [
            "4: pipes[0].queue.max_event_size: 5242880 is invalid; allowed: at least 8454144, which is "
            "max_message_size of the server 'grpc' + 65536",
        ],
    ),
    "message too large": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_message_size: 1g}"),
        ["1: servers[0].max_message_size: '1g' is invalid; allowed: 1 to 134217728"],
    ),
    "address": (
        pipeline(servers="{name: grpc, type: grpc, listen: '127.0.0.1'}"),
        [f"1: servers[0].listen: '127.0.0.1' is invalid: {ADDRESS}"],
    ),
    "port": (
        pipeline(servers="{name: grpc, type: grpc, listen: '127.0.0.1:65536'}"),
        [f"1: servers[0].listen: '127.0.0.1:65536' is invalid: {ADDRESS}"],
    ),
    "protocol": (
        pipeline(servers="{name: grpc, type: grcp, listen: ':0'}"),
        ["1: servers[0].type: 'grcp' is invalid; allowed: grpc, http"],
    ),
    "connections": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_connections: 0}"),
        ["1: servers[0].max_connections: 0 is invalid; allowed: 1 to 1000000"],
    ),
    "connections a text": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', max_connections: many}"),
        ["1: servers[0].max_connections: 'many' is invalid; allowed: a whole number, 1 to 1000000"],
    ),
    "two servers of a name": (
        pipeline(servers=f"{SERVER}, {SERVER}"),
        ["1: servers[1].name: server 'grpc' is defined twice"],
    ),
    "two servers of an address": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':80'}, {name: b, type: grpc, listen: ':80'}",
            receivers=f"{OTLP}, {{type: otlp, server: b}}",
        ),
        ["1: servers[1].listen: :80 is invalid; allowed: an address other than :80 of the server grpc"],
    ),
    "origins that gRPC does not have": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', cors: {origins: ['*']}}"),
        ["1: servers[0].cors: cors has no effect with type: grpc"],
    ),
    "requests beyond connections": (
        pipeline(servers="{name: web, type: http, listen: ':0', max_connections: 10, max_requests: 11}"),
        ["1: servers[0].max_requests: max_requests above max_connections = 10 has no effect with type: http"],
    ),
    "server without receiver": (
        pipeline(servers=f"{SERVER}, {HTTP}"),
        ["1: servers[1]: no receiver uses the server 'http'"],
    ),
    "no such server": (
        pipeline(receivers="{type: otlp, server: grcp}"),
        ["5: pipes[0].receivers[0].server: there is no server 'grcp'; servers: grpc"],
    ),
    "receiver without server": (
        pipeline(receivers="{type: otlp}"),
        ["5: pipes[0].receivers[0].server: is missing"],
    ),
    "server of the wrong protocol": (
        pipeline(servers=HTTP, receivers="{type: skywalking, server: http}"),
        [" pipe logs: server 'http' has type http; expected grpc"],
    ),
    "one method twice": (
        pipeline(receivers=f"{OTLP}, {{type: otlp, server: grpc, signals: [logs]}}"),
        [
            " server grpc: pipe logs: receiver otlp already receives "
            "/opentelemetry.proto.collector.logs.v1.LogsService/Export; pipe logs: receiver otlp needs another server",
        ],
    ),
    "certificate that is not there": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', tls: {certificate: c.pem, key: k.pem}}"),
        [
            "1: servers[0].tls.certificate: '{dir}/c.pem' cannot be read: No such file or directory",
            "1: servers[0].tls.key: '{dir}/k.pem' cannot be read: No such file or directory",
        ],
    ),
    "secret of the wrong kind": (
        pipeline(servers="{name: grpc, type: grpc, listen: ':0', bearer_token: [s3cret]}"),
        ["1: servers[0].bearer_token: the value (hidden) is invalid; allowed: a string; put it in quotes"],
    ),
    "no such receiver": (
        pipeline(receivers="{type: oltp, server: grpc}"),
        [f"5: pipes[0].receivers[0].type: there is no receiver 'oltp' (did you mean otlp?); installed: {RECEIVERS}"],
    ),
    "receiver without type": (
        pipeline(receivers="{server: grpc}"),
        [f"5: pipes[0].receivers[0].type: is missing; receivers: {RECEIVERS}"],
    ),
    "receiver a text": (
        pipeline(receivers="otlp"),
        ["5: pipes[0].receivers[0]: 'otlp' is invalid; allowed: a mapping with `type`, such as {type: …}"],
    ),
    "receivers a text": (
        "pipes:\n- name: a\n  queue: {dir: q}\n  receivers: otlp\n",
        ["4: pipes[0].receivers: 'otlp' is invalid; allowed: a list"],
    ),
    "signal": (
        pipeline(receivers="{type: otlp, server: grpc, signals: [log]}"),
        ["5: pipes[0].receivers[0].signals[0]: 'log' is invalid; allowed: 'logs', 'traces', 'metrics' or 'profiles'"],
    ),
    "pipe of nothing": (
        "pipes:\n- name: a\n  queue: {dir: q}\n",
        ["2: pipes[0]: a pipe needs a receiver, a fetcher or a sender"],
    ),
    "two pipes of a name": (
        pipeline() + "- name: logs\n  queue: {dir: q2}\n  senders: [{type: spark, format: noop}]\n",
        ["6: pipes[1].name: pipe 'logs' is defined twice"],
    ),
    "two pipes of a queue": (
        pipeline(queue="{dir: a/../q}")
        + "- name: b\n  queue: {dir: a/../q/b}\n  senders: [{type: spark, format: noop}]\n",
        [
            "7: pipes[1].queue.dir: '{dir}/q/b' is invalid; allowed: a directory that is not '{dir}/q' of pipe "
            "logs, nor above or below it",
        ],
    ),
    "one directory, written in two ways": (
        pipeline(queue="{dir: q}") + "- name: b\n  queue: {dir: '{dir}/q'}\n  senders: [{type: spark, format: noop}]\n",
        [
            "7: pipes[1].queue.dir: '{dir}/q' is invalid; allowed: a directory that is not '{dir}/q' of pipe logs, "
            "nor above or below it",
        ],
    ),
    "checkpoints of two pipes": (
        pipeline(pipe=f"senders: [{SPARK}]\ncheckpoints: c")
        + f"- name: b\n  queue: {{dir: q2}}\n  checkpoints: c\n  senders: [{SPARK}]\n",
        [
            "11: pipes[1].senders[0]: the checkpoint '{dir}/c/spark' is also that of pipe logs; set other "
            "`checkpoints` in one of the pipes",
        ],
    ),
    "on_full": (
        pipeline(pipe="on_full: wait"),
        ["6: pipes[0].on_full: 'wait' is invalid; allowed: reject, block, drop, overflow"],
    ),
    "ack": (pipeline(pipe="ack: true"), ["6: pipes[0].ack: 'true' is invalid; allowed: pushed, synced"]),
    "name of a pipe": (
        "pipes:\n- name: ../x\n  queue: {dir: q}\n",
        [f"2: pipes[0].name: '../x' is invalid; allowed: {NAME}"],
    ),
    "senders of one type without names": (
        pipeline(pipe=f"senders: [{SPARK}, {SPARK}]"),
        [
            "6: pipes[0].senders[0].name: is missing; it is needed because several senders have the type spark",
            "6: pipes[0].senders[1].name: is missing; it is needed because several senders have the type spark",
        ],
    ),
    "encode without rows": (
        pipeline(
            pipe="filters: [{type: where, condition: 'true'}]\nsenders: [{type: otlp, endpoint: 'h:1', encode: otlp}]"
        ),
        [
            "7: pipes[0].senders[0].encode: needs rows of logs, spans or points; add the filter "
            "{type: explode, rows: logs}"
        ],
    ),
    "encode for a sender of another protocol": (
        pipeline(
            pipe="filters: [{type: explode, rows: logs}]\nsenders: [{type: skywalking, endpoint: 'h:1', encode: otlp}]",
        ),
        [
            "7: pipes[0].senders[0].encode: a sender of type skywalking does not send OTLP; allowed: without encode",
        ],
    ),
    "encode and merge": (
        pipeline(
            pipe="filters: [{type: explode, rows: logs}]\n"
            "senders: [{type: otlp, endpoint: 'h:1', encode: otlp, merge: true}]",
        ),
        [
            "7: pipes[0].senders[0]: merge has no effect with encode: otlp, which merges rows up to the limits of "
            "request",
        ],
    ),
    "attributes without changes": (
        pipeline(pipe=f"filters: [{{type: attributes}}]\nsenders: [{SPARK}]"),
        ["6: pipes[0].filters[0]: nothing to change; allowed: at least one of add, rename, remove"],
    ),
    "senders of one name": (
        pipeline(pipe="senders: [{type: spark, format: noop, name: a}, {type: spark, format: noop, name: a}]"),
        ["6: pipes[0].senders[1].name: sender 'a' is defined twice"],
    ),
    "batch without unit": (
        pipeline(pipe="senders: [{type: spark, format: noop, batch: {interval: 5}}]"),
        [f'6: pipes[0].senders[0].batch.interval: 5 is invalid; allowed: "5s" or "5ms", {DURATION}'],
    ),
    "batch of no duration": (
        pipeline(pipe="senders: [{type: spark, format: noop, batch: {interval: soon}}]"),
        [f"6: pipes[0].senders[0].batch.interval: 'soon' is invalid; allowed: {DURATION}"],
    ),
    "durations of 0": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':0', request_timeout: 0}",
            pipe="senders: [{type: http, url: 'http://h', retry: {timeout: 0, backoff: {first: 0, most: 0s}}}]",
            top="telemetry: {stalled_after: 0}",
        ),
        [
            "1: servers[0].request_timeout: 0 is invalid; allowed: more than 0 s",
            "6: pipes[0].senders[0].retry.backoff.first: 0 is invalid; allowed: more than 0 s",
            "6: pipes[0].senders[0].retry.backoff.most: '0s' is invalid; allowed: more than 0 s",
            "6: pipes[0].senders[0].retry.timeout: 0 is invalid; allowed: more than 0 s",
            "7: telemetry.stalled_after: 0 is invalid; allowed: more than 0 s",
        ],
    ),
    "interval too short": (
        pipeline(pipe="fetchers: [{type: prometheus, targets: ['http://h'], interval: 1ms}]"),
        ["6: pipes[0].fetchers[0].interval: '1ms' is invalid; allowed: at least 0.01 s"],
    ),
    "empty text": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':0', bearer_token: ''}",
            pipe="filters: [{type: where, condition: ''}]",
        ),
        [
            "1: servers[0].bearer_token: the value (hidden) is invalid; allowed: at least 1 character",
            "6: pipes[0].filters[0].condition: '' is invalid; allowed: at least 1 character",
        ],
    ),
    "empty paths": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':0', tls: {certificate: '', key: k}}",
            queue="{dir: '${QDIR:}', archive_uri: ''}",
            pipe="checkpoints: ''\ndead_letter: {dir: ''}\n"
            "fetchers: [{type: files, paths: ['/a', ''], exclude: ['']}, {type: command, command: ['', x]}]\n"
            "senders: [{type: http, url: 'https://h', tls: {ca: ''}}]",
        ),
        [
            f"{line}: {key}: '' is invalid; allowed: at least 1 character"
            for line, key in [
                (1, "servers[0].tls.certificate"),
                (4, "pipes[0].queue.dir"),
                (4, "pipes[0].queue.archive_uri"),
                (6, "pipes[0].checkpoints"),
                (7, "pipes[0].dead_letter.dir"),
                (8, "pipes[0].fetchers[0].paths[1]"),
                (8, "pipes[0].fetchers[0].exclude[0]"),
                (8, "pipes[0].fetchers[1].command[0]"),
                (9, "pipes[0].senders[0].tls.ca"),
            ]
        ],
    ),
    "archive_host": (
        pipeline(queue="{dir: q, archive_uri: a, archive_host: ''}"),
        [
            "4: pipes[0].queue.archive_host: '' is invalid: a name of a host has 1 to 100 letters, digits, '_', '-' "
            "or '.', no '.' or '-' first"
        ],
    ),
    "URLs": (
        pipeline(
            pipe="fetchers: [{type: prometheus, targets: ['http://h:9100/metrics', 'http://h:0/']}]\n"
            "senders:\n"
            "- {type: http, name: a, url: 'http://user:s3cret@127.0.0.1:99999/x'}\n"
            "- {type: otlp, name: b, protocol: http, endpoint: 'https://:4318'}\n"
            "- {type: otlp, name: c, endpoint: 'http://h:4317'}\n",
        ),
        [
            f"6: pipes[0].fetchers[0].targets[1]: 'http://h:0/' is invalid: {URL}",
            f"8: pipes[0].senders[0].url: 'http://***@127.0.0.1:99999/x' is invalid: {URL}",
            f"9: pipes[0].senders[1].endpoint: 'https://:4318' is invalid with protocol: http: {URL}",
            f"10: pipes[0].senders[2].endpoint: 'http://h:4317' is invalid with protocol: grpc: {REMOTE}",
        ],
    ),
    "headers": (
        pipeline(
            receivers="{type: skywalking, server: grpc, backend: {endpoint: 'h:1', headers: {Host: h}}}",
            pipe="fetchers: [{type: prometheus, targets: ['http://h'], headers: {Connection: close}}]\n"
            "senders:\n"
            "- {type: http, name: a, url: 'http://h', headers: {X-A: '1', content-length: 5}}\n"
            "- {type: http, name: b, url: 'http://h', headers: {Content-Type: text/plain}}\n"
            "- {type: http, name: c, url: 'http://h', headers: {'a b': s3cret}}\n"
            '- {type: http, name: d, url: "http://h", headers: {Authorization: "s3cret\\n"}}\n'
            "- {type: otlp, name: e, endpoint: 'h:1', headers: {grpc-timeout: 1S}}\n"
            "- {type: otlp, name: f, endpoint: 'h:1', headers: {Trace-Bin: s3cret}}\n"
            "- {type: otlp, name: g, endpoint: 'http://h', protocol: http, headers: {Transfer-Encoding: chunked}}\n"
            "- {type: mmapqueue, name: h, endpoint: 'h:1', headers: {Idempotency-Key: k}}\n"
            "- {type: skywalking, name: i, endpoint: 'h:1', headers: {token: s3crét}}",
        ),
        [
            f"5: pipes[0].receivers[0].backend.headers.Host: 'Host' is invalid; allowed: {_OTHER} {_OF_BACKENDS}",
            f"6: pipes[0].fetchers[0].headers.Connection: 'Connection' is invalid; allowed: {_OTHER} {_OF_HTTP}",
            f"8: pipes[0].senders[0].headers.content-length: 'content-length' is invalid; allowed: {_OTHER} {_SET}",
            f"9: pipes[0].senders[1].headers.Content-Type: 'Content-Type' is invalid; allowed: {_OTHER} {_SET}",
            "10: pipes[0].senders[2].headers['a b']: 'a b' is invalid; allowed: names of letters, digits and "
            "!#$%&'*+.^_`|~-",
            f"11: pipes[0].senders[3].headers.Authorization: {_HIDDEN}",
            f"12: pipes[0].senders[4].headers.grpc-timeout: 'grpc-timeout' is invalid; allowed: {_METADATA}",
            f"13: pipes[0].senders[5].headers.Trace-Bin: 'Trace-Bin' is invalid; allowed: {_METADATA}",
            "14: pipes[0].senders[6].headers.Transfer-Encoding: 'Transfer-Encoding' is invalid; allowed: "
            f"{_OTHER} {_SET}",
            "15: pipes[0].senders[7].headers.Idempotency-Key: 'Idempotency-Key' is invalid; allowed: "
            f"{_OTHER} {_SET_OF_GRPC}",
            f"16: pipes[0].senders[8].headers.token: {_HIDDEN}",
        ],
    ),
    "dead letters too small": (
        pipeline(pipe="dead_letter: {dir: d, max_event_size: 1m}"),
        [
            "6: pipes[0].dead_letter.max_event_size: 1048576 is invalid; allowed: at least 5308416, which is "
            "queue.max_event_size + 65536",
        ],
    ),
    "processes": (
        pipeline(top="gather: {processes: 0}"),
        ["6: gather.processes: 0 is invalid; allowed: 1 to 256"],
    ),
    "stop_within": (
        pipeline(top="gather: {stop_within: -1s}"),
        [f"6: gather.stop_within: '-1s' is invalid; allowed: {DURATION}"],
    ),
    "telemetry": (pipeline(top="telemetry: on"), ["6: telemetry: true is invalid; allowed: a mapping"]),
    "spark's properties a list": (
        pipeline(top="spark: {conf: [a]}"),
        ["6: spark.conf: a list is invalid; allowed: a mapping"],
    ),
    "variable that is not set": (
        pipeline(queue="{dir: '${NO_SUCH_VARIABLE}'}"),
        [
            "4: pipes[0].queue.dir: the environment variable NO_SUCH_VARIABLE is unset or empty, and "
            "${NO_SUCH_VARIABLE} has no default",
        ],
    ),
    "reference that is none": (
        pipeline(queue="{dir: '${a b}'}"),
        [f"4: pipes[0].queue.dir: '${{a b}}' is not a reference to a variable; {REFERENCES}"],
    ),
    "reference that is open": (
        pipeline(queue="{dir: '${a'}"),
        [f"4: pipes[0].queue.dir: '${{' is not a reference to a variable; {REFERENCES}"],
    ),
    "default of a shell": (
        pipeline(queue="{dir: '${A:-b}'}"),
        [
            "4: pipes[0].queue.dir: '${A:-b}' is ambiguous: the default would begin with -; write ${env:A:-b}, or "
            '${A:"-b"} for a string that begins with -',
        ],
    ),
    "several": (
        pipeline(
            servers="{name: grpc, type: grpc}", queue="{}", receivers="{type: x}", pipe="ack: no", top="gather: []"
        ),
        [
            "1: servers[0].listen: is missing",
            "4: pipes[0].queue.dir: is missing",
            f"5: pipes[0].receivers[0].type: there is no receiver 'x'; installed: {RECEIVERS}",
            "6: pipes[0].ack: 'no' is invalid; allowed: pushed, synced",
            "7: gather: a list is invalid; allowed: a mapping",
        ],
    ),
    "undecodable records": (
        pipeline(pipe="on_undecodable: keep"),
        ["6: pipes[0].on_undecodable: 'keep' is invalid; allowed: dead_letter, drop"],
    ),
    "dead letters of nobody": (
        pipeline(pipe=f"on_undecodable: drop\ndead_letter: {{dir: d}}\nsenders: [{SPARK}]"),
        [
            "7: pipes[0].dead_letter: has no effect with on_undecodable: drop and senders without dead letters",
        ],
    ),
    "a sender with the name of the shipper": (
        pipeline(queue="{dir: q, archive_uri: a}", pipe=f"senders: [{SPARK[:-1]}, name: ship}}]"),
        [
            "6: pipes[0].senders[0].name: 'ship' is invalid; allowed: any other name; the consumer that ships has this "
            "one",
        ],
    ),
    "an address of all hosts and one of them": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: '127.0.0.1:4317'}, {name: b, type: grpc, listen: '0.0.0.0:4317'}",
            receivers=f"{OTLP}, {{type: otlp, server: b}}",
        ),
        [
            "1: servers[1].listen: 0.0.0.0:4317 is invalid; allowed: an address other than 127.0.0.1:4317 of the "
            "server grpc",
        ],
    ),
    "a socket of a receiver and a server": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: ':6514'}",
            receivers=f"{OTLP}, {{type: syslog, listen: 'udp://:6514'}}, {{type: syslog, listen: 'tcp://:6514'}}",
        ),
        [
            "5: pipes[0].receivers[2].listen: :6514 is invalid; allowed: an address other than :6514 of the server "
            "grpc",
        ],
    ),
    "telemetry of the second process and a server": (
        pipeline(
            servers="{name: grpc, type: grpc, listen: 'localhost:1235'}",
            top="telemetry: {listen: '127.0.0.1:1234'}\ngather: {processes: 2}",
        ),
        [
            "6: telemetry.listen: 127.0.0.1:1235 is invalid; allowed: an address other than localhost:1235 of the "
            "server grpc",
        ],
    ),
    "files without a path": (
        pipeline(pipe="senders: [{type: spark, format: parquet}]"),
        ["6: pipes[0].senders[0]: format: parquet needs options.path, the directory to which it writes"],
    ),
    "a sender into its own queue": (
        pipeline(pipe="senders: [{type: spark, format: mmapqueue, options: {path: ./q}}]"),
        [
            "6: pipes[0].senders[0].options.path: '{dir}/q' is invalid; allowed: a directory that is not '{dir}/q', "
            "the queue of pipe logs, nor above or below it",
        ],
    ),
    "a sender into the checkpoints": (
        pipeline(pipe="senders: [{type: spark, format: json, options: {path: 'file:{dir}/q.checkpoints/spark/x'}}]"),
        [
            "6: pipes[0].senders[0].options.path: '{dir}/q.checkpoints/spark/x' is invalid; allowed: a directory that "
            "is not '{dir}/q.checkpoints/spark', a checkpoint of pipe logs, nor above or below it",
        ],
    ),
    "two senders into one directory of files": (
        pipeline(
            pipe="senders: [{type: spark, name: a, format: json, options: {path: out}},\n"
            "  {type: spark, name: b, format: parquet, options: {path: 'file:{dir}/x/../out'}},\n"
            "  {type: spark, name: c, format: delta, options: {path: out}},\n"
            "  {type: spark, name: d, format: json, options: {path: out}, batch_writes: true}]"
        ),
        [
            "7: pipes[0].senders[1].options.path: '{dir}/out' is invalid; allowed: a directory other than that of the "
            "sender a of pipe logs",
        ],
    ),
    "a sender into a queue that another pipe fills": (
        pipeline(pipe="senders: [{type: spark, format: mmapqueue, options: {path: other/p=0}}]")
        + "- name: b\n  queue: {dir: other}\n  fetchers: [{type: command, command: ['true']}]\n",
        [
            "6: pipes[0].senders[0].options.path: '{dir}/other/p=0' is invalid; allowed: a directory that is not "
            "'{dir}/other', the queue of pipe b, nor above or below it",
        ],
    ),
    "a file in the place of a queue": (
        pipeline(queue="{dir: bad.yaml}"),
        ["4: pipes[0].queue.dir: '{dir}/bad.yaml' is invalid; allowed: a directory, and '{dir}/bad.yaml' is a file"],
    ),
    "a file above a queue": (
        pipeline(queue="{dir: bad.yaml/q}"),
        ["4: pipes[0].queue.dir: '{dir}/bad.yaml/q' is invalid; allowed: a directory, and '{dir}/bad.yaml' is a file"],
    ),
    "a sender of other content types": (
        pipeline(
            servers=f"{SERVER}, {HTTP}",
            receivers="{type: http, server: http, content_types: [application/cloudevents+json]}, "
            "{type: syslog, listen: 'udp://:5514'}, {type: skywalking, server: grpc}",
            pipe="senders: [{type: otlp, endpoint: 'h:1'}, {type: http, url: 'http://h'}]",
        ),
        [
            "6: pipes[0].senders[0]: a sender of type otlp sends the content types "
            "application/x-protobuf; proto=otlp., application/json; proto=otlp.; the pipe receives "
            "application/cloudevents+json, application/x-protobuf; proto=envoy., "
            "application/x-protobuf; proto=skywalking., text/x-syslog",
        ],
    ),
    "a queue where dead letters go": (
        pipeline(
            queue="{dir: q.dead/q}",
            pipe=f"senders: [{SPARK}]",
            top="- {name: b, queue: {dir: q}, senders: [" + SPARK + "]}",
        ),
        [
            "7: pipes[1].dead_letter: '{dir}/q.dead' is invalid; allowed: a directory that is not '{dir}/q.dead/q' of "
            "pipe logs, nor above or below it",
        ],
    ),
}


@pytest.mark.parametrize(("text", "lines"), BAD.values(), ids=BAD.keys())
def test_a_bad_configuration_is_one_line_a_problem_and_starts_nothing(
    text: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_VARIABLE", raising=False)
    file = tmp_path / "bad.yaml"
    file.write_text(text.replace("{dir}", str(tmp_path)))
    for command in ("check", "gather"):
        assert main([command, str(file)]) == 2
        out, err = capsys.readouterr()
        expected = [f"{file}:{line}" for line in lines]
        expected = [line.replace("{dir}", str(tmp_path)) for line in expected]
        assert err.splitlines() == expected
        assert out == ""
    assert [each.name for each in tmp_path.iterdir()] == ["bad.yaml"]


@pytest.mark.parametrize(("path", "words"), [("none.yaml", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read(path: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path / path}: {words}\n"


@pytest.mark.parametrize("command", ["check", "gather", "process", "reload", "restart", "run"])
def test_an_empty_path_of_the_file_is_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, ""]) == 2
    assert capsys.readouterr().err == "FILE = '' is invalid; allowed: the path of a configuration file\n"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"pipes: \xff\xfe\x00")
    with pytest.raises(ConfigFileError, match=r"a\.yaml:1: not YAML: unacceptable character #x00ff"):
        load(file)
