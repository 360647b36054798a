/**
 * Pushes and pops that return futures, and the threads that complete them. It uses {@code write}, {@code io} and the
 * values of the face. Begin at {@link org.mmapqueue.async.AsyncPusher}.
 */
@NullMarked
package org.mmapqueue.async;

import org.jspecify.annotations.NullMarked;
