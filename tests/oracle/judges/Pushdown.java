// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.filter2.predicate.Operators.Column;
import org.apache.parquet.filter2.predicate.Operators.Eq;
import org.apache.parquet.filter2.predicate.Operators.SupportsEqNotEq;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;

/**
 * The row groups that parquet-java keeps when Bloom filters are the only thing that may drop one.
 *
 * <pre>java Pushdown QUERIES</pre>
 *
 * A line of QUERIES is {@code file TAB column TAB kind TAB value}; kinds are i32, i64, f32, f64 and
 * binary (hexadecimal; also for FIXED_LEN_BYTE_ARRAY and INT96). One line is printed per query:
 * {@code kept TAB 0,2}, or {@code error TAB message} where parquet-java refuses the predicate.
 */
public final class Pushdown {
  private final Configuration configuration = new Configuration();
  private final Map<String, ParquetMetadata> footers = new HashMap<>();

  public static void main(String[] arguments) throws IOException {
    Pushdown pushdown = new Pushdown();
    for (String line : Files.readAllLines(java.nio.file.Path.of(arguments[0]))) {
      String[] query = line.split("\t", -1);
      System.out.println(pushdown.answer(query[0], query[1], query[2], query[3]));
    }
  }

  private String answer(String name, String column, String kind, String value) {
    try {
      HadoopInputFile file = HadoopInputFile.fromPath(new Path(name), configuration);
      if (!footers.containsKey(name)) {
        try (ParquetFileReader reader =
            ParquetFileReader.open(file, Decryption.options(name).build())) {
          footers.put(name, reader.getFooter());
        }
      }
      ParquetMetadata footer = footers.get(name);
      MessageType schema = footer.getFileMetaData().getSchema();
      ParquetReadOptions options =
          Decryption.options(name)
              .useStatsFilter(false)
              .useDictionaryFilter(false)
              .useColumnIndexFilter(false)
              .useBloomFilter(true)
              .withRecordFilter(FilterCompat.get(predicate(schema, column, kind, value)))
              .build();
      try (ParquetFileReader pruned =
          ParquetFileReader.open(file, footer, options, file.newStream())) {
        return "kept\t" + ordinals(footer.getBlocks(), pruned.getRowGroups());
      }
    } catch (Exception e) {
      return "error\t" + (e.getClass().getSimpleName() + ": " + e.getMessage()).replaceAll("\\s+", " ");
    }
  }

  private static FilterPredicate predicate(
      MessageType schema, String column, String kind, String value) {
    boolean repeated = schema.getMaxRepetitionLevel(column.split("\\.")) > 0;
    return switch (kind) {
      case "i32" -> equal(FilterApi.intColumn(column), Integer.valueOf(value), repeated);
      case "i64" -> equal(FilterApi.longColumn(column), Long.valueOf(value), repeated);
      case "f32" -> equal(FilterApi.floatColumn(column), Float.valueOf(value), repeated);
      case "f64" -> equal(FilterApi.doubleColumn(column), Double.valueOf(value), repeated);
      case "binary" -> equal(
          FilterApi.binaryColumn(column),
          Binary.fromConstantByteArray(HexFormat.of().parseHex(value)),
          repeated);
      default -> throw new IllegalArgumentException("unknown kind " + kind);
    };
  }

  // parquet-java refuses a plain comparison on a repeated leaf; "contains" is its predicate for one.
  private static <T extends Comparable<T>, C extends Column<T> & SupportsEqNotEq>
      FilterPredicate equal(C column, T value, boolean repeated) {
    Eq<T> equal = FilterApi.eq(column, value);
    return repeated ? FilterApi.contains(equal) : equal;
  }

  private static String ordinals(List<BlockMetaData> all, List<BlockMetaData> kept) {
    List<Long> positions = all.stream().map(BlockMetaData::getStartingPos).toList();
    List<String> ordinals = new ArrayList<>();
    for (BlockMetaData block : kept) {
      ordinals.add(String.valueOf(positions.indexOf(block.getStartingPos())));
    }
    return String.join(",", ordinals);
  }
}
