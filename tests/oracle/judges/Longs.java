import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Collectors;

/**
 * A long[] as Java serializes it.
 *
 * Takes a file of lines "write", longs by commas, and "read", a stream in hexadecimal; answers each
 * with what the other has.
 */
class Longs {
    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] job = line.split("\t", -1);
            System.out.println(job[0].equals("write") ? written(job[1]) : read(job[1]));
        }
    }

    private static String written(String longs) throws Exception {
        long[] array = longs.isEmpty() ? new long[0]
            : Arrays.stream(longs.split(",")).mapToLong(Long::parseLong).toArray();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ObjectOutputStream objects = new ObjectOutputStream(out)) {
            objects.writeObject(array);
        }
        return HexFormat.of().formatHex(out.toByteArray());
    }

    private static String read(String stream) throws Exception {
        byte[] data = HexFormat.of().parseHex(stream);
        try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(data))) {
            return Arrays.stream((long[]) objects.readObject()).mapToObj(Long::toString)
                .collect(Collectors.joining(","));
        }
    }
}
