package org.mmapqueue.spark.common;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.spark.SparkEnv;

/** Names of this host. */
public final class Hosts {
    private Hosts() {}

    /**
     * Returns this host's name in Spark's scheduler, which compares preferred locations with the names of block
     * managers.
     *
     * @return the name of this process's block manager, or {@link #own} if there is none
     */
    public static String ofBlockManager() {
        SparkEnv env = SparkEnv.get();
        return env == null ? own() : env.blockManager().blockManagerId().host();
    }

    /**
     * Returns this host's name, for messages.
     *
     * @return the name, or "localhost" when the host has none
     */
    public static String own() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
