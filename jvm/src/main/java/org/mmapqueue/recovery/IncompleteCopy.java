package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Storage;

/**
 * Marks the directory of a copy, or of an adopted queue, while it is written. Without the mark, an interrupted copy is
 * like a queue without a meta page, and a repair would make a queue of it that lacks records.
 */
public final class IncompleteCopy {
    private static final String MARK = "copy.incomplete";

    private IncompleteCopy() {}

    /** Marks a directory, durably. */
    public static void begin(Storage storage, Path copy) throws IOException {
        storage.open(copy.resolve(MARK), Storage.Mode.CREATE).close();
        storage.syncDirectory(copy);
    }

    /** Removes the mark, durably. The meta page is written next. */
    public static void end(Storage storage, Path copy) throws IOException {
        if (storage.delete(copy.resolve(MARK))) {
            storage.syncDirectory(copy);
        }
    }

    /** Throws if a directory is marked. */
    public static void check(Path directory) {
        if (Files.exists(directory.resolve(MARK))) {
            throw new MmapQueueException("the queue in " + directory
                    + " is incomplete, as it was interrupted: delete the directory, and repeat the copy, repair or"
                    + " adoption");
        }
    }
}
