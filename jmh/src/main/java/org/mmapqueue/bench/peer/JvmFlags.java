package org.mmapqueue.bench.peer;

import java.util.ArrayList;
import java.util.List;

/** JVM flags of the peers. */
public final class JvmFlags {
    /** From Chronicle's documentation of JDK 17; its analytics are off. */
    private static final List<String> CHRONICLE = List.of(
            "-Dchronicle.analytics.disable=true",
            "-Dchronicle.announcer.disable=true",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
            "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
            "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
            "--add-opens=java.base/java.io=ALL-UNNAMED",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED");

    private JvmFlags() {}

    /** Returns the flags of a subject; none for most. */
    public static List<String> of(String subject) {
        List<String> flags = new ArrayList<>();
        if (subject.startsWith("chronicle")) {
            flags.addAll(CHRONICLE);
        }
        String bigQueue = System.getProperty(BigQueue.PROPERTY);
        if (subject.equals("bigqueue") && bigQueue != null) {
            flags.add("-D" + BigQueue.PROPERTY + "=" + bigQueue);
        }
        return flags;
    }
}
