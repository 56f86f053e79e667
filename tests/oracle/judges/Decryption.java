// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.crypto.ColumnDecryptionProperties;
import org.apache.parquet.crypto.FileDecryptionProperties;
import org.apache.parquet.hadoop.metadata.ColumnPath;

/**
 * The keys of encrypted files, out of the file that the system property {@code keys} names.
 *
 * <p>A line of it is {@code file TAB footer key TAB AAD prefix TAB column=key,...}, keys and prefix in
 * hexadecimal, empty where there is none. Files that are not in it are not encrypted.
 */
final class Decryption {
  private static final Map<String, String[]> KEYS = new HashMap<>();
  // One for all: each reads the defaults of Hadoop.
  private static final Configuration CONFIGURATION = new Configuration();

  static {
    String name = System.getProperty("keys");
    try {
      if (name != null) {
        for (String line : Files.readAllLines(java.nio.file.Path.of(name))) {
          String[] fields = line.split("\t", -1);
          KEYS.put(fields[0], fields);
        }
      }
    } catch (IOException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Decryption() {}

  /** How to decrypt a file; null if it is not encrypted. They can be used once. */
  static FileDecryptionProperties of(String name) {
    String[] fields = KEYS.get(name);
    if (fields == null) {
      return null;
    }
    FileDecryptionProperties.Builder builder = FileDecryptionProperties.builder();
    builder.withFooterKey(bytes(fields[1]));
    if (!fields[2].isEmpty()) {
      builder.withAADPrefix(bytes(fields[2]));
    }
    Map<ColumnPath, ColumnDecryptionProperties> columns = new HashMap<>();
    for (String column : fields[3].isEmpty() ? new String[0] : fields[3].split(",")) {
      int end = column.lastIndexOf('=');
      ColumnPath path = ColumnPath.fromDotString(column.substring(0, end));
      byte[] key = bytes(column.substring(end + 1));
      columns.put(path, ColumnDecryptionProperties.builder(path).withKey(key).build());
    }
    return (columns.isEmpty() ? builder : builder.withColumnKeys(columns)).build();
  }

  /** Options to read a file with. */
  static ParquetReadOptions.Builder options(String name) {
    ParquetReadOptions.Builder options =
        HadoopReadOptions.builder(CONFIGURATION, new Path(name));
    FileDecryptionProperties decryption = of(name);
    return decryption == null ? options : options.withDecryption(decryption);
  }

  static byte[] bytes(String hexadecimal) {
    return HexFormat.of().parseHex(hexadecimal);
  }
}
