package org.mmapqueue.support;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListMap;
import org.mmapqueue.archive.files.ArchiveFiles;

/** The files of an archive in memory. A file that is deleted while it is open cannot be read any more, as on HDFS. */
public final class MemoryFiles implements ArchiveFiles {
    private record Stored(byte[] bytes, long modifiedMillis) {}

    private final NavigableMap<String, Stored> files = new ConcurrentSkipListMap<>();

    /** What the clock of this file system says, ms since 1970. */
    public volatile long nowMillis = 1_000_000;

    public MemoryFiles() {}

    /** A copy. */
    public MemoryFiles(MemoryFiles other) {
        files.putAll(other.files);
    }

    /** Advances the clock of this file system. */
    public synchronized void pass(long millis) {
        nowMillis += millis;
    }

    /** The names of all files. */
    public List<String> names() {
        return List.copyOf(files.keySet());
    }

    @Override
    public URI uri() {
        return URI.create("memory:/");
    }

    @Override
    public List<Entry> list(String directory) {
        String prefix = directory + "/";
        List<Entry> entries = new ArrayList<>();
        files.subMap(prefix, prefix + Character.MAX_VALUE).forEach((name, file) -> {
            String last = name.substring(prefix.length());
            if (!last.contains("/")) {
                entries.add(new Entry(last, file.bytes.length, file.modifiedMillis));
            }
        });
        return entries;
    }

    @Override
    public List<String> directories(String directory) {
        String prefix = directory + "/";
        TreeSet<String> names = new TreeSet<>();
        for (String name : files.subMap(prefix, prefix + Character.MAX_VALUE).keySet()) {
            String rest = name.substring(prefix.length());
            if (rest.contains("/")) {
                names.add(rest.substring(0, rest.indexOf('/')));
            }
        }
        return List.copyOf(names);
    }

    @Override
    public Input open(String name) throws IOException {
        byte[] bytes = find(name).bytes;
        return new Input() {
            @Override
            public long length() {
                return bytes.length;
            }

            @Override
            public void readFully(long position, byte[] into, int from, int length) throws IOException {
                if (!files.containsKey(name)) {
                    throw new IOException(name + " is deleted");
                }
                if (position + length > bytes.length) {
                    throw new EOFException(name);
                }
                System.arraycopy(bytes, (int) position, into, from, length);
            }

            @Override
            public void close() {
                // holds nothing
            }
        };
    }

    private Stored find(String name) throws NoSuchFileException {
        Stored file = files.get(name);
        if (file == null) {
            throw new NoSuchFileException(name);
        }
        return file;
    }

    @Override
    public void createRoot() {
        // has none
    }

    @Override
    public void makeDurable(String name) throws IOException {
        find(name);
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        content.writeTo(out);
        return files.putIfAbsent(name, new Stored(out.toByteArray(), nowMillis)) == null;
    }

    @Override
    public void replace(String name, byte[] content) {
        files.put(name, new Stored(content.clone(), nowMillis));
    }

    @Override
    public boolean delete(String name) {
        return files.remove(name) != null;
    }

    @Override
    public boolean deleteDirectory(String directory) {
        return false; // one that is empty does not exist
    }

    @Override
    public List<String> hosts(String name, long position, long length) {
        return List.of();
    }

    @Override
    public void close() {
        // holds nothing
    }
}
