package org.mmapqueue.spark.events;

/** Numbers of an Event's fields on the wire, as in {@code event.proto}. */
final class EventFields {
    static final int TIMESTAMP = 1;
    static final int NAME = 2;
    static final int TYPE = 3;
    static final int REMOTE = 4;
    static final int META = 5;
    /** SkyWalking's, of Satellite's oneof: a SegmentObject. */
    static final int SEGMENT = 9;
    /** SkyWalking's, of Satellite's oneof: a list of LogData. */
    static final int LOG_LIST = 10;

    static final int CONTENT_TYPE = 1000;
    static final int DATA = 1001;
    static final int FIELDS = 1002;
    static final int ID = 1003;
    static final int SOURCE = 1004;

    private EventFields() {}
}
