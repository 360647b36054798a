package org.mmapqueue.spark.common;

import java.net.InetAddress;
import java.net.UnknownHostException;
import org.apache.spark.SparkEnv;

/** The names of this host. */
public final class Hosts {
    private Hosts() {}

    /**
     * This host, as Spark's scheduler calls it: a preferred location counts only under the name that block managers
     * have.
     *
     * @return that of this process's block manager; without one, as {@link #own}
     */
    public static String ofBlockManager() {
        SparkEnv env = SparkEnv.get();
        return env == null ? own() : env.blockManager().blockManagerId().host();
    }

    /**
     * This host, for people.
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
