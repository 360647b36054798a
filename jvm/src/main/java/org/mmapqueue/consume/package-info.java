/**
 * The consuming side of an open queue: records in flight, leases, redelivery and dead letters. It uses {@code
 * lookup}, {@code registry}, {@code log}, {@code config}, {@code concurrent} and the packages below them. Begin at
 * {@link org.mmapqueue.consume.ConsumerCore}.
 */
package org.mmapqueue.consume;
