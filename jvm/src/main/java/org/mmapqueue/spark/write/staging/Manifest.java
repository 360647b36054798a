package org.mmapqueue.spark.write.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.io.NewFile;
import org.mmapqueue.io.Storage;

/**
 * The rows that are pushed to several partitions together: one epoch of a query, or one batch write. The file is text:
 * a line each for format, producer, sequence and every staged file, and a checksum.
 *
 * @param producer the name of the idempotent producer
 * @param sequence the producer's sequence
 * @param files the staged rows
 * @param digest of all rows; null in a manifest of format 1
 */
public record Manifest(String producer, long sequence, List<StagedFile> files, BatchDigest digest) {
    private static final String SUFFIX = ".manifest";
    static final String FORMAT = "mmapqueue manifest 2";
    /** Format 1: a line of a file ends with its checksum, without a digest. */
    static final String FORMAT_WITHOUT_DIGEST = "mmapqueue manifest 1";

    /** Makes a manifest. */
    public static Manifest of(String producer, long sequence, List<StagedFile> files) {
        return new Manifest(producer, sequence, files, digestOf(files));
    }

    static BatchDigest digestOf(List<StagedFile> files) {
        return new BatchDigest(
                files.stream().mapToLong(StagedFile::count).sum(),
                files.stream().mapToLong(StagedFile::digest).sum());
    }

    /** The files by partition, in the order of the push. */
    public SortedMap<Integer, List<StagedFile>> byPartition() {
        SortedMap<Integer, List<StagedFile>> map = new TreeMap<>();
        for (StagedFile file : files) {
            map.computeIfAbsent(file.partition(), partition -> new ArrayList<>())
                    .add(file);
        }
        return map;
    }

    /** The manifest's path. */
    public Path path(Path directory) {
        return directory.resolve(sequence + SUFFIX);
    }

    static boolean isManifest(Path file) {
        return file.getFileName().toString().endsWith(SUFFIX);
    }

    /**
     * Parses the sequence in a manifest's name.
     *
     * @throws IOException if the name has no sequence
     */
    public static long sequenceOf(Path file) throws IOException {
        String name = file.getFileName().toString();
        try {
            return Long.parseLong(name.substring(0, name.length() - SUFFIX.length()));
        } catch (NumberFormatException e) {
            throw new IOException(file + ": the name of a manifest is a number followed by " + SUFFIX, e);
        }
    }

    /** Writes the manifest atomically. */
    public void write(Storage storage, Path directory, boolean force) throws IOException {
        StringBuilder text = new StringBuilder(FORMAT).append('\n');
        text.append("producer ").append(producer).append('\n');
        text.append("sequence ").append(sequence).append('\n');
        for (StagedFile file : files) {
            text.append(String.format(
                    "file %d %s %d %d %d %08x %016x\n",
                    file.partition(),
                    file.name(),
                    file.size(),
                    file.count(),
                    file.logBytes(),
                    file.checksum(),
                    file.digest()));
        }
        text.append(sumLine(text.toString()));
        Path target = path(directory);
        NewFile.write(
                storage,
                target,
                force,
                file -> file.write(ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.UTF_8)), 0));
        if (force) {
            storage.syncDirectory(directory);
        }
    }

    static String sumLine(String text) {
        CRC32C checksum = new CRC32C();
        checksum.update(text.getBytes(StandardCharsets.UTF_8));
        return String.format("sum %08x\n", checksum.getValue());
    }

    /**
     * Reads a manifest.
     *
     * @return null if the file is incomplete, as after a loss of power
     * @throws IOException if the file cannot be read, or has another format
     * @throws org.mmapqueue.errors.CorruptException if the file has the right checksum and impossible values
     */
    public static Manifest read(Storage storage, Path path) throws IOException {
        return new ManifestReader(path).read(storage);
    }
}
