package org.mmapqueue.spark.events.skywalking;

import java.util.Arrays;
import java.util.List;
import org.mmapqueue.spark.events.wire.MalformedException;
import org.mmapqueue.spark.events.wire.WireReader;
import org.mmapqueue.spark.events.wire.WireWriter;

/** Divides the logs of a SkyWalking stream: a list of serialized LogData. */
public final class LogDataList {
    private static final int SERVICE = 2;
    private static final int INSTANCE = 3;

    private LogDataList() {}

    /**
     * Adds each log of a list. A log without service or instance gets that of the log before it. A log that is no
     * message stays as it is.
     *
     * @param list the list's bytes: field 1 of a message
     * @param logs where to add serialized LogData
     * @throws MalformedException if the bytes are not a list
     */
    public static void read(byte[] list, List<byte[]> logs) throws MalformedException {
        byte[] service = {};
        byte[] instance = {};
        WireReader in = new WireReader(list);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field != 1) {
                in.skip();
                continue;
            }
            byte[] log = in.copy(1);
            byte[] ownService;
            byte[] ownInstance;
            try {
                ownService = text(log, SERVICE);
                ownInstance = text(log, INSTANCE);
            } catch (MalformedException e) {
                logs.add(log);
                continue;
            }
            WireWriter out = new WireWriter(log.length + service.length + instance.length + 12);
            inherit(out, SERVICE, ownService, service);
            inherit(out, INSTANCE, ownInstance, instance);
            logs.add(out.size() == 0 ? log : joined(out.toBytes(), log));
            service = ownService.length > 0 ? ownService : service;
            instance = ownInstance.length > 0 ? ownInstance : instance;
        }
    }

    private static void inherit(WireWriter out, int field, byte[] own, byte[] before) {
        if (own.length == 0 && before.length > 0) {
            out.bytes(field, before, 0, before.length);
        }
    }

    /** The last value of a text field; empty when the log has none. */
    private static byte[] text(byte[] log, int wanted) throws MalformedException {
        byte[] found = {};
        WireReader in = new WireReader(log);
        for (int field = in.nextField(); field != 0; field = in.nextField()) {
            if (field == wanted) {
                found = in.copy(field);
            } else {
                in.skip();
            }
        }
        return found;
    }

    private static byte[] joined(byte[] head, byte[] tail) {
        byte[] whole = Arrays.copyOf(head, head.length + tail.length);
        System.arraycopy(tail, 0, whole, head.length, tail.length);
        return whole;
    }
}
