// Command load sends OTLP log requests over many connections and counts what the server accepted.
//
// Each log of a request carries the request's id, so a reader can compare what it found with what was accepted.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Options are the command line.
type Options struct {
	Endpoint    string
	Protocol    string
	Connections int
	Batch       int
	Body        int
	Rate        float64
	Duration    time.Duration
	Timeout     time.Duration
	Accepted    string
	EndOnError  bool
}

func parse() (Options, error) {
	var o Options
	flag.StringVar(&o.Endpoint, "endpoint", "127.0.0.1:4317", "host:port of the server")
	flag.StringVar(&o.Protocol, "protocol", "grpc", "grpc or http")
	flag.IntVar(&o.Connections, "connections", 8, "connections, each with one request in flight (1 to 65535)")
	flag.IntVar(&o.Batch, "batch", 100, "logs in a request (1 to 65535)")
	flag.IntVar(&o.Body, "body", 1000, "bytes in the body of a log (32 to 1048576)")
	flag.Float64Var(&o.Rate, "rate", 0, "logs a second over all connections; 0 = as many as the server accepts")
	flag.DurationVar(&o.Duration, "duration", 10*time.Second, "time to send")
	flag.DurationVar(&o.Timeout, "timeout", 30*time.Second, "deadline of a request")
	flag.StringVar(&o.Accepted, "accepted", "", "file for the ids of accepted requests, one a line")
	flag.BoolVar(&o.EndOnError, "end-on-error", false, "a connection ends at its first failed request")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.Protocol != "grpc" && o.Protocol != "http":
		return o, fmt.Errorf("-protocol %q: expected grpc or http", o.Protocol)
	case o.Connections < 1 || o.Connections > 65535:
		return o, fmt.Errorf("-connections %d: expected 1 to 65535", o.Connections)
	case o.Batch < 1 || o.Batch > 65535:
		return o, fmt.Errorf("-batch %d: expected 1 to 65535", o.Batch)
	case o.Body < 32 || o.Body > 1<<20:
		return o, fmt.Errorf("-body %d: expected 32 to 1048576", o.Body)
	case o.Rate < 0:
		return o, fmt.Errorf("-rate %g: expected at least 0", o.Rate)
	}
	return o, nil
}

func main() {
	options, err := parse()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
	if err := run(options); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(o Options) error {
	template, err := NewTemplate(o.Batch, o.Body)
	if err != nil {
		return err
	}
	clients := make([]*Client, o.Connections)
	for i := range clients {
		sender, err := newSender(o)
		if err != nil {
			return err
		}
		defer sender.Close()
		clients[i] = &Client{number: i, options: o, request: template.Copy(), sender: sender}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// All connections exist before the first request counts.
	if err := connect(ctx, clients); err != nil {
		return err
	}
	start := time.Now()
	var wait sync.WaitGroup
	for _, client := range clients {
		wait.Add(1)
		go func() {
			defer wait.Done()
			client.Run(ctx, start)
		}()
	}
	wait.Wait()
	if o.Accepted != "" {
		if err := writeAccepted(o.Accepted, clients); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(Summarise(o, clients, time.Since(start)))
}

func connect(ctx context.Context, clients []*Client) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, client := range clients {
		if err := client.sender.Connect(ctx); err != nil {
			return fmt.Errorf("connection %d of %d to %s: %w", client.number+1, len(clients), client.options.Endpoint, err)
		}
	}
	return nil
}

func writeAccepted(path string, clients []*Client) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for _, client := range clients {
		for _, sequence := range client.accepted {
			fmt.Fprintln(out, id(client.number, sequence))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}
