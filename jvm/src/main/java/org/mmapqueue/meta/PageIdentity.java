package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/** The identity of the queue that a producer's page belongs to. */
public final class PageIdentity {
    private PageIdentity() {}

    /** The upper half of the queue's UUID, if the page's header is valid and has this lower half. */
    public static OptionalLong uuidHigh(Storage storage, Path path, long uuidLow) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            ByteBuffer image = PageHeader.read(file, path, ProducerPage.MAGIC, "producer");
            long high = image.getLong(PageHeader.UUID_HIGH);
            return image.getLong(PageHeader.UUID_LOW) == uuidLow ? OptionalLong.of(high) : OptionalLong.empty();
        } catch (CorruptException e) {
            return OptionalLong.empty();
        }
    }
}
