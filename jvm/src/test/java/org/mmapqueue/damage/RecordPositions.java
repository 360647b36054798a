package org.mmapqueue.damage;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.support.Directories;

/** The positions of the records in an undamaged segment file. */
public final class RecordPositions {
    private static final int FIRST_RECORD = 56;
    private static final int LENGTH = (1 << 27) - 1;
    private static final int PAD = 1 << 30;

    private RecordPositions() {}

    public static List<Integer> of(Path segment) {
        ByteBuffer bytes = ByteBuffer.wrap(Directories.read(segment)).order(ByteOrder.LITTLE_ENDIAN);
        List<Integer> positions = new ArrayList<>();
        int at = bytes.getInt(FIRST_RECORD);
        while (at > 0 && at < bytes.capacity()) {
            int header = bytes.getInt(at);
            positions.add(at);
            if (header == 0 || (header & PAD) != 0) {
                break;
            }
            at += 16 + ((header & LENGTH) + 7 & ~7);
        }
        return positions;
    }
}
