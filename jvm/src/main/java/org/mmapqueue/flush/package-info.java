/**
 * When and what is fsynced, in which order: by period, by count, on request, in groups. It uses {@code segment},
 * {@code meta}, {@code io} and {@code errors}. Begin at {@link org.mmapqueue.flush.Flusher}; {@link
 * org.mmapqueue.flush.Syncer} has the order.
 */
package org.mmapqueue.flush;
