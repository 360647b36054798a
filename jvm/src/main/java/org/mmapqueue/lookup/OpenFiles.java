package org.mmapqueue.lookup;

import java.nio.file.Path;
import org.mmapqueue.config.Settings;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * The open files of a queue, and the settings with which it was opened.
 *
 * @param directory the directory as the caller has named it, perhaps by a symbolic link; the ring has its real path
 */
public record OpenFiles(
        Path directory, Settings settings, MetaPage meta, SegmentRing ring, Swapper swapper, Registry registry) {}
