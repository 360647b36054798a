/** The latency of pushes at a steady rate. Not JMH, which measures calls without pauses. */
package org.mmapqueue.bench.latency;
