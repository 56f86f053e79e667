// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;

/**
 * Reads every row of a file through parquet-java's record reader.
 *
 * <pre>java Rows FILE...</pre>
 *
 * Prints {@code file TAB number of rows TAB SHA-256 of all values}. The digest covers the stored
 * value of every leaf, field by field and with the number of repetitions, so equal digests mean
 * equal rows in equal order. A file that cannot be read has 0 rows and the message for a digest.
 */
public final class Rows {
  private final MessageDigest digest;
  private long count;

  private Rows(String name) throws IOException, NoSuchAlgorithmException {
    digest = MessageDigest.getInstance("SHA-256");
    try (ParquetReader<Group> reader =
        ParquetReader.builder(new GroupReadSupport(), new Path(name))
            .withDecryption(Decryption.of(name))
            .build()) {
      for (Group row = reader.read(); row != null; row = reader.read()) {
        add(row);
        count++;
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (String name : arguments) {
      System.out.println(name + "\t" + answer(name));
    }
  }

  private static String answer(String name) throws NoSuchAlgorithmException {
    try {
      Rows rows = new Rows(name);
      return rows.count + "\t" + HexFormat.of().formatHex(rows.digest.digest());
    } catch (IOException | RuntimeException e) {
      return "0\t" + String.valueOf(e).replaceAll("\\s+", " ").replace(name, "");
    }
  }

  private void add(Group group) {
    GroupType type = group.getType();
    for (int field = 0; field < type.getFieldCount(); field++) {
      int repetitions = group.getFieldRepetitionCount(field);
      digest.update(ByteBuffer.allocate(4).putInt(0, repetitions));
      for (int index = 0; index < repetitions; index++) {
        add(group, type.getType(field), field, index);
      }
    }
  }

  private void add(Group group, Type type, int field, int index) {
    if (!type.isPrimitive()) {
      add(group.getGroup(field, index));
      return;
    }
    byte[] value = stored(group, type.asPrimitiveType(), field, index);
    digest.update(ByteBuffer.allocate(4).putInt(0, value.length));
    digest.update(value);
  }

  private static byte[] stored(Group group, PrimitiveType type, int field, int index) {
    return switch (type.getPrimitiveTypeName()) {
      case BINARY, FIXED_LEN_BYTE_ARRAY -> group.getBinary(field, index).getBytes();
      case INT96 -> group.getInt96(field, index).getBytes();
      default -> group.getValueToString(field, index).getBytes(StandardCharsets.UTF_8);
    };
  }
}
