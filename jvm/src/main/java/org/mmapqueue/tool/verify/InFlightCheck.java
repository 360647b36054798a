package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Mapped;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.tool.scan.Probe;

/** Checks and copies the files of records in flight. A damaged file is ignored: its records are redelivered. */
public final class InFlightCheck {
    private final Storage storage;
    private final Survey survey;
    /** The values of the file that was checked last. */
    private long first;

    private long end;
    private long reading;
    private boolean isCutShort;

    InFlightCheck(Storage storage, Survey survey) {
        this.storage = storage;
        this.survey = survey;
    }

    /**
     * Copies an intact file, with another position.
     *
     * @param reading the new position after the file's last record
     */
    public static void copy(Storage storage, Path from, Path to, long reading) throws IOException {
        ByteBuffer bytes = read(storage, from);
        if (bytes.getLong(InFlightDescriptor.READING) >= 0) { // else the record is in the archive alone
            bytes.putLong(InFlightDescriptor.READING, reading);
        }
        bytes.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(bytes));
        try (DataFile file = storage.open(to, Storage.Mode.CREATE)) {
            file.write(bytes, 0);
            file.force();
        }
    }

    /** The offset after the last record of an intact file. */
    public static long end(Storage storage, Path path) throws IOException {
        return InFlightDescriptor.end(read(storage, path));
    }

    static ByteBuffer read(Storage storage, Path path) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            ByteBuffer bytes = ByteBuffer.allocate((int) file.size()).order(ByteOrder.LITTLE_ENDIAN);
            file.read(bytes, 0);
            return bytes.rewind();
        }
    }

    void run() throws IOException {
        for (String name : survey.inventory.inFlight) {
            if (!isUsable(name, survey.inventory.inFlight(name))) {
                survey.uselessInFlight.add(name);
            }
        }
    }

    // Whether a file is intact, and up to date. Adds a finding for one that is not.
    private boolean isUsable(String name, Path file) throws IOException {
        Probe probe = survey.probes.get(name);
        if (probe == null) {
            survey.orphaned(file, 0, "no consumer " + name + " exists");
            return false;
        }
        Mismatch fault = check(file);
        if (fault != null && isCutShort) {
            // A close leaves such a file if the disk was full or its process died.
            survey.orphaned(file, fault.at(), "not written to its end: " + fault + "; its records are redelivered");
        } else if (fault != null) {
            survey.corrupt(file, fault.at(), fault + "; its records are redelivered");
        } else if (probe.isFound() && first > probe.resumeOffset) {
            survey.orphaned(
                    file,
                    InFlightDescriptor.FIRST,
                    "of records from offset " + first + " on, and the consumer is at " + probe.resumeOffset);
        } else if (end > survey.walk.endNumber || reading > survey.walk.end) {
            // Before a recovery: it cuts these records.
            survey.orphaned(
                    file,
                    InFlightDescriptor.READING,
                    "of records up to offset " + end + ", position " + reading + ", and the log ends at "
                            + survey.walk.endNumber + ", position " + survey.walk.end);
        } else {
            return !probe.isMisplaced();
        }
        return false;
    }

    private Mismatch check(Path path) throws IOException {
        ByteBuffer image = read(storage, path);
        int size = image.limit();
        isCutShort = size < InFlightDescriptor.RUNS || Mapped.isZero(image, 0, InFlightDescriptor.RUNS);
        if (size < InFlightDescriptor.RUNS) {
            return new Mismatch(size, size + " bytes", "at least " + InFlightDescriptor.RUNS);
        }
        long magic = image.getLong(0);
        if (magic != InFlightDescriptor.MAGIC) {
            return new Mismatch(0, "magic " + Mismatch.hex(magic), Mismatch.hex(InFlightDescriptor.MAGIC));
        }
        long queue = image.getLong(InFlightDescriptor.UUID_LOW);
        if (queue != survey.facts.uuidLow()) {
            return new Mismatch(
                    InFlightDescriptor.UUID_LOW,
                    "a file of queue …" + Long.toHexString(queue),
                    "one of queue …" + Long.toHexString(survey.facts.uuidLow()));
        }
        int runs = image.getInt(InFlightDescriptor.COUNT);
        long length = InFlightDescriptor.RUNS + (long) runs * InFlightDescriptor.RUN_BYTES;
        if (size != length) {
            isCutShort = size < length;
            return new Mismatch(InFlightDescriptor.COUNT, size + " bytes", length + ", for " + runs + " runs");
        }
        int stored = image.getInt(InFlightDescriptor.CHECKSUM);
        int sum = InFlightDescriptor.checksum(image);
        first = image.getLong(InFlightDescriptor.FIRST);
        end = InFlightDescriptor.end(image);
        reading = image.getLong(InFlightDescriptor.READING);
        return sum == stored
                ? checkRuns(image)
                : new Mismatch(InFlightDescriptor.CHECKSUM, "checksum " + Mismatch.hex(stored), Mismatch.hex(sum));
    }

    private Mismatch checkRuns(ByteBuffer image) {
        long ring = (long) survey.geometry.capacity() * survey.geometry.segmentSize();
        return InFlightDescriptor.runFault(
                image, InFlightDescriptor.mostRecords(image, ring / RecordDescriptor.SMALLEST));
    }
}
