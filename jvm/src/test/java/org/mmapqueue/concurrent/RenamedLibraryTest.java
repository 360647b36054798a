package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.ChildJvm;

/** The lock inside of a program that has renamed the packages of its libraries, and in a JVM that cuts stack traces off. */
@Timeout(120)
class RenamedLibraryTest {
    /** Of the same length as ours, so that the class files need no other change. */
    private static final String RENAMED = "com.mmapqueue.";

    /** Loads the classes of org.mmapqueue as com.mmapqueue; texts that are not names of classes stay. */
    private static final class Renaming extends ClassLoader {
        Renaming() {
            super(RenamedLibraryTest.class.getClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.startsWith(RENAMED)) {
                throw new ClassNotFoundException(name);
            }
            String file = "org" + name.substring(3).replace('.', '/') + ".class";
            try (InputStream in = getResourceAsStream(file)) {
                String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
                byte[] bytes = text.replace("org/mmapqueue/", "com/mmapqueue/").getBytes(StandardCharsets.ISO_8859_1);
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    // Whether another thread takes the lock from its owner at a look.
    private static boolean isTaken(Object lock) throws ReflectiveOperationException {
        Method look = lock.getClass().getDeclaredMethod("takeIfLeft", Thread.class);
        look.setAccessible(true);
        return (boolean) look.invoke(lock, Thread.currentThread());
    }

    @Test
    void theLockOfAThreadInsideTheRenamedLibraryIsNotTaken() throws Exception {
        Renaming loader = new Renaming();
        Object lock = loader.loadClass(RENAMED + "concurrent.SpinLock")
                .getConstructor()
                .newInstance();
        CountDownLatch locked = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        Runnable holder = (Runnable) loader.loadClass(RENAMED + "concurrent.LockHolder")
                .getConstructor(Object.class, CountDownLatch.class, CountDownLatch.class)
                .newInstance(lock, locked, release);
        Thread owner = new Thread(holder, "owner");
        owner.start();
        try {
            locked.await();
            assertFalse(isTaken(lock));
        } finally {
            release.countDown();
            owner.join();
        }
    }

    @Test
    void aStackTraceThatIsCutOffProvesNothing() throws Exception {
        for (String option : List.of("-XX:MaxJavaStackTraceDepth=2", "-XX:-StackTraceInThrowable")) {
            try (ChildJvm child =
                    new ChildJvm(List.of(option), ProcessBuilder.Redirect.INHERIT, RenamedLibraryTest.CutOff.class)) {
                assertEquals("not taken", child.line(), option);
            }
        }
    }

    /** A child whose owner waits in the JDK, many frames above the one that has locked. */
    static final class CutOff {
        private CutOff() {}

        public static void main(String[] arguments) throws Exception {
            SpinLock lock = new SpinLock();
            CountDownLatch locked = new CountDownLatch(1);
            Thread owner = new Thread(new LockHolder(lock, locked, new CountDownLatch(1)));
            owner.setDaemon(true);
            owner.start();
            locked.await();
            while (owner.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            System.out.println(isTaken(lock) ? "taken" : "not taken");
        }
    }

    @Test
    void theLockOfAThreadThatHasEndedIsTaken() throws Exception {
        SpinLock lock = new SpinLock();
        Thread ended = new Thread(lock::lock);
        ended.start();
        ended.join();
        assertTrue(isTaken(lock));
    }
}
