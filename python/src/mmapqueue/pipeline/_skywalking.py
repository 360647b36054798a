"""What SkyWalking's OAP takes by gRPC: the content types of such events, and the method that takes each."""

from types import MappingProxyType
from typing import Literal, NamedTuple


def content_type(name: str) -> str:
    """The content type of a payload by its short name, such as `skywalking.segment` or `envoy.metrics_v3`."""
    return f"application/x-protobuf; proto={name}"


SEGMENT = content_type("skywalking.segment")
LOGS = content_type("skywalking.logs")
METERS = content_type("skywalking.meters")


class Target(NamedTuple):
    """How events of a content type are sent.

    Attributes:
        path: The method.
        payload: What the payload of an event is. `request`: the request of a method without a stream. `message`: a
            message that does not depend on others; one stream takes those of many events. `stream`: the messages of one
            stream, as field 1 of a message; later ones may inherit from earlier ones, so each event is a stream of its
            own.
        one_server: Whether all events go to the same of several servers, since the OAP computes rates from the values
            that one server gets.
    """

    path: str
    payload: Literal["request", "message", "stream"]
    one_server: bool = False


_SKYWALKING = {
    "segment": Target("TraceSegmentReportService/collect", "message"),
    "span_attached_event": Target("SpanAttachedEventReportService/collect", "message"),
    "logs": Target("LogReportService/collect", "stream"),
    "meters": Target("MeterReportService/collectBatch", "message", one_server=True),
    "jvm_metrics": Target("JVMMetricReportService/collect", "request"),
    "clr_metrics": Target("CLRMetricReportService/collect", "request"),
    "event": Target("EventService/collect", "message"),
    "instance_properties": Target("ManagementService/reportInstanceProperties", "request"),
    "instance_ping": Target("ManagementService/keepAlive", "request"),
    "thread_snapshot": Target("ProfileTask/collectSnapshot", "message"),
    "browser_perf": Target("BrowserPerfService/collectPerfData", "request"),
    "browser_error_log": Target("BrowserPerfService/collectErrorLogs", "message"),
    "mesh_metrics": Target("ServiceMeshMetricService/collect", "message"),
    "ebpf_process_ping": Target("EBPFProcessService/keepAlive", "request"),
    "ebpf_profiling": Target("EBPFProfilingService/collectProfilingData", "stream"),
    "ebpf_access_logs": Target("EBPFAccessLogService/collect", "stream"),
}
_ENVOY = {
    "access_logs_v2": Target("envoy.service.accesslog.v2.AccessLogService/StreamAccessLogs", "stream"),
    "access_logs_v3": Target("envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs", "stream"),
    "metrics_v2": Target("envoy.service.metrics.v2.MetricsService/StreamMetrics", "stream", one_server=True),
    "metrics_v3": Target("envoy.service.metrics.v3.MetricsService/StreamMetrics", "stream", one_server=True),
}
#: By content type.
TARGETS = MappingProxyType(
    {
        content_type(f"{package}.{name}"): each._replace(path=prefix + each.path)
        for package, prefix, targets in (("skywalking", "/skywalking.v3.", _SKYWALKING), ("envoy", "/", _ENVOY))
        for name, each in targets.items()
    }
)
