/**
 * The exceptions of mmapqueue: one small tree of unchecked exceptions under
 * {@link org.mmapqueue.errors.MmapQueueException}. It uses the JDK alone. Begin at the root; every message names the
 * fault, its location, and the allowed range.
 */
@NullMarked
package org.mmapqueue.errors;

import org.jspecify.annotations.NullMarked;
