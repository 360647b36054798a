package org.mmapqueue.log;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Listing;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;

/**
 * Explains a fault in a mapping. The JVM throws InternalError when a page of a mapping cannot be read or written,
 * mostly because another process has truncated the file. Compiled code continues after the fault, and the error is
 * thrown at a later call into the JVM: mostly within the operation, sometimes after it. Has no state; safe for any
 * number of threads.
 */
public final class TruncatedFiles {
    private static final int PAGE_BYTES = 4096;

    private TruncatedFiles() {}

    /**
     * Returns the exception to throw instead of the error; it names the file that is shorter than its mapping, or, if
     * there is none, the directory: a full file system that copies pages when they are written (btrfs), or one that was
     * shut down after an error (XFS), fails so.
     *
     * @throws InternalError the error itself, if it is not a fault in a mapping
     */
    public static MmapQueueException explain(InternalError fault, SegmentRing ring) {
        if (!isMappingFault(fault)) {
            throw fault;
        }
        Path directory = ring.directory();
        Geometry geometry = ring.geometry();
        CorruptException found = first(fault, directory, Geometry.FILE_SUFFIX, geometry.segmentSize());
        if (found == null) {
            found = check(
                    fault,
                    directory.resolve(MetaPage.FILE_NAME),
                    geometry.format().metaBytes());
        }
        if (found == null) {
            found = first(fault, directory.resolve(ConsumerPage.DIRECTORY), ConsumerPage.SUFFIX, PAGE_BYTES);
        }
        if (found == null) {
            found = first(fault, directory.resolve(ProducerPage.DIRECTORY), ProducerPage.SUFFIX, PAGE_BYTES);
        }
        return found == null ? unreadable(fault, directory) : found;
    }

    /** Whether a page of a mapping could not be read or written. */
    public static boolean isMappingFault(Throwable failure) {
        // One with a cause is another fault: a call could not be linked, mostly at the end of the stack.
        return failure instanceof InternalError && failure.getCause() == null;
    }

    /** The exception for a fault while each file has its full length. */
    public static MmapQueueException unreadable(InternalError fault, Path directory) {
        FileSystemException cause = new FileSystemException(directory.toString(), null, fault.getMessage());
        cause.initCause(fault);
        return new MmapQueueException(
                "a page of a mapped file of the queue in " + directory
                        + " could not be read or written: the disk is full or has failed, or its file system was shut"
                        + " down",
                cause);
    }

    private static CorruptException first(InternalError fault, Path directory, String suffix, long expected) {
        try {
            for (Path file : Listing.of(directory, suffix).values()) {
                CorruptException found = check(fault, file, expected);
                if (found != null) {
                    return found;
                }
            }
            return null;
        } catch (IOException e) {
            fault.addSuppressed(e);
            return null;
        }
    }

    private static CorruptException check(InternalError fault, Path file, long expected) {
        try {
            long bytes = Files.size(file);
            if (bytes >= expected) {
                return null;
            }
            CorruptException found = new CorruptException(
                    file.toString(),
                    bytes,
                    "the file has " + bytes + " bytes, expected " + expected
                            + ": another process has truncated it while the queue was open");
            found.initCause(fault);
            return found;
        } catch (NoSuchFileException e) {
            return null; // the mapping of a deleted file stays valid
        } catch (IOException e) {
            fault.addSuppressed(e);
            return null;
        }
    }
}
