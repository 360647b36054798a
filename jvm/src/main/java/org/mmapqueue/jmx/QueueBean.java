package org.mmapqueue.jmx;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanInfo;
import javax.management.MBeanNotificationInfo;
import javax.management.ReflectionException;
import javax.management.openmbean.CompositeDataSupport;
import javax.management.openmbean.CompositeType;
import javax.management.openmbean.OpenDataException;
import javax.management.openmbean.OpenMBeanAttributeInfo;
import javax.management.openmbean.OpenMBeanAttributeInfoSupport;
import javax.management.openmbean.OpenMBeanConstructorInfo;
import javax.management.openmbean.OpenMBeanInfoSupport;
import javax.management.openmbean.OpenMBeanOperationInfo;
import javax.management.openmbean.OpenType;
import javax.management.openmbean.SimpleType;
import javax.management.openmbean.TabularDataSupport;
import javax.management.openmbean.TabularType;
import org.mmapqueue.QueueListener;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.metrics.Sample;

/**
 * The metrics of an open queue as attributes, by their names without {@code mmapqueue_}. A metric of consumers is a
 * table of consumer and value; a histogram is a table of buckets, a sum and a count. An attribute is null if this
 * process does not know the value, and after the close. Safe for any number of threads.
 */
record QueueBean(QueueListener.Figures figures) implements DynamicMBean {
    private static final String VALUE = "value";
    private static final Map<String, OpenType<?>> TYPES = new LinkedHashMap<>();
    private static final MBeanInfo INFO;

    static {
        List<OpenMBeanAttributeInfo> attributes = new ArrayList<>();
        for (Metric metric : Metric.values()) {
            boolean isHistogram = metric.kind() == Metric.Kind.HISTOGRAM;
            for (String suffix : isHistogram ? List.of("_bucket", "_sum", "_count") : List.of("")) {
                String name = metric.shortName() + suffix;
                String label = metric.isOfConsumer() ? "consumer" : suffix.equals("_bucket") ? "le" : "";
                OpenType<?> type =
                        type(name, label, Sample.isWhole(metric, suffix) ? SimpleType.LONG : SimpleType.DOUBLE);
                TYPES.put(name, type);
                attributes.add(new OpenMBeanAttributeInfoSupport(name, metric.help(), type, true, false, false));
            }
        }
        INFO = new OpenMBeanInfoSupport(
                QueueBean.class.getName(),
                "Metrics of an open queue",
                attributes.toArray(new OpenMBeanAttributeInfo[0]),
                new OpenMBeanConstructorInfo[0],
                new OpenMBeanOperationInfo[0],
                new MBeanNotificationInfo[0]);
    }

    private static OpenType<?> type(String name, String label, SimpleType<?> value) {
        if (label.isEmpty()) {
            return value;
        }
        try {
            String[] items = {label, VALUE};
            CompositeType row =
                    new CompositeType(name, name, items, items, new OpenType<?>[] {SimpleType.STRING, value});
            return new TabularType(name, name, row, new String[] {label});
        } catch (OpenDataException e) {
            throw new IllegalStateException(e);
        }
    }

    private Map<String, Object> values() {
        Map<String, Object> values = new LinkedHashMap<>();
        for (Sample sample : figures.metrics().orElse(List.of())) {
            String name = sample.metric().shortName() + sample.suffix();
            if (TYPES.get(name) instanceof TabularType type) {
                TabularDataSupport table =
                        (TabularDataSupport) values.computeIfAbsent(name, key -> new TabularDataSupport(type));
                table.put(row(type.getRowType(), sample));
            } else {
                values.put(name, sample.number());
            }
        }
        return values;
    }

    private static CompositeDataSupport row(CompositeType type, Sample sample) {
        try {
            return new CompositeDataSupport(type, Map.of(sample.label(), sample.labelValue(), VALUE, sample.number()));
        } catch (OpenDataException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public Object getAttribute(String name) throws AttributeNotFoundException {
        if (!TYPES.containsKey(name)) {
            throw new AttributeNotFoundException(name + "; the attributes are " + TYPES.keySet());
        }
        return values().get(name);
    }

    @Override
    public AttributeList getAttributes(String[] names) {
        Map<String, Object> values = values();
        AttributeList list = new AttributeList();
        for (String name : names) {
            if (TYPES.containsKey(name)) {
                list.add(new Attribute(name, values.get(name)));
            }
        }
        return list;
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        return INFO;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " cannot be set");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String name, Object[] parameters, String[] signature) throws ReflectionException {
        throw new ReflectionException(new NoSuchMethodException(name), "the bean has no operations");
    }
}
