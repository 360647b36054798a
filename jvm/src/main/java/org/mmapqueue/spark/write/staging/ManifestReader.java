package org.mmapqueue.spark.write.staging;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;

/**
 * Reads one manifest. Its checksum shows an incomplete file, but anybody can compute it: so each value is compared with what a
 * writer can have written. Not thread-safe.
 */
final class ManifestReader {
    private static final int MOST_BYTES = 256 << 20;
    private static final Pattern PRODUCER = Pattern.compile("producer (\\S+)");
    private static final Pattern SEQUENCE = Pattern.compile("sequence ([0-9]{1,19})");
    /** A name has no separator: the file is in the directory of the manifest. */
    private static final Pattern FILE = Pattern.compile("file ([0-9]{1,10}) ([^\\s/]+) ([0-9]{1,19}) ([0-9]{1,19})"
            + " ([0-9]{1,19}) ([0-9a-f]{8})(?: ([0-9a-f]{16}))?");

    private final Path path;
    /** The byte at which the line begins that is read. */
    private int at;

    ManifestReader(Path path) {
        this.path = path;
    }

    /** As {@link Manifest#read}. */
    Manifest read(Storage storage) throws IOException {
        String text = text(storage);
        int end = text.lastIndexOf("sum ");
        if (end < 0 || !text.substring(end).equals(Manifest.sumLine(text.substring(0, end)))) {
            return null;
        }
        String[] lines = text.substring(0, end).split("\n", -1);
        boolean hasDigests = lines[0].equals(Manifest.FORMAT);
        if (!hasDigests && !lines[0].equals(Manifest.FORMAT_WITHOUT_DIGEST)) {
            throw new IOException(path + ": the format is \"" + lines[0] + "\", expected \"" + Manifest.FORMAT
                    + "\"; another version of mmapqueue has begun this write and must complete it");
        }
        if (lines.length < 4) {
            throw corrupt("the file has " + (lines.length - 1) + " lines; expected at least 3");
        }
        at = lines[0].length() + 1;
        String producer = parts(lines[1], PRODUCER, "a producer").group(1);
        at += lines[1].length() + 1;
        long sequence =
                number("sequence", parts(lines[2], SEQUENCE, "a sequence").group(1), Long.MAX_VALUE);
        if (sequence != Manifest.sequenceOf(path)) {
            throw corrupt("sequence is " + sequence + "; expected that of the file's name");
        }
        at += lines[2].length() + 1;
        List<StagedFile> files = new ArrayList<>();
        for (int i = 3; i < lines.length - 1; i++) { // the last one is empty
            files.add(file(lines[i], hasDigests));
            at += lines[i].length() + 1;
        }
        return new Manifest(producer, sequence, List.copyOf(files), hasDigests ? Manifest.digestOf(files) : null);
    }

    private StagedFile file(String line, boolean hasDigest) {
        Matcher words = parts(line, FILE, "a file");
        String name = words.group(2);
        if (name.equals(".") || name.equals("..") || hasDigest != (words.group(7) != null)) {
            throw unexpected(line, "a file");
        }
        int partition = (int) number("the partition", words.group(1), Integer.MAX_VALUE);
        long size = number("the size of " + name, words.group(3), Long.MAX_VALUE / Long.BYTES);
        long count = number("the number of rows of " + name, words.group(4), StagedFileWriter.mostRows(size));
        long logBytes = number(
                "the size of " + name + " in the log", words.group(5), StagedFileWriter.mostLogBytes(size, count));
        return new StagedFile(
                partition,
                name,
                size,
                count,
                logBytes,
                Integer.parseUnsignedInt(words.group(6), 16),
                hasDigest ? Long.parseUnsignedLong(words.group(7), 16) : 0);
    }

    private Matcher parts(String line, Pattern pattern, String what) {
        Matcher parts = pattern.matcher(line);
        if (!parts.matches()) {
            throw unexpected(line, what);
        }
        return parts;
    }

    private CorruptException unexpected(String line, String what) {
        return corrupt("the line is \"" + line.substring(0, Math.min(200, line.length())) + "\"; expected " + what);
    }

    private long number(String what, String digits, long most) {
        long value;
        try {
            value = Long.parseLong(digits);
        } catch (NumberFormatException e) {
            value = Long.MAX_VALUE; // more than 63 bits
        }
        if (value > most || value == Long.MAX_VALUE && !digits.equals(Long.toString(value))) {
            throw corrupt(what + " is " + digits + "; allowed: up to " + most);
        }
        return value;
    }

    private CorruptException corrupt(String detail) {
        return new CorruptException(path.toString(), at, detail);
    }

    private String text(Storage storage) throws IOException {
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            long size = file.size();
            if (size > MOST_BYTES) {
                throw corrupt("the file has " + size + " bytes; allowed: up to " + MOST_BYTES);
            }
            byte[] bytes = new byte[(int) size];
            int length = file.read(ByteBuffer.wrap(bytes), 0);
            return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        }
    }
}
