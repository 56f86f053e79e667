// Ask parquet-java, by a ParquetReader with a FilterPredicate.
//
//     java -cp "…/pyspark/jars/*" ParquetJavaReads.java

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.crypto.FileDecryptionProperties;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.io.api.Binary;

public class ParquetJavaReads {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    ObjectNode greeting = JSON.createObjectNode().put("engine", "parquet-java");
    System.out.println(greeting.put("version", ParquetReader.class.getPackage().getImplementationVersion()));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      JsonNode question = JSON.readTree(line);
      ObjectNode answer = JSON.createObjectNode().put("id", question.get("id").asText());
      FilterPredicate wanted = predicate(question);
      String path = question.get("path").asText();
      if (wanted == null || !path.endsWith(".parquet")) {
        System.out.println(answer.put("skip", "no SQL, INT96 or folders"));
        continue;
      }
      try {
        var rows = JSON.createArrayNode();
        var builder = ParquetReader.builder(new GroupReadSupport(), new Path(path));
        byte[] key = HexFormat.of().parseHex(question.get("key").asText());
        if (key.length > 0)
          builder.withDecryption(FileDecryptionProperties.builder().withFooterKey(key).build());
        try (var reader = builder.withFilter(FilterCompat.get(wanted)).build()) {
          for (Group group; (group = reader.read()) != null; ) rows.add(group.getInteger("n", 0));
        }
        answer.set("rows", rows);
      } catch (Exception error) {
        answer.put("error", error.toString());
      }
      System.out.println(answer);
    }
  }

  /** Whether the column has one of the values, by their stored bytes; null if that cannot be asked. */
  static FilterPredicate predicate(JsonNode question) {
    if (question.get("op").asText().equals("sql")) return null;
    Set<Integer> ints = new LinkedHashSet<>();
    Set<Long> longs = new LinkedHashSet<>();
    Set<Float> floats = new LinkedHashSet<>();
    Set<Double> doubles = new LinkedHashSet<>();
    Set<Binary> binaries = new LinkedHashSet<>();
    String column = question.get("column").asText();
    String physical = question.get("type").asText().split("[ (]")[0];
    if (physical.equals("nested")) physical = column.endsWith(".c") ? "BYTE_ARRAY" : "INT32";
    for (JsonNode text : question.get("stored")) {
      byte[] bytes = HexFormat.of().parseHex(text.asText());
      ByteBuffer stored = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      switch (physical) {
        case "INT32" -> ints.add(stored.getInt());
        case "INT64" -> longs.add(stored.getLong());
        case "FLOAT" -> floats.add(stored.getFloat());
        case "DOUBLE" -> doubles.add(stored.getDouble());
        case "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY" -> binaries.add(Binary.fromConstantByteArray(bytes));
        default -> {
          return null;
        }
      }
    }
    return switch (physical) {
      case "INT32" -> FilterApi.in(FilterApi.intColumn(column), ints);
      case "INT64" -> FilterApi.in(FilterApi.longColumn(column), longs);
      case "FLOAT" -> FilterApi.in(FilterApi.floatColumn(column), floats);
      case "DOUBLE" -> FilterApi.in(FilterApi.doubleColumn(column), doubles);
      default -> FilterApi.in(FilterApi.binaryColumn(column), binaries);
    };
  }
}
