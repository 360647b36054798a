package org.mmapqueue.kept;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;

/**
 * Keeps today's state of the format: {@code KeptMaker DIRECTORY}, of which the last part is the version. Run once for a
 * version, by {@code make keep-format}.
 */
public final class KeptMaker {
    private KeptMaker() {}

    public static void main(String[] arguments) throws Exception {
        Path state = Path.of(arguments[0]);
        make(state);
        System.out.println("kept " + Kept.in(state).count() + " directories in " + state);
    }

    /**
     * Makes all directories of a state.
     *
     * @throws IOException if the state exists: it is what an earlier version left, and no later one can make it again
     */
    static void make(Path state) throws Exception {
        if (Files.exists(state)) {
            throw new IOException("the state " + state + " exists, and is never made again: tests open it as it is");
        }
        Files.createDirectories(state);
        for (KeptCase each : KeptCase.values()) {
            Path temp = QuickDirectory.create();
            try {
                Path root = Files.createDirectory(temp.resolve("root"));
                each.make(root, Files.createDirectory(temp.resolve("aside")).resolve("made"));
                new Kept(state, each.fileName()).write(root, KeptContent.of(root, temp.resolve("read")));
            } finally {
                Directories.delete(temp);
            }
        }
    }
}
