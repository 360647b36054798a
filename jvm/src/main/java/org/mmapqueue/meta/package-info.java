/**
 * The page of a queue's fixed facts and cursors (meta.dat, versions 1 and 2), and the pages of named consumers.
 * Positions are absolute: segment id × segment size + offset in the segment.
 */
package org.mmapqueue.meta;
