"""Loads the PEM files of TLS. An error names the key, the file and what is wrong with it."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from mmapqueue._values.errors import ConfigError
from mmapqueue.pipeline.config._model import ClientTls, Tls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mmapqueue.pipeline.config._problems import Location

#: OpenSSL's reasons for a key of another certificate; the last one is for one of another algorithm.
_MISMATCHES = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}


class TlsFault(NamedTuple):
    """What is wrong with a file.

    Attributes:
        key: The key that names it: certificate, key, ca or client_ca.
        words: The description, which begins with the file.
        readable: Whether it can be read here.
    """

    key: str
    words: str
    readable: bool = True


class _Encrypted(Exception):
    pass


def tls_in(part: Any, at: Location = ()) -> Iterator[tuple[Location, Tls | ClientTls]]:
    """The TLS settings in a part of a configuration, and their locations in it; an authority alone is one, too."""
    if isinstance(part, Tls | ClientTls):
        yield at, part
    elif isinstance(part, BaseModel):
        if isinstance(ca := getattr(part, "ca", None), Path):
            yield at, ClientTls(ca=ca)
        for key, each in part:
            yield from tls_in(each, (*at, key))
    elif isinstance(part, tuple | list):
        for index, each in enumerate(part):
            yield from tls_in(each, (*at, index))


def tls_faults(tls: Tls | ClientTls) -> list[TlsFault]:
    """What is wrong with the files; of the key's match with its certificate only when each of them is right."""
    found = [fault for key, file in tls if file is not None and (fault := _of_file(key, file)) is not None]
    if not found and tls.certificate is not None:
        pair = _of_pair(tls.certificate, tls.key)
        found += [] if pair is None else [pair]
    return found


def require_tls(tls: Tls | ClientTls, where: str) -> None:
    """Checks the files.

    Args:
        tls: The files.
        where: What the error begins with, such as "server grpc: tls".

    Raises:
        ConfigError: One of them cannot be read, or is wrong.
    """
    for fault in tls_faults(tls):
        raise ConfigError(f"{where}.{fault.key}: {fault.words}", fault.key)


def tls_context(tls: Tls | ClientTls, where: str) -> ssl.SSLContext:
    """The settings of a server's or a client's sockets; arguments and errors are those of `require_tls`."""
    require_tls(tls, where)
    if isinstance(tls, Tls):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.client_ca)
        if tls.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
    else:
        context = ssl.create_default_context(cafile=tls.ca)
    if tls.certificate is not None:
        try:
            context.load_cert_chain(tls.certificate, tls.key)
        except ssl.SSLError as error:  # Such as a key that is too short for the system's rules.
            words = f"{str(tls.certificate)!r} cannot be used: {error.reason or error}"
            raise ConfigError(f"{where}.certificate: {words}", "certificate") from None
    return context


def _of_file(key: str, file: Path) -> TlsFault | None:
    name = repr(str(file))
    try:
        content = file.read_bytes()
    except OSError as error:
        return TlsFault(key, f"{name} cannot be read: {error.strerror}", readable=False)
    if not content.strip():
        return TlsFault(key, f"{name} is empty")
    if key == "key":
        return None if b"PRIVATE KEY-----" in content else TlsFault(key, f"{name} is not a PEM file with a private key")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except ssl.SSLError:
        return TlsFault(key, f"{name} is not a PEM file with a certificate")
    return None


def _of_pair(certificate: Path, key: Path | None) -> TlsFault | None:
    """What is wrong with a private key, which may be in the file of its certificate."""
    at, name = ("certificate", str(certificate)) if key is None else ("key", str(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # How strong keys have to be is a rule of who uses them.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except _Encrypted:
        return TlsFault(at, f"{name!r} has an encrypted private key; allowed: one without a password")
    except ssl.SSLError as error:
        if error.reason in _MISMATCHES:
            return TlsFault(at, f"{name!r} does not match the certificate {str(certificate)!r}")
        return TlsFault(at, f"{name!r} is not a PEM file with a private key")
    return None


def _no_password() -> str:
    raise _Encrypted
