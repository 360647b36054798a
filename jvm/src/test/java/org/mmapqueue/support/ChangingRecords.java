package org.mmapqueue.support;

import org.mmapqueue.Records;

/**
 * Payloads that their caller changes during the push: the appender asks for a payload's place before it computes the checksum
 * and before it copies, and each call changes the payload.
 */
public final class ChangingRecords implements Records {
    private final byte[][] payloads;

    public ChangingRecords(byte[]... payloads) {
        this.payloads = payloads;
    }

    @Override
    public int count() {
        return payloads.length;
    }

    @Override
    public byte[] array(int i) {
        return payloads[i];
    }

    @Override
    public int from(int i) {
        payloads[i][payloads[i].length / 2]++;
        return 0;
    }

    @Override
    public int length(int i) {
        return payloads[i].length;
    }
}
