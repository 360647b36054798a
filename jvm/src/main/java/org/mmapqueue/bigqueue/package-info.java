/**
 * The interfaces of bigqueue over a queue of this library: programs move by changing their imports from {@code
 * com.leansoft.bigqueue}. Names of methods, exceptions and meaning of indexes are those of bigqueue; a future is a {@link
 * java.util.concurrent.CompletableFuture}. The files are those of this library: {@link org.mmapqueue.MmapQueue#open} and
 * the tools work on them, and files of bigqueue cannot be opened. docs/migration/bigqueue.md has the differences.
 * It uses the public API alone. Begin at {@link org.mmapqueue.bigqueue.IBigQueue}.
 *
 * <p><b>Errors.</b> A failure is an {@link java.io.IOException} with the exception of this library as its cause, or that
 * exception where the method declares no IOException. An index that holds no item throws {@link
 * java.lang.IndexOutOfBoundsException}.
 */
@NullMarked
package org.mmapqueue.bigqueue;

import org.jspecify.annotations.NullMarked;
