// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.crypto.ColumnEncryptionProperties;
import org.apache.parquet.crypto.FileEncryptionProperties;
import org.apache.parquet.crypto.ParquetCipher;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/**
 * Encrypted files by parquet-java, with Bloom filters on two columns.
 *
 * <pre>java Encrypt JOBS</pre>
 *
 * A line of JOBS is {@code file TAB footer key TAB AAD prefix TAB column=key,... TAB word,...}: keys
 * and prefix in hexadecimal, no key for the footer's, no columns for all of them with that; words
 * are {@code v2}, {@code ctr}, {@code signed} and {@code supplied} (the prefix is not stored).
 */
public final class Encrypt {
  private static final int ROWS = 3000;
  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message m { required int64 id; optional binary name (STRING); optional double amount;"
              + " optional group tags (LIST) { repeated group list {"
              + " optional binary element (STRING); } } }");

  public static void main(String[] arguments) throws IOException {
    for (String line : Files.readAllLines(java.nio.file.Path.of(arguments[0]))) {
      write(line.split("\t", -1));
    }
  }

  private static void write(String[] job) throws IOException {
    List<String> words = List.of(job[4].split(","));
    WriterVersion version =
        words.contains("v2") ? WriterVersion.PARQUET_2_0 : WriterVersion.PARQUET_1_0;
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(new Path(job[0]))
            .withType(SCHEMA)
            .withWriterVersion(version)
            .withRowGroupSize(40000L)
            .withPageSize(4000)
            .withDictionaryEncoding("amount", false)
            .withBloomFilterEnabled("name", true)
            .withBloomFilterNDV("name", 300L)
            .withBloomFilterEnabled("amount", true)
            .withBloomFilterNDV("amount", 2000L)
            .withEncryption(properties(job, words))
            .build()) {
      SimpleGroupFactory factory = new SimpleGroupFactory(SCHEMA);
      for (int i = 0; i < ROWS; i++) {
        writer.write(row(factory, i));
      }
    }
  }

  private static Group row(SimpleGroupFactory factory, int i) {
    Group row = factory.newGroup().append("id", (long) i);
    if (i % 7 != 0) {
      row.append("name", "name " + i / 10);
    }
    if (i % 5 != 0) {
      row.append("amount", i / 4.0);
    }
    if (i % 3 == 0) {
      Group tags = row.addGroup("tags");
      for (int k = 0; k < i % 4; k++) {
        tags.addGroup("list").append("element", "tag " + (i + k));
      }
    }
    return row;
  }

  private static FileEncryptionProperties properties(String[] job, List<String> words) {
    FileEncryptionProperties.Builder builder =
        FileEncryptionProperties.builder(Decryption.bytes(job[1]));
    if (!job[2].isEmpty()) {
      builder.withAADPrefix(Decryption.bytes(job[2]));
    }
    if (words.contains("supplied")) {
      builder.withoutAADPrefixStorage();
    }
    if (words.contains("ctr")) {
      builder.withAlgorithm(ParquetCipher.AES_GCM_CTR_V1);
    }
    if (words.contains("signed")) {
      builder.withPlaintextFooter();
    }
    Map<ColumnPath, ColumnEncryptionProperties> columns = new HashMap<>();
    for (String column : job[3].isEmpty() ? new String[0] : job[3].split(",")) {
      int end = column.lastIndexOf('=');
      ColumnPath path = ColumnPath.fromDotString(column.substring(0, end));
      ColumnEncryptionProperties.Builder one = ColumnEncryptionProperties.builder(path, true);
      String key = column.substring(end + 1);
      columns.put(path, (key.isEmpty() ? one : one.withKey(Decryption.bytes(key))).build());
    }
    return (columns.isEmpty() ? builder : builder.withEncryptedColumns(columns)).build();
  }
}
