import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

/**
 * Guava's own Bloom filters, by either strategy.
 *
 * Takes a file of lines strategy, kind (long, int, bytes), expected entries, FPP, values by commas
 * (numbers in decimal, bytes in hexadecimal); answers each with the filter as Guava writes it: the
 * strategy (1), the number of hashes (1), the number of longs (4), the longs; big-endian.
 */
class Guava {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] job = line.split("\t", -1);
            System.out.println(filter(job[0], job[1], Long.parseLong(job[2]), Double.parseDouble(job[3]),
                job[4].isEmpty() ? new String[0] : job[4].split(",", -1)));
        }
    }

    private static String filter(String strategy, String kind, long entries, double fpp, String[] values)
            throws Exception {
        switch (kind) {
            case "long": {
                BloomFilter<Long> filter = create(Funnels.longFunnel(), entries, fpp, strategy);
                for (String value : values) filter.put(Long.parseLong(value));
                return written(filter);
            }
            case "int": {
                BloomFilter<Integer> filter = create(Funnels.integerFunnel(), entries, fpp, strategy);
                for (String value : values) filter.put(Integer.parseInt(value));
                return written(filter);
            }
            default: {
                BloomFilter<byte[]> filter = create(Funnels.byteArrayFunnel(), entries, fpp, strategy);
                for (String value : values) filter.put(HexFormat.of().parseHex(value));
                return written(filter);
            }
        }
    }

    /** The strategy is not in the public interface, which always takes the one of 64 bits. */
    @SuppressWarnings("unchecked")
    private static <T> BloomFilter<T> create(Funnel<? super T> funnel, long entries, double fpp,
            String strategy) throws Exception {
        Object chosen = null;
        for (Object each : Class.forName("com.google.common.hash.BloomFilterStrategies").getEnumConstants())
            if (each.toString().equals(strategy)) chosen = each;
        for (Method method : BloomFilter.class.getDeclaredMethods())
            if (method.getName().equals("create") && method.getParameterCount() == 4) {
                method.setAccessible(true);
                return (BloomFilter<T>) method.invoke(null, funnel, entries, fpp, chosen);
            }
        throw new IllegalStateException("no create(funnel, entries, fpp, strategy)");
    }

    private static String written(BloomFilter<?> filter) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        filter.writeTo(out);
        return HexFormat.of().formatHex(out.toByteArray());
    }
}
