package org.mmapqueue.archive;

import java.time.Instant;

/**
 * What an archive knows of a partition besides its queue.
 *
 * @param local the number of the partition in the queue's directory
 * @param host the host that has registered the queue; {@link Archive#owner} knows the one that ships it now
 * @param created time of the registration
 */
public record Registration(int local, String host, Instant created) {}
