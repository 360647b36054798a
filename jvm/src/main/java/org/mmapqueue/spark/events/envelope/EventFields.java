package org.mmapqueue.spark.events.envelope;

/** Numbers of an Event's fields on the wire, as in {@code event.proto}. */
public final class EventFields {
    public static final int TIMESTAMP = 1;
    public static final int NAME = 2;
    public static final int TYPE = 3;
    public static final int REMOTE = 4;
    public static final int META = 5;
    /** SkyWalking's, of Satellite's oneof: a SegmentObject. */
    public static final int SEGMENT = 9;
    /** SkyWalking's, of Satellite's oneof: a list of LogData. */
    public static final int LOG_LIST = 10;

    public static final int CONTENT_TYPE = 1000;
    public static final int DATA = 1001;
    public static final int FIELDS = 1002;
    public static final int ID = 1003;
    public static final int SOURCE = 1004;

    private EventFields() {}
}
