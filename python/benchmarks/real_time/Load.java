import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/**
 * Sends records into a query at a steady rate, receives its rows, and prints the latencies as JSON. A latency begins
 * when the record was due, whether or not it was sent late.
 *
 * <p>Arguments: the class of the ends, its input, its output, records a second, seconds of warm-up, measured seconds.
 */
public final class Load {
    private static final int BYTES = 100;
    private static final double[] SHARES = {0.5, 0.9, 0.99, 0.999, 1};

    /** Where records go in, and rows come out. */
    interface Ends extends AutoCloseable {
        void send(byte[] record) throws Exception;

        /** Waits for rows for some ms at most, and passes on when the record of each was due. */
        void receive(LongConsumer due) throws Exception;
    }

    static long due(byte[] record) {
        return ByteBuffer.wrap(record).getLong();
    }

    public static void main(String[] arguments) throws Exception {
        int rate = Integer.parseInt(arguments[3]);
        int warm = rate * Integer.parseInt(arguments[4]);
        int all = warm + rate * Integer.parseInt(arguments[5]);
        long[] micros = new long[all];
        try (Ends ends = (Ends) Class.forName(arguments[0])
                .getDeclaredConstructor(String.class, String.class)
                .newInstance(arguments[1], arguments[2])) {
            Thread sender = new Thread(() -> send(ends, rate, all));
            sender.setDaemon(true);
            sender.start();
            int[] count = {0};
            long last = System.nanoTime();
            while (count[0] < all) {
                int before = count[0];
                ends.receive(due -> micros[count[0]++] = (System.nanoTime() - due) / 1000);
                if (count[0] > before) {
                    last = System.nanoTime();
                } else if (System.nanoTime() - last > 60_000_000_000L) {
                    throw new IllegalStateException(count[0] + " of " + all + " rows have arrived");
                }
            }
        }
        long[] measured = Arrays.copyOfRange(micros, warm, all);
        Arrays.sort(measured);
        List<String> found = new ArrayList<>();
        for (double share : SHARES) {
            long at = measured[(int) Math.ceil(share * measured.length) - 1];
            found.add(String.format(Locale.ROOT, "\"p%s\": %.3f", Double.toString(share * 100), at / 1000.0));
        }
        // A hundred points of the distribution, denser towards its end.
        List<String> curve = new ArrayList<>();
        for (int i = 0; i <= 100; i++) {
            double share = 1 - Math.pow(10, -i * Math.log10(measured.length) / 100);
            int index = Math.min(measured.length - 1, (int) (share * measured.length));
            curve.add(String.format(Locale.ROOT, "[%.7f, %.3f]", share, measured[index] / 1000.0));
        }
        System.out.println("{\"rate\": " + rate + ", \"records\": " + measured.length + ", \"ms\": {"
                + String.join(", ", found) + "}, \"curve\": [" + String.join(", ", curve) + "]}");
    }

    private static void send(Ends ends, int rate, int count) {
        long start = System.nanoTime();
        try {
            for (int i = 0; i < count; i++) {
                long due = start + (long) (i * (1e9 / rate));
                for (long wait; (wait = due - System.nanoTime()) > 0; ) {
                    LockSupport.parkNanos(wait);
                }
                byte[] record = new byte[BYTES];
                ByteBuffer.wrap(record).putLong(due);
                ends.send(record);
            }
        } catch (Exception e) {
            throw new IllegalStateException("record not sent", e);
        }
    }
}
