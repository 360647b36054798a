package org.mmapqueue.kept;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * A kept directory: {@code <name>.zip} with its files, without locks, and {@code <name>.txt} with its {@link
 * KeptContent}, both in the directory of a state of the format.
 *
 * @param state the directory of the state; its name is the version that made it
 * @param name the name of the case
 */
record Kept(Path state, String name) {
    private static final String ARCHIVE = ".zip";

    /** All states, in the resources of the tests. */
    static Stream<Path> states() throws IOException, URISyntaxException {
        return list(Path.of(Kept.class.getResource("/format-2").toURI()));
    }

    /** All directories of all states. */
    static Stream<Kept> all() throws IOException, URISyntaxException {
        return states().flatMap(Kept::in);
    }

    static Stream<Kept> in(Path state) {
        return list(state)
                .map(file -> file.getFileName().toString())
                .filter(file -> file.endsWith(ARCHIVE))
                .map(file -> new Kept(state, file.substring(0, file.length() - ARCHIVE.length())));
    }

    private static Stream<Path> list(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.sorted().toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path archive() {
        return state.resolve(name + ARCHIVE);
    }

    private Path text() {
        return state.resolve(name + ".txt");
    }

    /** The lines of the manifest. */
    List<String> manifest() throws IOException {
        return Files.readAllLines(text());
    }

    /** Stores both files. */
    void write(Path root, List<String> manifest) throws IOException {
        try (ZipOutputStream archive = new ZipOutputStream(Files.newOutputStream(archive()));
                Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                if (!file.getFileName().toString().endsWith("lock")) {
                    archive.putNextEntry(new ZipEntry(root.relativize(file).toString()));
                    Files.copy(file, archive);
                }
            }
        }
        Files.write(text(), manifest);
    }

    /** Makes the directory again. */
    void unpack(Path root) throws IOException {
        try (ZipInputStream archive = new ZipInputStream(Files.newInputStream(archive()))) {
            for (ZipEntry entry = archive.getNextEntry(); entry != null; entry = archive.getNextEntry()) {
                Path file = root.resolve(entry.getName());
                Files.createDirectories(file.getParent());
                Files.copy(archive, file);
            }
        }
    }

    @Override
    public String toString() {
        return state.getFileName() + " " + name;
    }
}
