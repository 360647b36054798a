import java.net.URI;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.files.Archives;

/** Reads the first records of an archive's only partition, one after the other: {@code java ArchiveScan.java URI RECORDS}. */
final class ArchiveScan {
    public static void main(String[] arguments) throws Exception {
        long records = Long.parseLong(arguments[1]);
        long[] next = {0};
        long[] bytes = {0};
        long start = System.nanoTime();
        try (Archive archive = Archive.open(Archives.files(URI.create(arguments[0])))) {
            ArchivePartition partition = archive.partition(archive.partitions().get(0));
            partition.refresh();
            try (ArchiveReader reader = partition.reader(0, records, false)) {
                while (reader.read(1000, 1 << 20, (offset, timestamp, buffer, from, length, attempts) -> {
                            if (offset != next[0]++) {
                                throw new IllegalStateException("record " + offset + " after " + (next[0] - 2));
                            }
                            bytes[0] += length;
                        })
                        > 0) {
                    // the next ones
                }
            }
        }
        if (next[0] != records) {
            throw new IllegalStateException(next[0] + " records; expected " + records);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                "{\"what\": \"ArchiveReader\", \"mb_per_second\": %.1f, \"records\": %d}%n",
                bytes[0] / 1e6 / seconds, records);
    }
}
