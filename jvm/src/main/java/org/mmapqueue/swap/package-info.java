/**
 * The swapper: which segments are mapped, pins and eviction, and preallocation ahead of the writer. It uses {@code
 * segment}, {@code io} and {@code errors}. Begin at {@link org.mmapqueue.swap.Swapper}.
 */
package org.mmapqueue.swap;
