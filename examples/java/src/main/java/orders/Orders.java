package orders;

import java.nio.file.Path;
import java.time.Duration;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.typed.Codec;
import org.mmapqueue.typed.TypedConsumer;
import org.mmapqueue.typed.TypedMessage;
import org.mmapqueue.typed.TypedQueue;

/** Pushes orders, and bills those that no earlier run has billed. */
public final class Orders {
    private Orders() {}

    /** Runs in the directory of the first argument, or in "orders". */
    public static void main(String[] args) {
        QueueConfig config = QueueConfig.builder(Path.of(args.length > 0 ? args[0] : "orders"))
                .capacity("64m")
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            TypedQueue<String> orders = TypedQueue.of(queue, Codec.utf8());
            orders.push("two chairs");
            orders.push("a table");
            TypedConsumer<String> billing = orders.consumer("billing", StartAt.EARLIEST);
            for (TypedMessage<String> order : billing.messages(Duration.ZERO)) {
                System.out.println("order " + order.offset() + ": " + order.value());
                billing.ack(order);
            }
        }
    }
}
