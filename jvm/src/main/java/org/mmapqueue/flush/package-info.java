/**
 * When and what is fsynced, in which order: by period, by count, on request, in groups. It uses {@code segment},
 * {@code meta}, {@code io} and {@code errors}. Begin at {@link org.mmapqueue.flush.Flusher}; {@link
 * org.mmapqueue.flush.Syncer} has the order.
 *
 * <p>All that makes a thread fsync files of a queue:
 *
 * <table>
 * <caption>Threads, occasions and files</caption>
 * <tr><th>thread</th><th>when</th><th>what</th></tr>
 * <tr><td>flusher</td><td>every flush_period; each flush_ceiling_num records, as pushes request it</td><td>all that is new:
 *     files of in-flight records, segments and their entries, consumers' pages, meta.dat</td></tr>
 * <tr><td>caller of flush</td><td>at once</td><td>the same</td></tr>
 * <tr><td>one of the threads in a sync push or {@code awaitDurable}, for all of a group</td><td>at once</td><td>the same,
 *     without files of in-flight records</td></tr>
 * <tr><td>housekeeper</td><td>less than a quarter of the ring is free, and acks would free it</td><td>these
 *     consumers' pages</td></tr>
 * <tr><td>a push</td><td>it needs the slot of an acked segment, and the housekeeper was not fast enough</td><td>the
 *     same</td></tr>
 * <tr><td>a push</td><td>an append has failed, and its bytes were set to zero</td><td>that part of the segments</td></tr>
 * <tr><td>a sync pushOnce</td><td>before the batch is published</td><td>the producer's page</td></tr>
 * <tr><td>saver, in a process that only reads</td><td>every flush_period</td><td>files of in-flight records</td></tr>
 * <tr><td>caller, on a consumer or a producer</td><td>it is created, moved, labelled or deleted</td><td>its page and its
 *     entry, meta.dat</td></tr>
 * <tr><td>caller of gc</td><td>files of free slots were deleted</td><td>the directory</td></tr>
 * <tr><td>caller of close</td><td>the last step of the writer; of each consumer</td><td>as the flusher; the consumer's
 *     page, then its in-flight file</td></tr>
 * <tr><td>caller of open</td><td>{@code core.LogStartup} has the steps</td><td>all that recovery has read or
 *     changed</td></tr>
 * </table>
 */
package org.mmapqueue.flush;
