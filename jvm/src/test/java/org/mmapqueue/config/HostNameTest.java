package org.mmapqueue.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** The name of a machine whose name no resolver knows, as in a container without an entry in /etc/hosts. */
class HostNameTest {
    private static final Callable<String> UNKNOWN = () -> {
        throw new UnknownHostException("box: Name or service not known");
    };

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path kernel(String name) throws Exception {
        return Files.writeString(temp.resolve("hostname"), name + "\n");
    }

    @Test
    void theResolverComesFirst() throws Exception {
        assertEquals(Optional.of("box.example"), HostName.own(() -> "box.example", kernel("box"), "other"));
    }

    @Test
    void thenTheKernelThenTheVariable() throws Exception {
        assertEquals(Optional.of("box"), HostName.own(UNKNOWN, kernel("box"), "other"));
        assertEquals(Optional.of("other"), HostName.own(UNKNOWN, kernel("(none)"), "other"));
        assertEquals(Optional.of("other"), HostName.own(UNKNOWN, temp.resolve("missing"), "other"));
        assertEquals(Optional.empty(), HostName.own(UNKNOWN, temp.resolve("missing"), null));
        assertEquals(Optional.empty(), HostName.own(UNKNOWN, kernel(""), ""));
    }

    @Test
    void thisMachineHasOne() {
        assertFalse(HostName.of("").isEmpty());
        assertEquals("given", HostName.of("given"));
    }
}
