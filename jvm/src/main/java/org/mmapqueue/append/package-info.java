/**
 * Appends records and batches at the log end, in both formats; a failed append is rolled back or committed. It uses
 * {@code log}, {@code flush}, {@code swap}, {@code config}, {@code concurrent} and the packages below them. Begin at
 * {@link org.mmapqueue.append.Appender}.
 */
package org.mmapqueue.append;
