module clients

go 1.26.0

require (
	github.com/DataDog/datadog-go/v5 v5.9.1
	github.com/fluent/fluent-logger-golang v1.10.2
	github.com/prometheus/client_golang/exp v0.0.0-20261019101427-217707f26b14
)

require (
	github.com/Microsoft/go-winio v0.5.0 // indirect
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/tinylib/msgp v1.3.0 // indirect
	golang.org/x/sys v0.0.0-20210510120138-977fb7262007 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
