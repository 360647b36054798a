package org.mmapqueue.concurrent;

import java.util.concurrent.CountDownLatch;

/** Holds a lock until it is released; its frames have the name of the class loader's copy. */
public final class LockHolder implements Runnable {
    private final SpinLock lock;
    private final CountDownLatch locked;
    private final CountDownLatch release;

    public LockHolder(Object lock, CountDownLatch locked, CountDownLatch release) {
        this.lock = (SpinLock) lock;
        this.locked = locked;
        this.release = release;
    }

    @Override
    public void run() {
        lock.lock();
        try {
            locked.countDown();
            boolean interrupted = false;
            while (release.getCount() > 0 && !interrupted) {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            lock.unlock();
        }
    }
}
