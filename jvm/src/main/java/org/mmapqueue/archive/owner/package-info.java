/**
 * Who may store runs of a partition: claims with epochs, and the runs that readers leave out because their shipper was
 * replaced. It uses {@code archive.files}, {@code archive.run}, {@code meta} and {@code errors}. Begin at {@link
 * org.mmapqueue.archive.owner.Ownership}.
 */
package org.mmapqueue.archive.owner;
