package org.mmapqueue.jmx;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.mmapqueue.QueueListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers an MBean for each open queue: {@code org.mmapqueue:type=Queue,directory="/data/events"}. A second MBean of
 * the same directory, of a read-only queue or another class loader, also has {@code number=2}. Thread-safe.
 */
public final class QueueBeans implements QueueListener {
    private static final Logger LOG = LoggerFactory.getLogger(QueueBeans.class);
    private static final int MOST = 100;

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final Map<Figures, ObjectName> names = new HashMap<>();

    @Override
    public synchronized void opened(Path directory, Figures figures) {
        try {
            names.put(figures, register(directory, new QueueBean(figures)));
        } catch (JMException | SecurityException e) {
            LOG.warn("the queue in {} has no MBean: {}", directory, e.toString());
        }
    }

    private ObjectName register(Path directory, QueueBean bean) throws JMException {
        String plain = "org.mmapqueue:type=Queue,directory="
                + ObjectName.quote(directory.toAbsolutePath().toString());
        for (int number = 1; ; number++) {
            ObjectName name = new ObjectName(number == 1 ? plain : plain + ",number=" + number);
            try {
                server.registerMBean(bean, name);
                return name;
            } catch (InstanceAlreadyExistsException e) {
                if (number == MOST) {
                    throw e;
                }
            }
        }
    }

    @Override
    public synchronized void closed(Path directory, Figures figures) {
        ObjectName name = names.remove(figures);
        try {
            if (name != null) {
                server.unregisterMBean(name);
            }
        } catch (JMException | SecurityException e) {
            LOG.warn("the MBean of the queue in {} could not be removed: {}", directory, e.toString());
        }
    }
}
