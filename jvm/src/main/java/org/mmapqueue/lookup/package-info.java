/**
 * Random access: reads records by offset, and finds offsets by time and by position. It uses {@code registry},
 * {@code log}, {@code config} and the packages below them. Begin at {@link org.mmapqueue.lookup.Log}.
 */
package org.mmapqueue.lookup;
