package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const exportLogs = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

// raw passes bytes through: requests are encoded once, replies are not looked at.
type raw struct{}

func (raw) Marshal(value any) (mem.BufferSlice, error) {
	encoded, ok := value.([]byte)
	if !ok {
		return nil, fmt.Errorf("a message of type %T, expected bytes", value)
	}
	return mem.BufferSlice{mem.SliceBuffer(encoded)}, nil
}

func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

func (raw) Name() string { return "proto" }

type grpcSender struct{ connection *grpc.ClientConn }

func newGRPC(o Options) (Sender, error) {
	connection, err := grpc.NewClient("passthrough:///"+o.Endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{})))
	return &grpcSender{connection}, err
}

func (s *grpcSender) Connect(ctx context.Context) error {
	s.connection.Connect()
	for {
		state := s.connection.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if !s.connection.WaitForStateChange(ctx, state) {
			return fmt.Errorf("state %s: %w", state, ctx.Err())
		}
	}
}

func (s *grpcSender) Send(ctx context.Context, request []byte) (string, error) {
	err := s.connection.Invoke(ctx, exportLogs, request, nil)
	found := status.Convert(err)
	if found.Code() == codes.ResourceExhausted {
		for _, detail := range found.Details() {
			if info, ok := detail.(*errdetails.RetryInfo); ok {
				return found.Code().String(), &Refused{info.GetRetryDelay().AsDuration(), err}
			}
		}
		return found.Code().String(), &Refused{100 * time.Millisecond, err}
	}
	return found.Code().String(), err
}

func (s *grpcSender) Close() { _ = s.connection.Close() }
