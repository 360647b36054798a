package org.mmapqueue.core;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The versions of Java that the tests run on. On any other version, the first open of the process logs a warning. */
final class TestedJava {
    /** Feature releases. docs/reference/compatibility.md lists the same. */
    static final List<Integer> RELEASES = List.of(17, 21, 25);

    private static final Logger LOG = LoggerFactory.getLogger(TestedJava.class);
    /** The release that {@link #check} has yet to check; 0 once it has. */
    static final AtomicInteger UNCHECKED = new AtomicInteger(Runtime.version().feature());

    private TestedJava() {}

    /** Logs the warning for this process, once. */
    static void check() {
        int release = UNCHECKED.getAndSet(0);
        if (release != 0) {
            warning(release).ifPresent(LOG::warn);
        }
    }

    /** The warning for a feature release; empty for a tested one. */
    static Optional<String> warning(int release) {
        return RELEASES.contains(release)
                ? Optional.empty()
                : Optional.of("mmapqueue was not tested on Java " + release + "; tested: "
                        + RELEASES.stream().map(String::valueOf).collect(Collectors.joining(", ")));
    }
}
