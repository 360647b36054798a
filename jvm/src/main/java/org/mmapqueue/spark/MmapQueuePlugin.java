package org.mmapqueue.spark;

import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Gauges for every queue that the driver or an executor has open, in Spark's metrics system: JMX, {@code /metrics/json}
 * of the UI, and all configured sinks. Enable it with {@code spark.plugins=org.mmapqueue.spark.MmapQueuePlugin}.
 */
public final class MmapQueuePlugin implements SparkPlugin {

    /** Called by Spark, by reflection. */
    public MmapQueuePlugin() {}

    @Override
    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new Executor();
    }

    private static final class Driver implements DriverPlugin {
        private QueueGauges gauges;

        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            gauges = new QueueGauges(plugin.metricRegistry());
            return Map.of();
        }

        @Override
        public void shutdown() {
            gauges.close();
        }
    }

    private static final class Executor implements ExecutorPlugin {
        private QueueGauges gauges;

        @Override
        public void init(PluginContext plugin, Map<String, String> extra) {
            // In local mode the driver's gauges already report the queues of this process.
            if (!"driver".equals(plugin.executorID())) {
                gauges = new QueueGauges(plugin.metricRegistry());
            }
        }

        @Override
        public void shutdown() {
            if (gauges != null) {
                gauges.close();
            }
        }
    }
}
