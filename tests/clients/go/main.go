// Sends with clients of Go: `clients fluent PORT COUNT`, `clients statsd PORT COUNT`, `clients remote_write URL COUNT`.
// It ends with 0 when each of them has succeeded.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/DataDog/datadog-go/v5/statsd"
	"github.com/fluent/fluent-logger-golang/fluent"
	"github.com/prometheus/client_golang/exp/api/remote"
	writev2 "github.com/prometheus/client_golang/exp/api/remote/genproto/v2"
)

func main() {
	kinds := map[string]func(string, int) error{"fluent": sendFluent, "statsd": sendStatsd, "remote_write": sendRemote}
	count, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = kinds[os.Args[1]](os.Args[2], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sendFluent posts records with acknowledgements.
func sendFluent(port string, count int) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	logger, err := fluent.New(fluent.Config{
		FluentHost: "127.0.0.1", FluentPort: number, RequestAck: true, SubSecondPrecision: true,
	})
	if err != nil {
		return err
	}
	for each := 0; each < count; each++ {
		record := map[string]any{"message": fmt.Sprintf("text %d", each), "number": each}
		if err := logger.PostWithTime("app", time.Unix(1760000000, int64(each)), record); err != nil {
			return err
		}
	}
	return logger.Close()
}

// sendStatsd sends counts, a gauge and a distribution with tags.
func sendStatsd(port string, count int) error {
	client, err := statsd.New("127.0.0.1:"+port, statsd.WithoutTelemetry(), statsd.WithoutClientSideAggregation())
	if err != nil {
		return err
	}
	for each := 0; each < count; each++ {
		if err := client.Incr("hits", []string{"env:test"}, 1); err != nil {
			return err
		}
	}
	if err := client.Gauge("stock", 7.5, nil, 1); err != nil {
		return err
	}
	if err := client.Distribution("pay", 12.5, []string{"env:test", "flag"}, 1); err != nil {
		return err
	}
	return client.Close()
}

// sendRemote writes samples by remote write 2.0, and compares the answer's numbers.
func sendRemote(url string, count int) error {
	api, err := remote.NewAPI(url, remote.WithAPIPath("api/v1/write"))
	if err != nil {
		return err
	}
	for each := 0; each < count; each++ {
		symbols := writev2.NewSymbolTable()
		series := &writev2.TimeSeries{
			LabelsRefs: symbols.SymbolizeLabels([]string{"__name__", "hits_total", "number", strconv.Itoa(each)}, nil),
			Samples:    []*writev2.Sample{{Value: float64(each), Timestamp: 1760000000000}},
			Metadata:   &writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER},
		}
		request := &writev2.Request{Timeseries: []*writev2.TimeSeries{series}, Symbols: symbols.Symbols()}
		stats, err := api.Write(context.Background(), remote.WriteV2MessageType, request)
		if err != nil {
			return err
		}
		if stats.Samples != 1 || stats.Histograms != 0 || stats.Exemplars != 0 {
			return fmt.Errorf("the answer to a request of one sample has %+v", stats)
		}
	}
	return nil
}
