"""SkyWalking Satellite's own configuration: its keys and pipes."""


def _pipe(name: str, protocol: str, queue: str, **receiver: int) -> str:
    """A pipe with the keys that Satellite's own configuration has."""
    otlp = protocol == "otlp-metrics-v1"
    options = "".join(f"\n        {key}: ${{RECEIVER_{key.upper()}:{value}}}" for key, value in receiver.items())
    sizes = "\n        event_buffer_size: ${EVENTS:5000}\n        partition: ${PARTITION:4}"
    limits = {"flush_time": "${FLUSH:1000}", "max_buffer_size": "${BUFFER:200}", "min_flush_events": "${LEAST:1}"}
    flush = "".join(f"\n      {key}: {value}" for key, value in limits.items())
    routing = "\n          routing_rule_lru_cache_size: ${SIZE:5000}\n          routing_rule_lru_cache_ttl: ${TTL:180}"
    labels = "\n          routing_label_keys: net.host.name,host.name,job,service.name" if otlp else ""
    return f"""
  - common_config:
      pipe_name: {name}
    gatherer:
      server_name: "grpc-server"
      receiver:
        plugin_name: "grpc-{protocol}-receiver"{options}
      queue:
        plugin_name: "{queue}"{sizes if queue == "memory-queue" else ""}
    processor:
      filters:
    sender:
      fallbacker:
        plugin_name: none-fallbacker{flush if queue == "memory-queue" else ""}
      client_name: grpc-client
      forwarders:
        - plugin_name: {protocol}-grpc-forwarder{(routing + labels) if otlp or "meter" in protocol else ""}"""


_ENVOY = {"flush_time": 1000, "limit_count": 500}
#: The pipes of Satellite's own configuration, and what their receivers take here.
PIPES: dict[str, tuple[str, str]] = {
    "logpipe": ("native-log", "logs"),
    "managementpipe": ("native-management", "management"),
    "tracingpipe": ("native-tracing", "traces"),
    "profilepipe": ("native-profile", "profile"),
    "asyncprofilerpipe": ("native-async-profiler", "async_profiler"),
    "cdspipe": ("native-cds", "cds"),
    "eventpipe": ("native-event", "events"),
    "jvmpipe": ("native-jvm", "jvm"),
    "clrpipe": ("native-clr", "clr"),
    "meterpipe": ("native-meter", "meters"),
    "envoy-als-v2": ("envoy-als-v2", "envoy_access_logs_v2"),
    "envoy-als-v3": ("envoy-als-v3", "envoy_access_logs_v3"),
    "envoy-metrics-v2": ("envoy-metrics-v2", "envoy_metrics_v2"),
    "envoy-metrics-v3": ("envoy-metrics-v3", "envoy_metrics_v3"),
    "processpipe": ("native-process", "process"),
    "ebpf-profilingpipe": ("native-ebpf-profiling", "ebpf_profiling"),
    "ebpf-accesslog-pipe": ("native-ebpf-accesslog", "ebpf_access_logs"),
    "otlp-metrics-v1-pipe": ("otlp-metrics-v1", "metrics"),
}
_HEAD = """\
logger:
  log_pattern: ${LOG_PATTERN:%time [%level][%field] - %msg}
  time_pattern: ${TIME_PATTERN:2006-01-02 15:04:05.000}
  level: ${LEVEL:info}
telemetry:
  cluster: ${CLUSTER:satellite-cluster}
  service: ${SERVICE:satellite-service}
  instance: ${INSTANCE:satellite-instance}
  export_type: ${EXPORT_TYPE:prometheus,pprof}
  prometheus:
    address: ${PROMETHEUS_ADDRESS::1234}
    endpoint: ${PROMETHEUS_ENDPOINT:/metrics}
  metrics_service:
    client_name: ${CLIENT_NAME:grpc-client}
    interval: ${INTERVAL:10}
    metric_prefix: ${METRIC_PREFIX:sw_stl_}
  pprof:
    address: ${PPROF_ADDRESS::6060}
sharing:
  clients:
    - plugin_name: "grpc-client"
      finder_type: ${FINDER:static}
      server_addr: ${OAP:127.0.0.1:11800}
      kubernetes_config:
        api_server: ${API_SERVER:}
        namespaces:
          - ${NAMESPACE:default}
        kind: ${KIND:pod}
        extra_port:
          port: ${PORT:11800}
      enable_tls: ${TLS:false}
      client_pem_path: ${CLIENT_PEM_PATH:"client.pem"}
      client_key_path: ${CLIENT_KEY_PATH:"client.key"}
      insecure_skip_verify: ${INSECURE_SKIP_VERIFY:false}
      ca_pem_path: ${CA_PEM_PATH:"ca.pem"}
      check_period: ${CHECK_PERIOD:5}
      authentication: ${AUTHENTICATION:""}
      timeout:
        unary: ${TIMEOUT_UNARY:5s}
        stream: ${TIMEOUT_STREAM:20s}
  servers:
    - plugin_name: "grpc-server"
      address: ${ADDRESS:":11800"}
      tls_cert_file: ${TLS_CERT_FILE:""}
      tls_key_file: ${TLS_KEY_FILE:""}
      accept_limit:
        cpu_utilization: ${CPU_UTILIZATION:75}
        connection_count: ${CONNECTION_COUNT:4000}
pipes:"""


def configuration(*names: str) -> str:
    """With the keys of Satellite's own satellite_config.yaml, and some of its pipes."""
    return _HEAD + "".join(
        _pipe(
            name,
            PIPES[name][0],
            "none-queue" if name == "cdspipe" else "memory-queue",
            **(_ENVOY if name.startswith("envoy") else {}),
        )
        for name in names
    )


#: With all pipes.
WHOLE = configuration(*PIPES)
