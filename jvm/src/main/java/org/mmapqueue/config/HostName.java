package org.mmapqueue.config;

import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.mmapqueue.errors.ConfigException;

/** The name under which this machine is registered in an archive. */
public final class HostName {
    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname");

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
        return own().orElseThrow(() -> new ConfigException(key, "", "a name: this machine has none of its own"));
    }

    /**
     * The name of this machine, also where no resolver knows it, as in many containers: then that of the kernel, or of
     * the variable HOSTNAME.
     */
    public static Optional<String> own() {
        return own(() -> InetAddress.getLocalHost().getHostName(), KERNEL, System.getenv("HOSTNAME"));
    }

    /** As {@link #own()}, from these sources, in this order. */
    static Optional<String> own(Callable<String> resolver, Path kernel, String variable) {
        return Stream.<Callable<String>>of(resolver, () -> Files.readString(kernel), () -> variable)
                .map(HostName::call)
                .filter(name -> name != null && isName(name))
                .findFirst();
    }

    private static String call(Callable<String> source) {
        try {
            String name = source.call();
            return name == null ? null : name.strip();
        } catch (Exception e) {
            return null; // the next source may know it
        }
    }

    // The kernel's name is "(none)" where nobody has set one.
    private static boolean isName(String name) {
        return !name.isEmpty() && !name.equals("(none)");
    }
}
