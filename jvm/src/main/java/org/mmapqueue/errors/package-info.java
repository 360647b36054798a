/**
 * The exceptions of mmapqueue: one small tree of unchecked exceptions under
 * {@link org.mmapqueue.errors.MmapQueueException}. Every message names what was wrong, where, and the allowed range.
 */
@NullMarked
package org.mmapqueue.errors;

import org.jspecify.annotations.NullMarked;
