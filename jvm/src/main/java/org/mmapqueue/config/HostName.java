package org.mmapqueue.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.mmapqueue.errors.ConfigException;

/** The name of this machine in an archive. */
public final class HostName {
    private HostName() {}

    /**
     * A name that was given, or the machine's own.
     *
     * @param given empty for the machine's own
     * @throws ConfigException if the machine has none, or the name is not allowed
     */
    public static String of(String given) {
        String key = ConfigKey.ARCHIVE_HOST.keyName();
        if (!given.isEmpty()) {
            Names.check(key, given);
            return given;
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            throw new ConfigException(key, "", "a name: this machine's own is not known (" + e.getMessage() + ")");
        }
    }
}
