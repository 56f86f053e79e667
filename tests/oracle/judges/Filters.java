// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;

/**
 * Every Bloom filter of a file, as parquet-java reads it.
 *
 * <pre>java Filters FILE...</pre>
 *
 * Prints {@code file TAB row group TAB column TAB bitset in hexadecimal}, with an empty bitset where
 * a column chunk has no filter that parquet-java can read.
 */
public final class Filters {
  public static void main(String[] arguments) throws IOException {
    // One for all: each reads the defaults of Hadoop.
    Configuration configuration = new Configuration();
    for (String name : arguments) {
      HadoopInputFile file = HadoopInputFile.fromPath(new Path(name), configuration);
      try (ParquetFileReader reader =
          ParquetFileReader.open(file, Decryption.options(name).build())) {
        int ordinal = 0;
        for (BlockMetaData block : reader.getRowGroups()) {
          for (ColumnChunkMetaData chunk : block.getColumns()) {
            String column = chunk.getPath().toDotString();
            System.out.println(String.join("\t", name, "" + ordinal, column, bitset(reader, chunk)));
          }
          ordinal++;
        }
      }
    }
  }

  private static String bitset(ParquetFileReader reader, ColumnChunkMetaData chunk)
      throws IOException {
    BloomFilter filter = reader.readBloomFilter(chunk);
    if (filter == null) {
      return "";
    }
    // writeTo() emits the header as well; the bitset is what stands at the end.
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    filter.writeTo(written);
    byte[] bytes = written.toByteArray();
    return HexFormat.of().formatHex(bytes, bytes.length - filter.getBitsetSize(), bytes.length);
  }
}
