import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Date;
import java.sql.Timestamp;
import java.util.TimeZone;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;

/**
 * How many rows ORC Java reads when it looks for a value: those of the index groups that remain.
 *
 * Takes a file of lines path, column, kind of PredicateLeaf, literal; answers each with the rows.
 */
class OrcSearch {
    // One for all: each reads the defaults of Hadoop.
    private static final Configuration CONFIGURATION = new Configuration();

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] query = line.split("\t", -1);
            System.out.println(rows(query[0], query[1], PredicateLeaf.Type.valueOf(query[2]), query[3]));
        }
    }

    private static long rows(String path, String column, PredicateLeaf.Type type, String text) throws Exception {
        Reader reader = OrcFile.createReader(
            new org.apache.hadoop.fs.Path(path), OrcFile.readerOptions(CONFIGURATION));
        SearchArgument wanted = SearchArgumentFactory.newBuilder()
            .startAnd().equals(column, type, literal(type, text)).end().build();
        Reader.Options options = reader.options()
            .searchArgument(wanted, new String[] {column}).useSelected(false).allowSARGToFilter(false);
        long count = 0;
        try (RecordReader rows = reader.rows(options)) {
            VectorizedRowBatch batch = reader.getSchema().createRowBatch();
            while (rows.nextBatch(batch)) count += batch.size;
        }
        return count;
    }

    private static Object literal(PredicateLeaf.Type type, String text) {
        switch (type) {
            case LONG: return Long.valueOf(text);
            case FLOAT: return Double.valueOf(text);
            case DECIMAL: return new HiveDecimalWritable(HiveDecimal.create(text));
            case DATE: return Date.valueOf(text);
            case TIMESTAMP: return Timestamp.valueOf(text);
            default: return text;
        }
    }
}
