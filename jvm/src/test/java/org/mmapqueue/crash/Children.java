package org.mmapqueue.crash;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/** JVMs started ahead, so that nobody waits for the start of one. Any number of threads. */
final class Children implements AutoCloseable {
    private final Class<?> main;
    private final Deque<Child> ready = new ArrayDeque<>();

    Children(Class<?> main, int ahead) throws IOException {
        this.main = main;
        for (int i = 0; i < ahead; i++) {
            ready.add(new Child(main));
        }
    }

    /** One that waits for its orders; another one is started in its place. */
    Child take() throws IOException, InterruptedException {
        Child child;
        synchronized (this) {
            ready.add(new Child(main));
            child = ready.remove();
        }
        child.awaitReady();
        return child;
    }

    @Override
    public synchronized void close() throws IOException {
        for (Child child : ready) {
            child.close();
        }
        ready.clear();
    }
}
