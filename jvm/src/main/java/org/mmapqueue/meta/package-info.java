/**
 * The page of a queue's fixed facts and cursors (meta.dat, versions 1 and 2), and the pages of consumers and producers;
 * positions are absolute: segment id × segment size + offset within the segment. It uses {@code io} and
 * {@code errors}. Begin at {@link org.mmapqueue.meta.MetaDescriptor}.
 */
package org.mmapqueue.meta;
