/**
 * Queues of values: a {@link org.mmapqueue.typed.Codec} converts values to payloads and back. It uses the public API
 * alone. Begin at {@link org.mmapqueue.typed.TypedQueue}.
 */
@NullMarked
package org.mmapqueue.typed;

import org.jspecify.annotations.NullMarked;
