package org.mmapqueue.jmx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.management.Attribute;
import javax.management.AttributeNotFoundException;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanFeatureInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.ReflectionException;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.QuickDirectory;

/** MBeans come and go with queues, and have the figures of the metrics. */
class QueueBeansTest {
    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open(String name) {
        return MmapQueue.open(config(temp.resolve(name)).build());
    }

    private static QueueConfig.Builder config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxEventSize(3000);
    }

    private ObjectName name(String name, String more) throws Exception {
        return new ObjectName("org.mmapqueue:type=Queue,directory="
                + ObjectName.quote(temp.resolve(name).toString()) + more);
    }

    private Set<String> registered() throws Exception {
        return SERVER.queryNames(new ObjectName("org.mmapqueue:type=Queue,*"), null).stream()
                .map(ObjectName::toString)
                .filter(each -> each.contains(temp.toString()))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Object value(TabularData table, String key) {
        CompositeData row = table.get(new Object[] {key});
        return row.get("value");
    }

    @Test
    void aBeanHasTheMetricsOfItsQueue() throws Exception {
        try (MmapQueue queue = open("events, a=b")) {
            queue.createConsumer("audit", StartAt.EARLIEST);
            queue.push(new byte[10]);
            queue.push(new byte[10]);
            queue.flush();
            ObjectName name = name("events, a=b", "");
            assertEquals(2L, SERVER.getAttribute(name, "pushed_records_total"));
            assertTrue((Double) SERVER.getAttribute(name, "fill_ratio") > 0);
            assertEquals(2L, value((TabularData) SERVER.getAttribute(name, "lag_records"), "audit"));
            assertNull(SERVER.getAttribute(name, "redelivered_records_total"), "no consumer is owned");
            TabularData buckets = (TabularData) SERVER.getAttribute(name, "fsync_seconds_bucket");
            assertEquals(SERVER.getAttribute(name, "fsync_seconds_count"), value(buckets, "+Inf"));
            assertTrue((Double) SERVER.getAttribute(name, "fsync_seconds_sum") > 0);
            List<String> names = Arrays.stream(SERVER.getMBeanInfo(name).getAttributes())
                    .map(MBeanFeatureInfo::getName)
                    .toList();
            assertEquals(Metric.values().length + 2, names.size());
            assertEquals(
                    List.of(new Attribute("consumers", 1L)),
                    SERVER.getAttributes(name, new String[] {"consumers", "unknown"}));
            assertThrows(AttributeNotFoundException.class, () -> SERVER.getAttribute(name, "unknown"));
            assertThrows(
                    AttributeNotFoundException.class, () -> SERVER.setAttribute(name, new Attribute("consumers", 2L)));
            assertThrows(ReflectionException.class, () -> SERVER.invoke(name, "close", null, null));
        }
        assertThrows(InstanceNotFoundException.class, () -> SERVER.getMBeanInfo(name("events, a=b", "")));
    }

    @Test
    void twoQueuesHandlesAndReopensDoNotClash() throws Exception {
        Path events = temp.resolve("events");
        MmapQueue first = open("events");
        MmapQueue again = open("events");
        MmapQueue other = open("other");
        assertEquals(Set.of(name("events", "").toString(), name("other", "").toString()), registered());
        first.close();
        assertEquals(2, registered().size());
        again.close();
        other.close();
        assertEquals(Set.of(), registered());
        // Two open queues of one directory.
        MmapQueue reader = MmapQueue.openToRead(events);
        MmapQueue writer = open("events");
        assertEquals(
                Set.of(
                        name("events", "").toString(),
                        name("events", ",number=2").toString()),
                registered());
        assertNull(SERVER.getAttribute(name("events", ""), "room_waits_total"), "it only reads");
        assertEquals(0L, SERVER.getAttribute(name("events", ",number=2"), "room_waits_total"));
        reader.close();
        assertEquals(Set.of(name("events", ",number=2").toString()), registered());
        writer.close();
        assertEquals(Set.of(), registered());
    }

    @Test
    void queuesOpenWithoutTheModule() throws Exception {
        List<String> options = List.of("--limit-modules=java.base,java.logging,jdk.unsupported", "-Xmx64m");
        try (ChildJvm child = new ChildJvm(
                options, ProcessBuilder.Redirect.INHERIT, WithoutManagement.class, temp.resolve("queue"))) {
            assertEquals("false", child.line());
            assertEquals("1", child.line());
            assertEquals(0, child.exitCode());
        }
    }

    @ParameterizedTest
    @CsvSource({"-Xmx64m, 1", "-Dmmapqueue.jmx=true, 1", "-Dmmapqueue.jmx=false, 0"})
    void aPropertyLeavesThemOut(String option, String count) throws Exception {
        try (ChildJvm child = new ChildJvm(
                List.of(option), ProcessBuilder.Redirect.INHERIT, BeanCount.class, temp.resolve("queue"))) {
            assertEquals(count, child.line());
            assertEquals(0, child.exitCode());
        }
    }
}
