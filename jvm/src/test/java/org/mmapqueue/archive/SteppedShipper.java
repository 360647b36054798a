package org.mmapqueue.archive;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.config.HostName;

/** A shipper without a thread: a test calls its steps, so the same seed gives the same run. */
public final class SteppedShipper implements Closeable {
    private final Shipment shipment;

    private SteppedShipper(Shipment shipment) {
        this.shipment = shipment;
    }

    /** Claims the partition as this machine, as the shipper of a queue does, and continues at the archive's end. */
    public static SteppedShipper resume(ShipSource source, ArchiveFiles files, int runBytes) throws IOException {
        ShipOptions options = new ShipOptions(
                HostName.own().orElseThrow(), Duration.ofMillis(10), runBytes, ArchiveCodec.NONE, Duration.ZERO);
        return new SteppedShipper(Shipment.resume(source, files, options));
    }

    /**
     * Ships what is durable.
     *
     * @param beforeAck called after each run was stored
     */
    public void ship(Runnable beforeAck) throws IOException {
        boolean isFull = true;
        while (isFull) {
            isFull = shipment.collect();
            if (!shipment.hasRecords()) {
                return;
            }
            RunName stored = shipment.store();
            beforeAck.run();
            shipment.ack(stored);
        }
    }

    @Override
    public void close() {
        shipment.close();
    }
}
