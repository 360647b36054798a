/**
 * What the crash, power-loss and soak tests share: records that identify themselves, the expected log, the check of a
 * consumer's deliveries, kill points, tallies, and directories of temporary queues. It uses the face of the queue and
 * {@code support}. Begin with {@link ExpectedLog}.
 */
package org.mmapqueue.harness;
