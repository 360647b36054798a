import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.LongConsumer;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;

/** A queue that this process writes, and one that Spark writes. */
final class QueueEnds implements Load.Ends {
    private final MmapQueue in;
    private final MmapQueue out;
    private final Consumer consumer;

    QueueEnds(String in, String out) {
        this.in = MmapQueue.open(QueueConfig.builder(Path.of(in)).build());
        this.out = MmapQueue.openToRead(Path.of(out));
        this.consumer = this.out.consumer("load", StartAt.LATEST);
    }

    @Override
    public void send(byte[] record) throws Exception {
        in.push(record);
    }

    @Override
    public void receive(LongConsumer due) throws Exception {
        List<Message> rows = consumer.popBatch(1000, Long.MAX_VALUE, Duration.ofMillis(100));
        for (Message row : rows) {
            due.accept(Load.due(row.data()));
        }
        if (!rows.isEmpty()) {
            consumer.ackUpTo(rows.get(rows.size() - 1));
        }
    }

    @Override
    public void close() {
        out.close();
        in.close();
    }
}
