/**
 * Sequential readers of both formats, and the batches that they fill. It uses {@code swap} and the packages below it,
 * and of the face {@link org.mmapqueue.MessageHandler}. Begin at {@link org.mmapqueue.log.LogReader}; {@link
 * org.mmapqueue.log.LogReaderV2} recognizes damage.
 */
package org.mmapqueue.log;
