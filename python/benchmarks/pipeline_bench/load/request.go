package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

const (
	marker      = "id="
	placeholder = "000000000000"
)

// id is the identity of a request: four hexadecimal digits of the connection, eight of the sequence.
func id(connection int, sequence uint32) string { return fmt.Sprintf("%04x%08x", connection, sequence) }

// Request is an encoded request and the positions of its id, once in each log.
type Request struct {
	encoded   []byte
	positions []int
}

// NewTemplate encodes a request of `batch` logs with bodies of `body` bytes.
func NewTemplate(batch, body int) (*Request, error) {
	records := make([]*logs.LogRecord, batch)
	now := uint64(time.Now().UnixNano())
	for i := range records {
		text := fmt.Sprintf("%s%s-%04x ", marker, placeholder, i)
		records[i] = &logs.LogRecord{
			TimeUnixNano:   now + uint64(i),
			SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_INFO,
			SeverityText:   "Info",
			Body:           str(text + strings.Repeat("m", body-len(text))),
			Attributes:     []*common.KeyValue{{Key: "app", Value: str("server")}},
		}
	}
	encoded, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: str("load")}}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "load"}, LogRecords: records}},
	}}})
	if err != nil {
		return nil, err
	}
	request := &Request{encoded: encoded}
	pattern := []byte(marker + placeholder)
	for from := 0; ; {
		found := bytes.Index(encoded[from:], pattern)
		if found < 0 {
			break
		}
		request.positions = append(request.positions, from+found+len(marker))
		from += found + len(pattern)
	}
	if len(request.positions) != batch {
		return nil, fmt.Errorf("%d ids in a request of %d logs", len(request.positions), batch)
	}
	return request, nil
}

func str(value string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}
}

// Copy returns a request with bytes of its own.
func (r *Request) Copy() *Request {
	return &Request{encoded: slices.Clone(r.encoded), positions: r.positions}
}

// SetID writes the id into each log.
func (r *Request) SetID(connection int, sequence uint32) {
	text := id(connection, sequence)
	for _, position := range r.positions {
		copy(r.encoded[position:], text)
	}
}

// Bytes returns the encoded request; SetID changes them in place.
func (r *Request) Bytes() []byte { return r.encoded }
