package org.mmapqueue.support;

import org.mmapqueue.QueueConfig;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.Storage;

/** Opens queues on a storage of the test's, without their threads. */
public final class Cores {
    private Cores() {}

    public static QueueCore open(QueueConfig config, Storage storage) {
        return QueueCore.open(values(config), storage);
    }

    public static ConfigValues values(QueueConfig config) {
        return ConfigValues.of(config.asMap(), null);
    }
}
