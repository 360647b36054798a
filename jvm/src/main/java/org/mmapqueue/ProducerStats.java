package org.mmapqueue;

import java.time.Instant;

/**
 * The last batch of an idempotent producer, at one moment.
 *
 * @param name the producer's name
 * @param lastSequence the sequence of its last batch in the log; -1 for none
 * @param endOffset the offset after the last record of that batch; 0 for none
 * @param createdAt when the producer pushed for the first time
 */
public record ProducerStats(String name, long lastSequence, long endOffset, Instant createdAt) {}
