import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.function.LongConsumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Two topics of one partition each, with Kafka's defaults: a topic is written as address/topic. */
final class KafkaEnds implements Load.Ends {
    /** Kept, as java.util.logging forgets the level of a logger that nobody has. */
    private static final Logger CLIENTS = Logger.getLogger("org.apache.kafka");

    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;

    KafkaEnds(String in, String out) {
        CLIENTS.setLevel(Level.WARNING);
        String address = in.split("/")[0];
        topic = in.split("/")[1];
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", address);
        producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
        consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = List.of(new TopicPartition(out.split("/")[1], 0));
        consumer.assign(partitions);
        consumer.seekToEnd(partitions);
        consumer.position(partitions.get(0));
    }

    @Override
    public void send(byte[] record) {
        producer.send(new ProducerRecord<>(topic, record));
    }

    @Override
    public void receive(LongConsumer due) {
        for (ConsumerRecord<byte[], byte[]> row : consumer.poll(Duration.ofMillis(100))) {
            due.accept(Load.due(row.value()));
        }
    }

    @Override
    public void close() {
        producer.close();
        consumer.close();
    }
}
