/** How long a push takes when pushes come at a given rate, and how late that makes them. */
package org.mmapqueue.bench.latency;
