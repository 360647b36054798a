package org.mmapqueue.bench.peer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * A queue on RocksDB: the key is a counter, values are read in order of keys and removed in ranges. By its tuning guide
 * for such a load: a write-ahead log without fsync, large memtables, level compaction without compression, a tailing
 * iterator. Checksums are on, its default. Readers share one iterator.
 */
public final class Rocks implements Subject {
    private static final long MEMTABLE_BYTES = 64 << 20;
    private static final int MEMTABLES = 4;
    private static final int BACKGROUND_JOBS = 2;
    /** Records of a removed range: each range costs a tombstone of RocksDB. */
    private static final long REMOVE_EVERY = 100_000;

    static {
        // Before any object of it is made.
        RocksDB.loadLibrary();
    }

    private final Options options;
    private final WriteOptions lazy = new WriteOptions();
    private final WriteOptions synced = new WriteOptions().setSync(true);
    private final ReadOptions tailing = new ReadOptions().setTailing(true);
    private final AtomicLong end = new AtomicLong();
    private final Object readLock = new Object();
    private final RocksDB db;
    private final int payload;
    private RocksIterator iterator;
    private long next;
    private long removed;

    /** Makes an empty database. */
    public Rocks(Path directory, Shape shape) throws IOException {
        Files.createDirectories(directory);
        payload = shape.payload();
        options = new Options()
                .setCreateIfMissing(true)
                .setErrorIfExists(true)
                .setWriteBufferSize(MEMTABLE_BYTES)
                .setMaxWriteBufferNumber(MEMTABLES)
                .setMaxBackgroundJobs(BACKGROUND_JOBS)
                .setCompressionType(CompressionType.NO_COMPRESSION);
        try {
            db = RocksDB.open(options, directory.toString());
        } catch (RocksDBException e) {
            throw new IOException("RocksDB does not open in " + directory, e);
        }
    }

    private static byte[] key(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    @Override
    public Writer writer() {
        return new RocksWriter();
    }

    @Override
    public Reader reader() {
        return new RocksReader();
    }

    @Override
    public void close() {
        if (iterator != null) {
            iterator.close();
        }
        db.close();
        tailing.close();
        synced.close();
        lazy.close();
        options.close();
    }

    private final class RocksWriter implements Writer {

        @Override
        public boolean push(byte[] record) {
            return put(lazy, record);
        }

        @Override
        public boolean pushSync(byte[] record) {
            return put(synced, record);
        }

        @Override
        public boolean pushBatch(List<byte[]> records) {
            long first = end.getAndAdd(records.size());
            try (WriteBatch batch = new WriteBatch()) {
                for (byte[] record : records) {
                    batch.put(key(first++), record);
                }
                db.write(lazy, batch);
                return true;
            } catch (RocksDBException e) {
                throw new IllegalStateException(e);
            }
        }

        private boolean put(WriteOptions how, byte[] record) {
            try {
                db.put(how, key(end.getAndIncrement()), record);
                return true;
            } catch (RocksDBException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private final class RocksReader implements Reader {
        private final ByteBuffer key = ByteBuffer.allocateDirect(Long.BYTES);
        private final ByteBuffer value = ByteBuffer.allocateDirect(payload);
        private final byte[] heap = new byte[payload];

        @Override
        public boolean pop() {
            synchronized (readLock) {
                if (next == end.get() || !find()) {
                    return false;
                }
                value.clear();
                int length = iterator.value(value);
                value.get(0, heap, 0, length);
                next++;
                iterator.next();
                return true;
            }
        }

        // Writers take their keys before they store, so there may be a gap for a moment.
        private boolean find() {
            if (iterator == null) {
                iterator = db.newIterator(tailing);
            }
            if (iterator.isValid() && number() == next) {
                return true;
            }
            iterator.seek(key(next));
            return iterator.isValid() && number() == next;
        }

        private long number() {
            key.clear();
            iterator.key(key);
            return key.getLong(0);
        }

        @Override
        public void ack() {
            synchronized (readLock) {
                if (next - removed < REMOVE_EVERY) {
                    return;
                }
                try {
                    db.deleteRange(lazy, key(removed), key(next));
                } catch (RocksDBException e) {
                    throw new IllegalStateException(e);
                }
                removed = next;
            }
        }
    }
}
