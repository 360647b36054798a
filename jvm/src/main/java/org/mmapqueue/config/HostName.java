package org.mmapqueue.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.mmapqueue.errors.ConfigException;

/** The name under which this machine is registered in an archive. */
public final class HostName {
    private HostName() {}

    /**
     * Returns the given name, or the machine's host name.
     *
     * @param given the name; empty for the machine's host name
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
