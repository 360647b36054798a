package org.mmapqueue.archive.owner;

import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveText;

/**
 * A claim to store runs of a partition. The claim of the highest epoch alone is valid. Immutable.
 *
 * @param epoch 1 or more
 * @param queue the queue's UUID
 * @param token identifies the directory of the queue that has claimed
 * @param host the host that ships the queue
 * @param claimed time of the claim
 * @param adopted when a new queue in the directory of this claim has continued the partition; null if none has
 * @param fences where this shipper and those before it have begun; null until this one knows where it begins
 */
public record Claim(
        long epoch,
        UUID queue,
        UUID token,
        String host,
        Instant claimed,
        @Nullable Instant adopted,
        @Nullable Fences fences) {
    byte[] content() {
        Map<String, String> values = new HashMap<>();
        values.put("queue", queue.toString());
        values.put("token", token.toString());
        values.put("host", host);
        values.put("claimed", claimed.toString());
        if (adopted != null) {
            values.put("adopted", adopted.toString());
        }
        if (fences != null) {
            values.put("starts", fences.toString());
        }
        return ArchiveText.encode(values);
    }

    static Claim read(long epoch, ArchiveText text) {
        Optional<String> starts = text.find("starts");
        return new Claim(
                epoch,
                text.get("queue", UUID::fromString),
                text.get("token", UUID::fromString),
                text.get("host"),
                text.get("claimed", Instant::parse),
                text.find("adopted").isEmpty() ? null : text.get("adopted", Instant::parse),
                starts.isEmpty() ? null : text.get("starts", Fences::parse));
    }

    /** This claim, with the place where its shipper begins. */
    Claim beginning(Fences all) {
        return new Claim(epoch, queue, token, host, claimed, adopted, all);
    }
}
