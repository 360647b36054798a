package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;
import org.mmapqueue.config.Names;

/** The files {@code consumers/<name>.properties}. Thread-safe. */
final class ConsumerFiles {
    private static final String DIRECTORY = "consumers";
    private static final String SUFFIX = ".properties";
    private static final String OFFSET = "offset.";

    private final ArchiveFiles files;

    ConsumerFiles(ArchiveFiles files) {
        this.files = files;
    }

    /** The consumers, by name. */
    List<ArchiveConsumer> list() throws IOException {
        List<ArchiveConsumer> consumers = new ArrayList<>();
        for (ArchiveFiles.Entry file : files.list(DIRECTORY)) {
            if (file.name().endsWith(SUFFIX)) {
                Optional<ArchiveText> text = ArchiveText.read(files, DIRECTORY + "/" + file.name());
                if (text.isPresent()) { // otherwise it was deleted since it was listed
                    String name = file.name().substring(0, file.name().length() - SUFFIX.length());
                    consumers.add(read(name, text.get()));
                }
            }
        }
        return consumers;
    }

    private static ArchiveConsumer read(String name, ArchiveText text) {
        Map<Integer, Long> offsets = new HashMap<>();
        for (String key : text.keys()) {
            if (key.startsWith(OFFSET)) {
                offsets.put(
                        text.get(key, value -> Integer.parseInt(key.substring(OFFSET.length()))),
                        text.get(key, Long::parseLong));
            }
        }
        return new ArchiveConsumer(name, text.get("label"), text.get("updated", Instant::parse), offsets);
    }

    void commit(String name, String label, Map<Integer, Long> offsets) throws IOException {
        Map<String, String> values = new HashMap<>();
        values.put("label", label);
        values.put("updated", Archive.now().toString());
        offsets.forEach((partition, offset) -> {
            if (partition < 0 || offset < 0) {
                throw new IllegalArgumentException(
                        "partition " + partition + ", offset " + offset + "; expected 0 or more");
            }
            values.put(OFFSET + partition, Long.toString(offset));
        });
        files.replace(file(name), ArchiveText.encode(values));
    }

    boolean delete(String name) throws IOException {
        return files.delete(file(name));
    }

    private static String file(String name) {
        Names.check("consumer", name);
        return DIRECTORY + "/" + name + SUFFIX;
    }
}
