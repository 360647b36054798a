package org.mmapqueue.consume;

import org.junit.jupiter.api.BeforeEach;
import org.mmapqueue.StartAt;

/** A queue with its default consumer. */
abstract class DefaultConsumerQueue extends SmallRing {
    @BeforeEach
    void createDefault() {
        queue.createConsumer("default", StartAt.EARLIEST);
    }
}
