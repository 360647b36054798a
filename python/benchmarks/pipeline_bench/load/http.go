package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

type httpSender struct {
	client *http.Client
	url    string
}

func newHTTP(o Options) (Sender, error) {
	transport := &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, WriteBufferSize: 64 << 10}
	return &httpSender{&http.Client{Transport: transport}, "http://" + o.Endpoint + "/v1/logs"}, nil
}

// Connect leaves an idle connection behind: any answer of the server will do.
func (s *httpSender) Connect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return drain(answer)
}

func (s *httpSender) Send(ctx context.Context, encoded []byte) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(encoded))
	if err != nil {
		return "none", err
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := s.client.Do(request)
	if err != nil {
		return "none", err
	}
	name := strconv.Itoa(answer.StatusCode)
	if err := drain(answer); err != nil {
		return name, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
		return name, nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, err := strconv.ParseFloat(answer.Header.Get("Retry-After"), 64)
		if err != nil {
			seconds = 0.1
		}
		return name, &Refused{time.Duration(seconds * float64(time.Second)), fmt.Errorf("status %s", name)}
	default:
		return name, fmt.Errorf("status %s", name)
	}
}

func drain(answer *http.Response) error {
	_, err := io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return err
}

func (s *httpSender) Close() { s.client.CloseIdleConnections() }
