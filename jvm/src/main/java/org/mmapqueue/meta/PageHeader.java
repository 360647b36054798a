package org.mmapqueue.meta;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;

/** The header of a consumer's or producer's page: magic, the queue's UUID, time of creation, checksum. */
public final class PageHeader {
    static final int LENGTH = 4096;
    static final int UUID_HIGH = 8;
    static final int UUID_LOW = 16;
    static final int CREATED_AT = 24;
    static final int CHECKSUM = 32;

    private PageHeader() {}

    /** Returns a new page: a header, then zeros. */
    static ByteBuffer create(long magic, MetaFields queue, long createdAtMicros) {
        ByteBuffer image = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(0, magic).putLong(UUID_HIGH, queue.uuidHigh()).putLong(UUID_LOW, queue.uuidLow());
        image.putLong(CREATED_AT, createdAtMicros);
        return image.putInt(CHECKSUM, checksum(image.array()));
    }

    /**
     * Reads a page, and checks its header.
     *
     * @param kind "consumer" or "producer", for the error's text
     * @throws CorruptException when it is damaged, or of another queue
     */
    static ByteBuffer read(DataFile file, Path path, long magic, MetaFields queue, String kind) throws IOException {
        ByteBuffer image = read(file, path, magic, kind);
        if (image.getLong(UUID_HIGH) != queue.uuidHigh() || image.getLong(UUID_LOW) != queue.uuidLow()) {
            throw new CorruptException(path.toString(), UUID_HIGH, "the " + kind + " belongs to another queue");
        }
        return image;
    }

    /** Reads a page of any queue. */
    static ByteBuffer read(DataFile file, Path path, long magic, String kind) throws IOException {
        ByteBuffer image = ByteBuffer.allocate(LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        if (file.read(image, 0) != LENGTH || file.size() != LENGTH) {
            throw new CorruptException(
                    path.toString(), file.size(), "the file has " + file.size() + " bytes, expected " + LENGTH);
        }
        if (image.getLong(0) != magic || image.getInt(CHECKSUM) != checksum(image.array())) {
            throw new CorruptException(
                    path.toString(), 0, "this is not a " + kind + "'s page, or its header is damaged");
        }
        return image;
    }

    static int checksum(byte[] image) {
        CRC32C crc = new CRC32C();
        crc.update(image, 0, CHECKSUM);
        return (int) crc.getValue();
    }
}
