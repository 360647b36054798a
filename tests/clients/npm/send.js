// Sends with clients of npm: `node send.js fluent PORT COUNT MODE KEY`, `node send.js statsd PORT COUNT PROTOCOL`.
// It ends with 0 when each of them has succeeded.
const { EventTime, FluentClient } = require("@fluent-org/logger");
const StatsD = require("hot-shots");

async function fluent(port, count, mode, key) {
  const client = new FluentClient("app", {
    eventMode: mode,
    socket: { host: "127.0.0.1", port, timeout: 60000 },
    ack: { ackTimeout: 60000 },
    disableRetry: true,
    security: key ? { clientHostname: "node", sharedKey: key } : undefined,
  });
  const sent = [];
  for (let number = 0; number < count; number++) {
    sent.push(client.emit({ message: `text ${number}`, number }, new EventTime(1760000000, number)));
  }
  // Each ends when it is acknowledged.
  await Promise.all(sent);
  await client.shutdown();
}

async function statsd(port, count, protocol) {
  const client = new StatsD({ host: "127.0.0.1", port, protocol, globalTags: { env: "test" } });
  for (let number = 0; number < count; number++) {
    client.increment("hits");
  }
  client.gauge("stock", 7.5);
  client.distribution("pay", 12.5, ["flag"]);
  await new Promise((resolve, reject) => client.close((error) => (error ? reject(error) : resolve())));
}

const [kind, port, count, ...others] = process.argv.slice(2);
({ fluent, statsd })[kind](Number(port), Number(count), ...others).catch((error) => {
  console.error(error);
  process.exit(1);
});
