package org.mmapqueue.spark.read.stream;

import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.mmapqueue.spark.common.PartitionOffsets;

/**
 * A file {@code offsets/<n>} of a query's checkpoint: the position of each source after micro-batch n. Spark writes two
 * versions:
 *
 * <pre>
 * v1                    v2
 * {metadata}            {metadata}
 * {"0":12,"1":40}       0:{"0":12,"1":40}
 * -                     orders:-
 * </pre>
 *
 * <p>In version 1, line i belongs to the source with the directory {@code sources/i}; in version 2, a line starts with the
 * name of that directory. "-" stands for a source without a position.
 */
final class OffsetLogFile {
    /** The version, and metadata of the micro-batch. */
    private static final int HEADER_LINES = 2;

    private static final String NONE = "-";
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]{0,8}");

    private OffsetLogFile() {}

    /**
     * The position of a source of this format.
     *
     * @param text the content of the file
     * @param source the name of the source's own directory in the checkpoint
     * @return empty if the file has no position of the source, or has an unknown format
     */
    static Optional<PartitionOffsets> parse(String text, String source) {
        List<String> lines = text.lines().toList();
        if (lines.size() < HEADER_LINES) {
            return Optional.empty();
        }
        List<String> positions = lines.subList(HEADER_LINES, lines.size());
        return switch (lines.get(0)) {
            case "v1" -> inOrder(positions, source);
            case "v2" -> byName(positions, source);
            default -> Optional.empty();
        };
    }

    private static Optional<PartitionOffsets> inOrder(List<String> positions, String source) {
        if (!NUMBER.matcher(source).matches() || Integer.parseInt(source) >= positions.size()) {
            return Optional.empty();
        }
        return position(positions.get(Integer.parseInt(source)));
    }

    private static Optional<PartitionOffsets> byName(List<String> positions, String source) {
        String start = source + ":";
        List<String> found =
                positions.stream().filter(each -> each.startsWith(start)).toList();
        return found.size() == 1 ? position(found.get(0).substring(start.length())) : Optional.empty();
    }

    private static Optional<PartitionOffsets> position(String json) {
        if (json.equals(NONE)) {
            return Optional.empty();
        }
        try {
            return Optional.of(PartitionOffsets.parse(json));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // of another source, or of another format
        }
    }
}
