package org.mmapqueue.spark.common;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** The name of this host, for people. */
public final class Hosts {
    private Hosts() {
    }

    /**
     * This host.
     *
     * @return its name, or "localhost" when it has none
     */
    public static String own() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
