"""Senders: plugins that write rows to a target, each as a streaming query."""

from mmapqueue.pipeline.config import ClientTls
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Retry, Undelivered
from mmapqueue.pipeline.process.senders._network import NetworkSender
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row

__all__ = ["Client", "ClientTls", "NetworkSender", "RequestLimits", "Retry", "Row", "Undelivered"]
