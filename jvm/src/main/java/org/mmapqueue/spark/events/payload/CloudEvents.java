package org.mmapqueue.spark.events.payload;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.spark.events.otlp.OtlpJson;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.Utf8;

/** Batches of CloudEvents in JSON: each event is one log record, like a single CloudEvent. Thread-safe. */
final class CloudEvents {
    private CloudEvents() {}

    /** Adds the events of a batch, byte for byte; a payload that is not a JSON array of objects is malformed. */
    static void batch(byte[] data, List<Object[]> rows) throws MalformedException {
        List<Object[]> events = new ArrayList<>();
        try (JsonParser in = OtlpJson.PARSERS.createParser(data, 0, data.length)) {
            OtlpJson.expect(in, in.nextToken(), JsonToken.START_ARRAY, "a JSON array");
            for (JsonToken token = in.nextToken(); token != JsonToken.END_ARRAY; token = in.nextToken()) {
                OtlpJson.expect(in, token, JsonToken.START_OBJECT, "a CloudEvent");
                int start = (int) in.currentTokenLocation().getByteOffset();
                in.skipChildren();
                int end = (int) in.currentLocation().getByteOffset();
                if (start < 0 || end > data.length) {
                    throw new MalformedException("not UTF-8", 0);
                }
                events.add(LineLogs.row(Utf8.text(data, start, end - start)));
            }
            OtlpJson.expect(in, in.nextToken(), null, "the end");
        } catch (IOException e) {
            throw OtlpJson.malformed(e);
        }
        rows.addAll(events);
    }
}
