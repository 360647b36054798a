package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Refused is the answer of a server whose queue is full: the same request is sent again after the pause.
type Refused struct {
	After time.Duration
	Cause error
}

func (r *Refused) Error() string { return r.Cause.Error() }

// Sender is one connection to the server.
type Sender interface {
	Connect(ctx context.Context) error
	// Send returns the name of the status, and an error unless the server accepted the request.
	Send(ctx context.Context, request []byte) (string, error)
	Close()
}

func newSender(o Options) (Sender, error) {
	if o.Protocol == "http" {
		return newHTTP(o)
	}
	return newGRPC(o)
}

// Client is one connection with one request in flight. One goroutine uses it.
type Client struct {
	number   int
	options  Options
	request  *Request
	sender   Sender
	accepted []uint32
	latency  []time.Duration
	statuses map[string]int
	refused  int
	failed   int
	lastEnd  time.Time
}

// Run sends until the duration ends. With a rate, each request has its due time, and its latency counts from there.
func (c *Client) Run(ctx context.Context, start time.Time) {
	c.statuses = map[string]int{}
	end := start.Add(c.options.Duration)
	var period time.Duration
	due := start
	if c.options.Rate > 0 {
		seconds := float64(c.options.Batch*c.options.Connections) / c.options.Rate
		period = time.Duration(seconds * float64(time.Second))
		due = start.Add(period * time.Duration(c.number) / time.Duration(c.options.Connections))
	}
	for sequence := uint32(0); due.Before(end) && ctx.Err() == nil; sequence++ {
		if period > 0 {
			time.Sleep(time.Until(due))
		}
		c.request.SetID(c.number, sequence)
		if c.deliver(ctx, end) {
			c.accepted = append(c.accepted, sequence)
			c.lastEnd = time.Now()
			c.latency = append(c.latency, c.lastEnd.Sub(due))
		} else if c.failed > 0 && c.options.EndOnError {
			return
		}
		if period > 0 {
			due = due.Add(period)
		} else {
			due = time.Now()
		}
	}
}

// deliver sends one request, again after a refusal, and returns whether the server accepted it.
func (c *Client) deliver(ctx context.Context, end time.Time) bool {
	for {
		limited, cancel := context.WithTimeout(ctx, c.options.Timeout)
		status, err := c.sender.Send(limited, c.request.Bytes())
		cancel()
		c.statuses[status]++
		var refused *Refused
		switch {
		case err == nil:
			return true
		case errors.As(err, &refused):
			c.refused++
			if time.Now().Add(refused.After).After(end) || ctx.Err() != nil {
				return false
			}
			time.Sleep(refused.After)
		default:
			c.failed++
			// The library may still hold the bytes of a failed request.
			c.request = c.request.Copy()
			time.Sleep(10 * time.Millisecond)
			return false
		}
	}
}

// Summary is what the command prints, as one line of JSON. Latencies are in ms.
type Summary struct {
	AcceptedRequests int                `json:"accepted_requests"`
	AcceptedLogs     int                `json:"accepted_logs"`
	RefusedRequests  int                `json:"refused_requests"`
	FailedRequests   int                `json:"failed_requests"`
	RequestBytes     int                `json:"request_bytes"`
	Seconds          float64            `json:"seconds"`
	LogsPerSecond    float64            `json:"logs_per_second"`
	LatencyMillis    map[string]float64 `json:"latency_ms"`
	Statuses         map[string]int     `json:"statuses"`
}

// Summarise adds up the clients after all have ended.
func Summarise(o Options, clients []*Client, elapsed time.Duration) Summary {
	summary := Summary{Statuses: map[string]int{}, RequestBytes: len(clients[0].request.Bytes())}
	var all []time.Duration
	for _, c := range clients {
		summary.AcceptedRequests += len(c.accepted)
		summary.RefusedRequests += c.refused
		summary.FailedRequests += c.failed
		all = append(all, c.latency...)
		for status, count := range c.statuses {
			summary.Statuses[status] += count
		}
	}
	summary.AcceptedLogs = summary.AcceptedRequests * o.Batch
	summary.Seconds = elapsed.Seconds()
	summary.LogsPerSecond = float64(summary.AcceptedLogs) / elapsed.Seconds()
	slices.Sort(all)
	summary.LatencyMillis = map[string]float64{}
	for name, share := range map[string]float64{"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1} {
		if len(all) > 0 {
			at := min(len(all)-1, int(share*float64(len(all))))
			summary.LatencyMillis[name] = float64(all[at].Microseconds()) / 1000
		}
	}
	return summary
}
